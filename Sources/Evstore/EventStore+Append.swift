internal import EventLog
internal import EventModel

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
    /// Repeating an append whose first event has an id is safe: the same content returns the first receipt.
    ///
    /// Others who write are waited for, at most `Options.appendDeadlineSeconds`. Where the task is cancelled meanwhile nothing is
    /// appended (`interrupted`); once it is being appended what comes of it is told, cancelled or not.
    @discardableResult
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        guard !events.isEmpty else { throw .misuse("an append holds at least one event") }
        if events.count > options.appendEventsMax {
            throw .appendTooLarge(reason: "\(events.count) events are over the limit of \(options.appendEventsMax)")
        }
        let since = ContinuousClock.now
        let deadline = since + .seconds(options.appendDeadlineSeconds)
        var mustBeFresh = false
        while true {
            let isFresh = mustBeFresh
            mustBeFresh = true
            let checked: CheckedAppend
            do throws(EvstoreError) { checked = try await check(events, conditions, isFresh: isFresh) } catch {
                // What an older state of the store refuses, this one may take.
                if !isFresh { continue }
                // What was appended once was fit for it then, whatever has become of the versions since.
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

    /// Appends one event if its stream is as expected.
    @discardableResult
    public func append(_ event: NewEvent, expecting expectation: Expectation) async throws(EvstoreError) -> AppendReceipt {
        try await append([event], conditions: [StreamCondition(event.stream, expectation)])
    }
}
