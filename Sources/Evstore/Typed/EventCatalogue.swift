internal import Bytes
public import EventModel
internal import JSONText
internal import SchemaEvolution

/// Lists the types of a catalogue: `EventCatalogue { OrderPlaced.self; OrderPaid.self }`.
@resultBuilder
public enum EventTypes {
    public static func buildBlock(_ types: any Event.Type...) -> [any Event.Type] { types }
}

/// The events that an application knows: one Swift type for each event type, all read at one version.
public struct EventCatalogue: Sendable {
    /// The version that events are read at.
    public let version: SchemaVersion
    let types: [Name: any Event.Type]

    /// - Parameters:
    ///   - version: the newest of the types' versions where nil.
    ///   - types: the Swift types, at least one, each for another event type; an event of no such type throws `programNeeded` when it is
    ///     decoded.
    /// - Throws: `EvstoreError.misuse` where there is no type, two types have the same name, or a type belongs to a later version.
    public init(at version: SchemaVersion? = nil, @EventTypes _ types: () -> [any Event.Type]) throws(EvstoreError) {
        let list = types()
        guard let newest = list.map({ $0.version }).max() else { throw .misuse("a catalogue has at least one event type") }
        self.version = version ?? newest
        var byName: [Name: any Event.Type] = [:]
        for type in list {
            if let other = byName.updateValue(type, forKey: Name(type.type)) {
                throw .misuse("\(other) and \(type) are both registered for the event type \(type.type)")
            }
            if type.version > self.version { throw .misuse("\(type) is of \(type.version) and the catalogue reads at \(self.version)") }
        }
        self.types = byName
    }

    /// Decodes an event as the Swift type that is registered for it.
    /// - Throws: `EvstoreError`: programNeeded where no type is registered for it, invalidEvent where the type can't read its payload.
    public func decode(_ event: RecordedEvent) throws(EvstoreError) -> TypedEvent {
        guard let type = types[event.type] else { throw .programNeeded(what: "a Swift type for the event type \(event.type)") }
        return TypedEvent(event: try event.decode(type), context: event)
    }
}

/// An event as a Swift value, with its recorded context.
public struct TypedEvent: Sendable {
    public let event: any Event
    public let context: RecordedEvent
}

extension EventCatalogue {
    /// Decodes and encodes examples of the registered shapes with each Swift type; a test should expect no findings.
    ///
    /// `TYPE101`: the version has no such event type. `TYPE102`: the Swift type can't read what the shape allows. `TYPE103`: the Swift type
    /// writes what the shape does not allow. `TYPE104` (a warning): an event type has no Swift type.
    public func check(_ schemas: Schemas) -> [Finding] { check(schemas.history) }

    /// Checks the Swift types against the shapes that a store has registered.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func check(_ store: EventStore) throws(EvstoreError) -> [Finding] { check(try store.history) }

    private func check(_ history: History) -> [Finding] {
        var findings: [Finding] = []
        for (name, type) in types.map({ ($0.key.text, $0.value) }).sorted(by: { $0.0 < $1.0 }) {
            guard let own = history.shape(of: name, at: type.version), let read = history.shape(of: name, at: version) else {
                let missing = history.shape(of: name, at: type.version) == nil ? type.version : version
                findings.append(
                    Finding(
                        id: "TYPE101", message: "\(type): \(missing) has no event type \(name)",
                        fix: "register the version, or change the type's name or version"))
                continue
            }
            findings += check(type, reading: read, writing: own)
        }
        for name in history.types(at: version) where types[name] == nil {
            findings.append(
                Finding(
                    id: "TYPE104", severity: .warning, message: "\(name) of \(version) has no Swift type",
                    fix: "add it to the catalogue: reading such an event with the catalogue fails"))
        }
        return findings
    }

    private func check<E: Event>(_ type: E.Type, reading read: EventShape, writing own: EventShape) -> [Finding] {
        func finding(_ id: String, _ what: String, at pointer: String) -> Finding {
            Finding(
                id: id, message: "\(type), \(E.type)\(pointer): \(what)",
                fix: "make the Swift type what the shape of \(E.version) says, and mind members that may be absent")
        }
        for example in ShapeExamples(of: read.shape).texts {
            let value: E
            do { value = try SwiftValues.payloads.decode(type, from: example) } catch {
                return [finding("TYPE102", SwiftValues.reason(error), at: SwiftValues.pointer(error))]
            }
            let text: [UInt8]
            do { text = try SwiftValues.payloads.encode(value) } catch {
                return [finding("TYPE103", SwiftValues.reason(error), at: SwiftValues.pointer(error))]
            }
            do { try own.validate(text.lent) } catch {
                return [finding("TYPE103", "writes what \(error.reason)", at: error.pointer)]
            }
        }
        return []
    }
}
