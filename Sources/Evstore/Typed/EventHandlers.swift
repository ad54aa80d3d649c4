public import EventModel

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
