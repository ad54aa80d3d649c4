public import EventModel

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
