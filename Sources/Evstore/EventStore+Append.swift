internal import EventLog
internal import EventModel
internal import Projections

/// What an append does when its first event's id is in the store already.
public enum SameID: Sendable, Hashable {
    /// The same content returns the first receipt; other content is `EvstoreError.idReused`.
    case mustMatch
    /// The first receipt is returned whatever the content.
    case keepFirst
}

extension EventStore {
    /// Appends events together, all of them or none, if every condition holds; returns when they are on the disk.
    ///
    /// Repeating an append whose first event has an id is safe: the same content returns the first receipt. So has one event under the
    /// id that the store made for it: ids of that form (UUIDv7) cost a look at the last block, and where it is not older than the id at
    /// O(log n) more.
    ///
    /// The events are checked on the calling thread, some microseconds each; those of a large append on several threads. Then the call
    /// awaits its turn on the writing thread, at most `Options.appendDeadline`, and one sync of the disk, which appends that wait at
    /// the same time share. A small append that is alone is committed on the calling thread, where the disk was quick just before
    /// (`Options.appendInPlaceLimit`). A task that is cancelled before its turn appends nothing (`interrupted`); once the commit
    /// has begun, the call returns what became of it.
    ///
    /// - Throws: `EvstoreError`: of the events invalidEvent, invalidJSON, unknownType, streamMismatch, versionNotAllowed, noImage,
    ///   eventTooLarge, programNeeded; of the append expectationFailed, epochChanged (`StreamCondition.asOf`), idReused, appendTooLarge, misuse where it is empty; deadlinePassed,
    ///   interrupted, diskFull. After each of these nothing was appended; after `commitOutcomeUnknown` nobody knows yet.
    @discardableResult
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        guard !events.isEmpty else { throw .misuse("an append holds at least one event") }
        if events.count > options.appendEventsMax {
            throw .appendTooLarge(reason: "\(events.count) events are over the limit of \(options.appendEventsMax)")
        }
        if let receipt = try repeatedMade(events, sameID) { return receipt }
        let since = ContinuousClock.now
        let deadline = since + options.appendDeadline.bounded
        var (mustBeFresh, hasCaughtUp) = (false, false)
        while true {
            let isFresh = mustBeFresh
            mustBeFresh = true
            let checked: CheckedAppend
            do throws(EvstoreError) { checked = try await check(events, conditions, isFresh: isFresh) } catch {
                // A validator of an older state has refused it: a fresh one may not.
                if !isFresh { continue }
                // Nor may one that knows what other nodes have done.
                if log.membership != nil, !hasCaughtUp {
                    hasCaughtUp = true
                    if await takesInMore() { continue }
                }
                // A repeated append gets its first receipt, whatever has become of the versions since.
                if let receipt = try repeated(events, sameID) { return receipt }
                throw error
            }
            let spelled = checked.spelled
            let request = AppendRequest(
                events: spelled.events, conditions: spelled.conditions, validated: checked.stamp, since: since, deadline: deadline)
            let outcome: AppendOutcome
            do { outcome = try await log.append(request) } catch {
                guard let failure = spelled.failure(EvstoreError(converting: error, at: path)) else { continue }
                throw failure
            }
            switch outcome {
            case .appended(var receipt):
                receipt.stream = spelled.given[receipt.stream] ?? receipt.stream
                return receipt
            case .known:
                if let receipt = try repeated(events, sameID) { return receipt }
            case .revalidate: continue
            }
        }
    }

    /// Whether a node has taken in frames that it did not have.
    private func takesInMore() async -> Bool {
        do {
            let before = try log.read { try $0.membership()?.end }
            try await log.takeInFrames()
            return try log.read { try $0.membership()?.end } != before
        } catch { return false }
    }

    /// Appends one event if its stream is as expected; awaits and throws as `append(_:conditions:sameID:)` does.
    @discardableResult
    public func append(_ event: NewEvent, expecting expectation: Expectation) async throws(EvstoreError) -> AppendReceipt {
        try await append([event], conditions: [StreamCondition(event.stream, expectation)])
    }
}
