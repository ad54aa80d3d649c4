internal import EventLog
internal import EventModel
internal import Projections

/// What an append does when its first event's id is already in the store.
public enum SameID: Sendable, Hashable {
    /// Equal content returns the first receipt; different content throws `EvstoreError.idReused`.
    case mustMatch
    /// The first receipt is returned, whatever the content.
    case keepFirst
}

extension EventStore {
    /// Appends events together, all of them or none, if every condition holds; returns when they are on the disk.
    ///
    /// Repeating an append whose first event has an id is safe: equal content returns the first receipt. So is repeating a single event
    /// under the id that the store generated for it. An id of that form (a UUIDv7) costs a look at the last block and, where that block is
    /// not older than the id, O(log n) more.
    ///
    /// The id of an event is appended once, ever, and so is `<id>#k` where a step splits that event into parts at the version of the append.
    ///
    /// The calling thread checks the events, which takes some microseconds each; the events of a large append are checked on several
    /// threads. Then the call waits for its turn on the writing thread, at most `Options.appendDeadline`, and for one sync of the disk,
    /// which appends that wait at the same time share. A small append that is alone is committed on the calling thread where the disk was
    /// quick just before (`Options.appendInPlaceLimit`). A task that is cancelled before its turn appends nothing (`interrupted`); once the
    /// commit has begun, the call returns its outcome.
    ///
    /// - Throws: `EvstoreError`: for the events invalidEvent, invalidJSON, unknownType, streamMismatch, versionNotAllowed, noImage,
    ///   eventTooLarge, programNeeded; for the append expectationFailed, epochChanged (`StreamCondition.asOf`), idReused, appendTooLarge,
    ///   misuse where it is empty; also deadlinePassed, interrupted, diskFull. After each of these nothing was appended; after
    ///   `commitOutcomeUnknown` the outcome is not known yet.
    @discardableResult
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        guard !events.isEmpty else { throw .misuse("an append holds at least one event") }
        if events.count > options.appendEventsMax {
            throw .appendTooLarge(reason: "\(events.count) events are over the limit of \(options.appendEventsMax)")
        }
        if let receipt = try repeatedGenerated(events, sameID) { return receipt }
        let since = ContinuousClock.now
        let deadline = since + options.appendDeadline.bounded
        var (mustBeFresh, hasCaughtUp) = (false, false)
        while true {
            let isFresh = mustBeFresh
            mustBeFresh = true
            let checked: CheckedAppend
            do throws(EvstoreError) { checked = try await check(events, conditions, isFresh: isFresh) } catch {
                // A validator of an earlier state refused the append; a fresh one may accept it.
                if !isFresh { continue }
                // A validator that knows what other nodes have done may accept it, too.
                if log.membership != nil, !hasCaughtUp {
                    hasCaughtUp = true
                    if await tookInFrames() { continue }
                }
                // A repeated append gets its first receipt, however the versions have changed since.
                if let receipt = try repeated(events, sameID) { return receipt }
                if case .refusedLine(_, _, let cause) = error { throw cause }
                throw error
            }
            let resolved = checked.resolved
            let request = AppendRequest(
                events: resolved.events, conditions: resolved.conditions, validated: checked.stamp, since: since, deadline: deadline)
            let outcome: AppendOutcome
            do { outcome = try await log.append(request) } catch {
                guard let failure = resolved.failure(EvstoreError(converting: error, at: path)) else { continue }
                throw failure
            }
            switch outcome {
            case .appended(var receipt):
                receipt.stream = resolved.given[receipt.stream] ?? receipt.stream
                return receipt
            case .known:
                if let receipt = try repeated(events, sameID) { return receipt }
            case .revalidate: continue
            }
        }
    }

    /// Whether this node took in frames that it lacked.
    private func tookInFrames() async -> Bool {
        do {
            let before = try log.read { try $0.membership()?.end }
            try await log.takeInFrames()
            return try log.read { try $0.membership()?.end } != before
        } catch { return false }
    }

    /// Appends one event if its stream is in the expected state. Waits and throws as `append(_:conditions:sameID:)` does.
    @discardableResult
    public func append(_ event: NewEvent, expecting expectation: Expectation) async throws(EvstoreError) -> AppendReceipt {
        try await append([event], conditions: [StreamCondition(event.stream, expectation)])
    }
}
