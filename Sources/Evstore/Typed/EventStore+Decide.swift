internal import EventLog
public import EventModel
internal import Platform

/// The outcome of a decision on a stream's state.
public struct Decision<State: Sendable>: Sendable {
    /// The state that was decided on; nil where the command was carried out before.
    public var state: StreamState<State>?
    /// Nil where the decision came to no events.
    public var receipt: AppendReceipt?
    /// The number of attempts; more than one where the stream changed meanwhile.
    public var attempts: Int
}

extension EventStore {
    /// Carries out a command: folds a stream to its state, lets `body` decide which events follow, and appends them to the stream if it has
    /// not changed since. Where it has changed, everything is repeated.
    ///
    /// A command with an `id` is safe to repeat: where its events are in the store, their receipt is returned, and nothing is decided. A
    /// command that came to no events leaves no trace, and is decided again.
    ///
    /// Folds on one of the store's threads, in a read transaction for each page; waits for the append as `append(_:conditions:sameID:)`
    /// does.
    ///
    /// - Parameters:
    ///   - stream: the stream that is folded, and that the events are appended to; one without events has the fold's initial state.
    ///   - fold: makes the state of the stream's events, which are read at the fold's version (`StreamFold.version`).
    ///   - conditions: what must also hold of other streams that the decision depends on; a failed one is thrown.
    ///   - cache: keeps states, so that only newer events are folded.
    ///   - id: the id of the command; it becomes the id of its first event.
    ///   - metadata: JSON text of one object, which each of the events gets.
    ///   - attemptsMax: the number of attempts before a conflict is thrown.
    ///   - body: a pure function; an empty list appends nothing, an error refuses the command.
    /// - Throws: what `body` and the fold throw, unconverted; `EvstoreError.misuse` where `attemptsMax` is below 1 or a condition is on the
    ///   stream itself; `idReused` where the id is that of an append to another stream; `expectationFailed` or `epochChanged` after the
    ///   last attempt; everything that `state(of:_:cache:)` and an append throw; `CancellationError` where the task is cancelled between
    ///   two attempts.
    @discardableResult
    public func decide<State: Sendable>(
        on stream: StreamName, _ fold: StreamFold<State>, also conditions: [StreamCondition] = [], cache: StateCache<State>? = nil,
        id: EventID? = nil, metadata: [UInt8]? = nil, attemptsMax: Int = 10, _ body: (State) throws -> [any Event]
    ) async throws -> Decision<State> {
        if attemptsMax < 1 { throw EvstoreError.misuse("a command is decided at least once") }
        if conditions.contains(where: { $0.stream == stream }) {
            throw EvstoreError.misuse("the condition on \(stream) is made of its state; others are of other streams")
        }
        let isOfAnEpoch = conditions.contains { $0.asOf != nil }
        var attempt = 1
        while true {
            if let id, let receipt = try receipt(ofAppend: id) {
                guard receipt.stream == stream else { throw EvstoreError.idReused(id: id, position: receipt.position) }
                return Decision(state: nil, receipt: receipt, attempts: attempt - 1)
            }
            let state = try await StoreThreads.run { () throws in try self.state(of: stream, fold, cache: cache) }
            let events = try body(state.value)
            if events.isEmpty { return Decision(state: state, receipt: nil, attempts: attempt) }
            let list = try Self.list(of: events, to: stream, metadata, id)
            do {
                return Decision(
                    state: state, receipt: try await append(list, conditions: [state.condition(on: stream)] + conditions), attempts: attempt
                )
            } catch {
                guard error.isConflict(on: stream, isOfAnEpoch), attempt < attemptsMax else { throw error }
                // Random pauses keep concurrent deciders on one stream from colliding again.
                let pause = Duration.microseconds(Int.random(in: 0 ... 500 << min(attempt, 7)))
                do { try await Task.sleep(for: pause) } catch { throw EvstoreError.interrupted(again: "decide again") }
                attempt += 1
            }
        }
    }
}

extension EvstoreError {
    /// Whether somebody else has appended to the stream, carried out this command, or cut the log meanwhile.
    fileprivate func isConflict(on stream: StreamName, _ hasFixedEpoch: Bool) -> Bool {
        switch self {
        case .expectationFailed(let failed, _, _): failed == stream
        case .idReused: true
        // Conditions of the caller's that name an epoch fail again.
        case .epochChanged: !hasFixedEpoch
        default: false
        }
    }
}
