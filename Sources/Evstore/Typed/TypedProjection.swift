public import EventModel
internal import JSONText
public import Projections

/// The change that one type of event makes to the rows of a read model.
public struct RowHandler<Row: Codable & Sendable>: Sendable {
    let type: any Event.Type
    let keys: @Sendable (RecordedEvent) throws -> [String]
    let apply: @Sendable (inout Row?, RecordedEvent) throws -> Void

    /// Changes the row under a key of the event; changes none where the key is nil. A nil row does not exist, and setting it to nil removes
    /// it.
    public init<E: Event>(
        _ type: E.Type, key: @escaping @Sendable (E) throws -> String?,
        _ body: @escaping @Sendable (_ row: inout Row?, _ event: E, _ context: RecordedEvent) throws -> Void
    ) {
        self.type = type
        keys = { event in try key(event.decode(type)).map { [$0] } ?? [] }
        apply = { row, event in try body(&row, event.decode(type), event) }
    }
}

/// A projection whose handlers take Swift types and whose rows are Swift values.
public struct TypedProjection<Row: Codable & Sendable>: SwiftProjection {
    public let name: String
    public let since: SchemaVersion
    public let revision: Int
    public let indexes: [String: [String]]
    private let table: HandlerTable<RowHandler<Row>>

    /// - Parameters:
    ///   - name: the projection's name, by which its read model is queried.
    ///   - since: the newest of the types' versions where nil.
    ///   - revision: a number to increase with every change of the handlers: read models of another revision are rebuilt.
    ///   - row: the Swift type of the rows, which are stored as JSON text.
    ///   - indexes: orders of the rows besides their keys: from names to members of the row, as JSON pointers, the first member first.
    ///   - handlers: one for each event type that changes rows, at least one; events of other types are skipped.
    /// - Throws: `EvstoreError.misuse` where there is no handler, or two handlers have the same event type.
    public init(
        _ name: String, since: SchemaVersion? = nil, revision: Int, row: Row.Type = Row.self, indexes: [String: [String]] = [:],
        @Handlers<RowHandler<Row>> _ handlers: () -> [RowHandler<Row>]
    ) throws(EvstoreError) {
        table = try HandlerTable(handlers(), \.type)
        (self.name, self.since, self.revision, self.indexes) = (name, since ?? table.version, revision, indexes)
    }

    public var consumes: Set<String> { Set(table.handlers.keys.map(\.text)) }

    public func keys(of event: RecordedEvent) throws -> [String] { try table.handlers[event.type]?.keys(event) ?? [] }

    public func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws {
        try table.handlers[event.type]?.apply(&row, event)
    }
}

extension ReadModelRow {
    /// Decodes the row as a Swift value.
    /// - Throws: `DecodingError`.
    public func decode<Row: Decodable>(_ type: Row.Type) throws -> Row {
        try EventJSON.coding.decode(type, from: value, hasUniqueNames: true)
    }
}
