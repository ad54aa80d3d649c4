public import EventModel
internal import JSONText
internal import SchemaEvolution

/// A projection in Swift: what the closed set of folds can't say.
///
/// Pure: the same events in the same order give the same rows. It sees the row of one key at a time.
public protocol SwiftProjection: Sendable {
    /// Kept as JSON text with sorted members.
    associatedtype Row: Codable

    var name: String { get }
    /// The first version at which it holds, until one of the same name with a later `since`.
    var since: SchemaVersion { get }
    /// Grows with every change of what it does; a generation of another revision is built anew.
    var revision: Int { get }
    /// The event types, as they are called at the version it is built at.
    var consumes: Set<String> { get }

    /// The keys of the rows that the event changes, each of at most 500 bytes; none where it changes none.
    func keys(of event: RecordedEvent) throws -> [String]

    /// Changes the row of one of the event's keys; nil where there is none, and to remove it.
    ///
    /// What it throws puts the event into quarantine, or stops a strict build; the row stays as it was.
    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws
}

/// What a store knows of a projection in Swift, and the projection itself where this program has it.
struct SwiftDeclaration: Sendable {
    var name: String
    var since: SchemaVersion
    var revision: Int
    var consumes: Set<String>
    var program: (any SwiftProjection)?

    init(_ projection: any SwiftProjection) {
        (name, since, revision, consumes) = (projection.name, projection.since, projection.revision, projection.consumes)
        program = projection
    }

    init(name: String, since: SchemaVersion, _ node: FileNode) throws(FileProblem) {
        try node.map("swift", allowing: ["revision", "consumes"])
        (self.name, self.since) = (name, since)
        revision = try node.required("revision", of: "swift").integer("revision")
        consumes = Set(try node.required("consumes", of: "swift").texts("consumes"))
    }

    var json: JSONValue {
        .object([
            .init(
                name: "swift",
                value: .object([
                    .init(name: "consumes", value: .array(consumes.sorted().map { .string($0) })),
                    .init(name: "revision", value: .number(String(revision))),
                ]))
        ])
    }
}
