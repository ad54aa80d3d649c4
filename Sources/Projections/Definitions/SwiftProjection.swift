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

    /// What rows are ordered by beside their keys: from names to the members of the row, as JSON pointers.
    var indexes: [String: [String]] { get }

    /// The keys of the rows that the event changes, each of at most 500 bytes; none where it changes none.
    func keys(of event: RecordedEvent) throws -> [String]

    /// Changes the row of one of the event's keys; nil where there is none, and to remove it.
    ///
    /// What it throws puts the event into quarantine, or stops a strict build; the row stays as it was.
    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws
}

extension SwiftProjection {
    public var indexes: [String: [String]] { [:] }
}

/// What a store knows of a projection in Swift, and the projection itself where this program has it.
struct SwiftDeclaration: Sendable {
    var name: String
    var since: SchemaVersion
    var revision: Int
    var consumes: Set<Name>
    var indexes: [RowIndex] = []
    var program: (any SwiftProjection)?
    /// What is wrong with its indexes.
    var problem: Finding?

    init(_ projection: any SwiftProjection) {
        (name, since, revision, consumes) = (projection.name, projection.since, projection.revision, Set(of: projection.consumes))
        program = projection
        let place = Mark(file: projection.name, line: 0, column: 0)
        let members = projection.indexes.sorted { $0.key < $1.key }.map { name, pointers in
            FileNode.Member(name: name, place: place, value: FileNode(.list(pointers.map { FileNode(.string($0), at: place) }), at: place))
        }
        do throws(FileProblem) { indexes = try RowIndex.list(FileNode(.map(members), at: place), of: name) } catch {
            problem = error.finding
        }
    }

    init(name: String, since: SchemaVersion, _ node: FileNode) throws(FileProblem) {
        try node.map("swift", allowing: ["revision", "consumes", "indexes"])
        (self.name, self.since) = (name, since)
        revision = try node.required("revision", of: "swift").integer("revision")
        consumes = Set(of: try node.required("consumes", of: "swift").texts("consumes"))
        if let indexes = node.member("indexes") { self.indexes = try RowIndex.list(indexes, of: name) }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init(name: "consumes", value: .array(consumes.sorted().map { .string($0.text) })),
            .init(name: "revision", value: .number(String(revision))),
        ]
        if !indexes.isEmpty {
            let list = indexes.map { JSONValue.Member(name: $0.name, value: .array($0.members.map { .string($0.description) })) }
            members.append(.init(name: "indexes", value: .object(list)))
        }
        return .object([.init(name: "swift", value: .object(members))])
    }
}
