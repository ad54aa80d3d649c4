internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// What a line says.
struct ParsedLine {
    var event: NewEvent
    /// The member that could have named the stream, where the line has none.
    var unnamed: String?
    /// What the stream must be at.
    var expectation: Expectation?
    /// The id without its source, by which an import of an earlier program may have appended it.
    var plainID: EventID?

    init(_ event: NewEvent) { self.event = event }
}

extension ParsedLine {
    /// Gives the event the stream that its type's template names, where the line names none; data from before versions gets its own by
    /// adoption.
    /// - Parameter version: at which it is born where it does not say.
    mutating func nameStream(by history: History, bornAt version: SchemaVersion) throws(EvstoreError) {
        let birth = event.version ?? version
        guard let unnamed, birth.rawValue > 0 else { return }
        guard let template = try history.requireShape(of: event.type, at: birth).stream else {
            throw .invalidLine(
                reason: "is missing, and \(event.type)@\(birth) has no template that names the stream", pointer: "/\(unnamed)")
        }
        let name: String
        do { name = try template.name(for: event.payload.lent) } catch {
            throw .invalidEvent(type: event.type, version: birth, pointer: error.pointer, reason: error.reason)
        }
        event.stream = try StreamName(name)
    }
}

extension StreamName {
    /// Of data from before versions existed that nothing gives a name; its type is called the same.
    static let unknown = StreamName(unchecked: "$unknown")
}

extension Expectation {
    /// A revision, `none`, `exists` or `any`; nil for another word.
    package init?(word: String) {
        switch word {
        case "any": self = .any
        case "none": self = .noStream
        case "exists": self = .exists
        default:
            guard let revision = UInt64(word) else { return nil }
            self = .revision(Revision(revision))
        }
    }
}
