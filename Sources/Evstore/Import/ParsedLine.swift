internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// A parsed line.
struct ParsedLine {
    var event: NewEvent
    /// The name of the member that would have named the stream, where the line lacks it.
    var unnamed: String?
    /// The expected state of the stream.
    var expectation: Expectation?
    /// The id without its source, under which an import of an earlier program may have appended the event.
    var plainID: EventID?

    init(_ event: NewEvent) { self.event = event }
}

extension ParsedLine {
    /// Sets the event's stream to the one that its type's template names, where the line names none. Data from before versions existed gets
    /// its stream by adoption.
    /// - Parameter version: the birth version where the line names none.
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
    /// The stream of data from before versions existed that nothing gives a name; its type has the same name.
    static let unknown = StreamName(unchecked: "$unknown")
}

extension Expectation {
    /// A revision, `none`, `exists` or `any`; nil for any other word.
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
