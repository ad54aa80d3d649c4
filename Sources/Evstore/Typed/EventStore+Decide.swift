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

/// The outcome of a decision on what a query matches.
public struct QueryDecision<State: Sendable>: Sendable {
    /// The state that was decided on; nil where the command was carried out before.
    public var state: State?
    /// Nil where the decision came to no events.
    public var receipt: AppendReceipt?
    /// The number of attempts; more than one where the query's events changed meanwhile.
    public var attempts: Int
}

extension EventStore {
    /// Carries out a command: folds a stream to its state, lets `body` decide which events follow, and appends them to the stream if it has
    /// not changed since. Where it has changed, everything is repeated.
    ///
    /// A command with an `id` is safe to repeat: where its events are in the store, their receipt is returned, and nothing is decided. A
    /// command that came to no events leaves no trace, and is decided again.
    ///
    /// Folds on one of the store's threads, in a read transaction for each page; waits for the append as `append(_:conditions:unless:sameID:)`
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
        if conditions.contains(where: { $0.stream == stream }) {
            throw EvstoreError.misuse("the condition on \(stream) is made of its state; others are of other streams")
        }
        let isOfAnEpoch = conditions.contains { $0.asOf != nil }
        return try await attempting(attemptsMax) { attempt in
            if let id, let receipt = try receipt(ofAppend: id) {
                guard receipt.stream == stream else { throw EvstoreError.idReused(id: id, position: receipt.position) }
                return .done(Decision(state: nil, receipt: receipt, attempts: attempt - 1))
            }
            let state = try await StoreThreads.run { () throws in try self.state(of: stream, fold, cache: cache) }
            let events = try body(state.value)
            if events.isEmpty { return .done(Decision(state: state, receipt: nil, attempts: attempt)) }
            let list = try Self.list(of: events, to: stream, metadata, id)
            do throws(EvstoreError) {
                let receipt = try await append(list, conditions: [state.condition(on: stream)] + conditions)
                return .done(Decision(state: state, receipt: receipt, attempts: attempt))
            } catch {
                guard error.isConflict(on: stream, isOfAnEpoch) else { throw error }
                return .conflict(error)
            }
        }
    }

    /// Carries out a command that depends on events of several streams: folds what a query matches to a state, lets `body` decide which
    /// events follow, and appends them if nothing that the query matches has come since. Where something has, everything is repeated.
    ///
    /// The decision is the same as if it had been made at its place in the log, alone: its events follow from all that the query matches
    /// before them. So a rule that each of its deciders keeps is never broken, however many of them there are.
    ///
    /// A command with an `id` is safe to repeat, as one on a stream is. Reads as `read(matching:at:from:limit:backwards:)` does, at the
    /// fold's version, and waits for the append as `append(_:conditions:unless:sameID:)` does.
    ///
    ///     try await store.decide(on: [.init(tags: ["course:\(course)"]), .init(tags: ["student:\(student)"])], places) { places in
    ///         guard places.taken < 30, places.courses < 10 else { throw CourseError.full }
    ///         return [try NewEvent(StudentEnrolled(course: course, student: student), to: "course-\(course)")]
    ///     }
    ///
    /// - Parameters:
    ///   - query: what the decision depends on, by types and tags at the fold's version.
    ///   - fold: makes the state of these events; those of types that it has no handler for are skipped.
    ///   - id: the id of the command; it becomes the id of its first event.
    ///   - attemptsMax: the number of attempts before a conflict is thrown.
    ///   - body: a pure function, which names the stream of each event; an empty list appends nothing, an error refuses the command.
    /// - Throws: what `body` and the fold throw, unconverted; `EvstoreError.misuse` where `attemptsMax` is below 1 or the first event has
    ///   another id; `conditionFailed`, `conditionOutdated` or `epochChanged` after the last attempt; everything that the read and the
    ///   append throw; `CancellationError` where the task is cancelled between two attempts.
    @discardableResult
    public func decide<State: Sendable>(
        on query: EventQuery, _ fold: StreamFold<State>, id: EventID? = nil, attemptsMax: Int = 10, _ body: (State) throws -> [NewEvent]
    ) async throws -> QueryDecision<State> {
        try await attempting(attemptsMax) { attempt in
            if let id, let receipt = try receipt(ofAppend: id) {
                return .done(QueryDecision(state: nil, receipt: receipt, attempts: attempt - 1))
            }
            let read = try await read(matching: query, at: fold.version)
            var state = fold.initial
            for event in read.events { try fold.apply(event, to: &state) }
            var events = try body(state)
            if events.isEmpty { return .done(QueryDecision(state: state, receipt: nil, attempts: attempt)) }
            if let id {
                if let other = events[0].id, other != id {
                    throw EvstoreError.misuse("the first event of the command \(id) has the id \(other)")
                }
                events[0].id = id
            }
            do throws(EvstoreError) {
                let receipt = try await append(events, unless: [read.condition])
                return .done(QueryDecision(state: state, receipt: receipt, attempts: attempt))
            } catch {
                guard error.isConflict(ofCommand: id) else { throw error }
                return .conflict(error)
            }
        }
    }

    /// Attempts a decision again while others come first, after random pauses, which keep concurrent deciders from colliding again.
    private func attempting<R>(_ attemptsMax: Int, _ attempt: (Int) async throws -> Attempted<R>) async throws -> R {
        if attemptsMax < 1 { throw EvstoreError.misuse("a command is decided at least once") }
        var number = 1
        while true {
            switch try await attempt(number) {
            case .done(let result): return result
            case .conflict(let error): if number >= attemptsMax { throw error }
            }
            let pause = Duration.microseconds(Int.random(in: 0 ... 500 << min(number, 7)))
            do { try await Task.sleep(for: pause) } catch { throw EvstoreError.interrupted(again: "decide again") }
            number += 1
        }
    }
}

/// What became of one attempt at a decision.
private enum Attempted<R> {
    case done(R)
    /// Somebody else has appended first.
    case conflict(EvstoreError)
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
    /// Whether something that the query matches has come meanwhile, somebody else has carried out this command, or the log was cut.
    fileprivate func isConflict(ofCommand id: EventID?) -> Bool {
        switch self {
        case .conditionFailed, .conditionOutdated, .epochChanged: true
        // Without a position, the body has used the id twice.
        case .idReused(let reused, let position, _): reused == id && position != nil
        default: false
        }
    }
}
