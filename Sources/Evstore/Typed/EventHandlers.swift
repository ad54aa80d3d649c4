public import EventModel
internal import JSONText
public import Projections
internal import SchemaEvolution

/// The closure that handles one type of event.
public struct EventHandler: Sendable {
    let type: any Event.Type
    let run: @Sendable (RecordedEvent) throws -> Void

    /// Handles events of one Swift type; the compiler checks the members that the closure uses.
    public init<E: Event>(_ type: E.Type, _ body: @escaping @Sendable (_ event: E, _ context: RecordedEvent) throws -> Void) {
        self.type = type
        run = { event in try body(event.decode(type), event) }
    }
}

/// Lists handlers.
@resultBuilder
public enum Handlers<Handler> {
    // Infers the type that a handler's closure changes.
    public static func buildExpression(_ handler: Handler) -> Handler { handler }

    public static func buildBlock(_ handlers: Handler...) -> [Handler] { handlers }
}

/// Handlers by event type, at most one for each type.
struct HandlerTable<Handler: Sendable>: Sendable {
    let handlers: [Name: Handler]
    /// The newest version of the types: the version that events are read at.
    let version: SchemaVersion

    init(_ list: [Handler], _ type: (Handler) -> any Event.Type) throws(EvstoreError) {
        guard let version = list.map({ type($0).version }).max() else { throw .misuse("there is at least one handler") }
        var handlers: [Name: Handler] = [:]
        for handler in list where handlers.updateValue(handler, forKey: Name(type(handler).type)) != nil {
            throw .misuse("the event type \(type(handler).type) has two handlers")
        }
        (self.handlers, self.version) = (handlers, version)
    }
}

/// Closures for the event types that a reader handles; events of other types are skipped.
public struct EventHandlers: Sendable {
    private let table: HandlerTable<EventHandler>

    /// - Throws: `EvstoreError.misuse` where there is no handler, or two handlers have the same event type.
    public init(@Handlers<EventHandler> _ handlers: () -> [EventHandler]) throws(EvstoreError) {
        table = try HandlerTable(handlers(), \.type)
    }

    /// The version that events are read at: the newest of the types' versions.
    public var version: SchemaVersion { table.version }

    /// Calls the handler of an event's type; returns false where there is none.
    @discardableResult
    public func handle(_ event: RecordedEvent) throws -> Bool {
        guard let handler = table.handlers[event.type] else { return false }
        try handler.run(event)
        return true
    }
}

/// The change that one type of event makes to a state.
public struct StateHandler<State: Sendable>: Sendable {
    let type: any Event.Type
    let apply: @Sendable (inout State, RecordedEvent) throws -> Void

    /// Changes a state by the events of one Swift type.
    public init<E: Event>(
        _ type: E.Type, _ body: @escaping @Sendable (_ state: inout State, _ event: E, _ context: RecordedEvent) throws -> Void
    ) {
        self.type = type
        apply = { state, event in try body(&state, event.decode(type), event) }
    }
}

/// How a stream's events become a Swift value: the state of an aggregate.
///
/// The fold must be pure: the same events in the same order give the same state. Events of other types are skipped.
public struct StreamFold<State: Sendable>: Sendable {
    /// The name by which a `StateCache` finds the states of the fold.
    public let name: String
    /// Increase it with every change of the handlers: cached states of another revision are ignored and folded anew.
    public let revision: Int
    /// The state of a stream without events.
    public let initial: State
    private let table: HandlerTable<StateHandler<State>>

    /// - Parameters:
    ///   - name: the fold's name, by which a `StateCache` finds its states.
    ///   - revision: a number to increase with every change of the handlers: cached states of another revision are folded anew.
    ///   - initial: the state of a stream without events.
    ///   - handlers: one for each event type that changes the state, at least one; events of other types are skipped.
    /// - Throws: `EvstoreError.misuse` where there is no handler, or two handlers have the same event type.
    public init(
        _ name: String, revision: Int, initial: State, @Handlers<StateHandler<State>> _ handlers: () -> [StateHandler<State>]
    ) throws(EvstoreError) {
        (self.name, self.revision, self.initial) = (name, revision, initial)
        table = try HandlerTable(handlers(), \.type)
    }

    /// The version that events are read at: the newest of the types' versions.
    public var version: SchemaVersion { table.version }

    /// Changes a state by one event; returns false where no handler takes its type.
    @discardableResult
    public func apply(_ event: RecordedEvent, to state: inout State) throws -> Bool {
        guard let handler = table.handlers[event.type] else { return false }
        try handler.apply(&state, event)
        return true
    }
}

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
        try SwiftValues.payloads.decode(type, from: value, hasUniqueNames: true)
    }
}
