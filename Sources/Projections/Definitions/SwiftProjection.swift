public import EventModel
internal import JSONText
internal import SchemaEvolution

/// A projection in Swift, for what the built-in folds can't express.
///
/// It must be a pure function: equal events in equal order give equal rows. It sees the row of one key at a time.
public protocol SwiftProjection: Sendable {
    /// Stored as JSON text with sorted members.
    associatedtype Row: Codable

    var name: String { get }
    /// The first version at which it applies, until the next definition of equal name with a later `since`.
    var since: SchemaVersion { get }
    /// Raise it with every change of behaviour; generations of another revision are rebuilt.
    var revision: Int { get }
    /// The event types, by their names at the version for which it is built.
    var consumes: Set<String> { get }

    /// Orders of rows in addition to their keys: maps names to members of the row, as JSON pointers.
    var indexes: [String: [String]] { get }

    /// The keys of the rows that the event changes, each of at most 500 bytes; empty if it changes none.
    func keys(of event: RecordedEvent) throws -> [String]

    /// Changes the row of one of the event's keys. The row is nil if it does not exist; set it to nil to remove it.
    ///
    /// If this throws, the event is quarantined or a strict build stops. The row stays unchanged; what the event does to other rows stays.
    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws
}

extension SwiftProjection {
    public var indexes: [String: [String]] { [:] }
}

/// What a store knows about a projection in Swift, and the projection itself if this program contains it.
struct SwiftDeclaration: Sendable {
    var name: String
    var since: SchemaVersion
    var revision: Int
    var consumes: Set<Name>
    var indexes: [RowIndex] = []
    var program: (any SwiftProjection)?
    /// The problem with its indexes, if any.
    var problem: Finding?

    init(_ projection: any SwiftProjection) {
        (name, since, revision, consumes) = (projection.name, projection.since, projection.revision, Set(of: projection.consumes))
        program = projection
        let place = FileLocation(file: projection.name, line: 0, column: 0)
        let members = projection.indexes.sorted { $0.key < $1.key }.map { name, pointers in
            FileNode.Member(name: name, place: place, value: FileNode(.list(pointers.map { FileNode(.string($0), at: place) }), at: place))
        }
        do throws(FileProblem) { indexes = try RowIndex.list(FileNode(.map(members), at: place), of: name) } catch {
            problem = error.finding
        }
        if name.hasPrefix("$") {
            problem = FileProblem(FileRule.value, "\(quoted(name)) is no name for a projection: $ is the store's", at: place).finding
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
