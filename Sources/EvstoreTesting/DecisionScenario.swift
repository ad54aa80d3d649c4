internal import Bytes
public import Evstore
internal import JSONText

/// Given, when, then, for a decision on a stream's state, without a store:
///
///     try DecisionScenario(order)
///         .given(OrderPlaced(id: "1", cents: 1250))
///         .when { state in try pay(state) }
///         .then(OrderPaid(id: "1"))
public struct DecisionScenario<State: Sendable> {
    private let fold: StreamFold<State>
    private let given: [any Event]
    private let outcome: Result<[any Event], any Error>

    public init(_ fold: StreamFold<State>) { self.init(fold, [], .success([])) }

    private init(_ fold: StreamFold<State>, _ given: [any Event], _ outcome: Result<[any Event], any Error>) {
        (self.fold, self.given, self.outcome) = (fold, given, outcome)
    }

    /// Adds events to the history of the stream.
    public func given(_ events: any Event...) -> Self { Self(fold, given + events, outcome) }

    /// Decides on the state that follows from the given events.
    /// - Throws: what the fold throws; `thenThrows` checks what `body` throws.
    public func when(_ body: (State) throws -> [any Event]) throws -> Self {
        var state = fold.initial
        for (revision, event) in given.enumerated() { try fold.apply(Self.recorded(event, revision), to: &state) }
        return Self(fold, given, Result { try body(state) })
    }

    /// Requires that the decision came to exactly these events.
    @discardableResult
    public func then(_ expected: any Event...) throws -> Self {
        let found = try outcome.get().map(Self.text)
        let wanted = try expected.map(Self.text)
        if found != wanted {
            throw ScenarioFailure(
                description: """
                    it should have come to
                    \(wanted.map { "  \($0)" }.joined(separator: "\n"))
                    and came to
                    \(found.map { "  \($0)" }.joined(separator: "\n"))
                    """)
        }
        return self
    }

    /// Requires that the decision was refused with this error.
    @discardableResult
    public func thenThrows<E: Error & Equatable>(_ expected: E) throws -> Self {
        switch outcome {
        case .failure(let error as E) where error == expected: return self
        case .failure(let error): throw ScenarioFailure(description: "it should have been refused with \(expected), and was with \(error)")
        case .success(let events):
            let found = try events.map(Self.text).joined(separator: ", ")
            throw ScenarioFailure(description: "it should have been refused with \(expected), and came to \(found)")
        }
    }

    private static func text(_ event: any Event) throws -> String {
        let new = try new(event)
        return "\(new.type) \(String(decoding: try Canonical.bytes(of: new.payload.lent), as: UTF8.self))"
    }

    private static func new<E: Event>(_ event: E) throws -> NewEvent { try NewEvent(event, to: StreamName("decided")) }

    private static func recorded(_ event: any Event, _ revision: Int) throws -> RecordedEvent {
        let new = try new(event)
        let version = type(of: event).version
        return RecordedEvent(
            epoch: .first, position: Position(UInt64(revision) + 1), stream: new.stream, revision: Revision(UInt64(revision)),
            type: new.type, payload: new.payload, metadata: new.metadata ?? [], id: try EventID("given-\(revision)"), time: .now,
            born: version,
            version: version, part: 0)
    }
}
