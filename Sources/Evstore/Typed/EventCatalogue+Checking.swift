internal import Bytes
public import EventModel
internal import JSONText
internal import SchemaEvolution

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
            do { value = try EventJSON.coding.decode(type, from: example) } catch {
                return [finding("TYPE102", EventJSON.reason(error), at: EventJSON.pointer(error))]
            }
            let text: [UInt8]
            do { text = try EventJSON.coding.encode(value) } catch {
                return [finding("TYPE103", EventJSON.reason(error), at: EventJSON.pointer(error))]
            }
            do { try own.validate(text.lent) } catch {
                return [finding("TYPE103", "writes what \(error.reason)", at: error.pointer)]
            }
        }
        return []
    }
}
