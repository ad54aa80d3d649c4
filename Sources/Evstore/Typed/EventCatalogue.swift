public import EventModel

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
        return TypedEvent(event: try decode(type, event), context: event)
    }

    private func decode<E: Event>(_ type: E.Type, _ event: RecordedEvent) throws(EvstoreError) -> any Event { try event.decode(type) }
}

/// An event as a Swift value, with its recorded context.
public struct TypedEvent: Sendable {
    public let event: any Event
    public let context: RecordedEvent
}
