internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

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
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        guard !events.isEmpty else { throw .misuse("an append holds at least one event") }
        if events.count > options.appendEventsMax {
            throw .appendTooLarge(reason: "\(events.count) events are over the limit of \(options.appendEventsMax)")
        }
        let deadline = ContinuousClock.now + .seconds(options.appendDeadlineSeconds)
        var mustBeFresh = false
        while true {
            let isFresh = mustBeFresh
            mustBeFresh = true
            let checked: CheckedAppend
            do throws(EvstoreError) { checked = try check(events, conditions, isFresh: isFresh) } catch {
                // What an older state of the store refuses, this one may take.
                if !isFresh { continue }
                // What was appended once was fit for it then, whatever has become of the versions since.
                if let receipt = try repeated(events, sameID) { return receipt }
                throw error
            }
            let spelled = checked.spelled
            let request = AppendRequest(
                events: spelled.events, conditions: spelled.conditions, validated: checked.stamp, deadline: deadline)
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
    public func append(_ event: NewEvent, expecting expectation: Expectation) async throws(EvstoreError) -> AppendReceipt {
        try await append([event], conditions: [StreamCondition(event.stream, expectation)])
    }

    /// An append that was checked against one state of the store.
    private struct CheckedAppend {
        var spelled: SpelledAppend
        var stamp: StateStamp
    }

    private func check(
        _ events: [NewEvent], _ conditions: [StreamCondition], isFresh: Bool
    ) throws(EvstoreError) -> CheckedAppend {
        let door = try doors.take(isFresh: isFresh) { () throws(EvstoreError) in try self.door(rules()) }
        // Order: back before the wait for the disk, so that as many doors are needed as threads check at once.
        defer { doors.give(door) }
        var stored: [StoredEvent] = []
        stored.reserveCapacity(events.count)
        let now = Timestamp.now
        let given = events.span
        for index in given.indices { try door.admit(given[index], isJSON: false, at: now, into: &stored) }
        if let failure = try door.mergeFailures(of: stored).min(by: { $0.key < $1.key }) { throw failure.value }
        let version = events[0].version ?? door.rules.version
        return CheckedAppend(spelled: try spelled(stored, conditions, at: version, door.history), stamp: door.stamp)
    }

    /// The rules of this handle's own appends.
    private func rules() throws(EvstoreError) -> DoorRules {
        var rules = DoorRules(version: try workingVersion)
        if policy == .observe {
            rules.takesOld = true
            rules.ahead = schemas?.history
        }
        return rules
    }

    /// A door for the store as it is now.
    func door(_ rules: DoorRules) throws(EvstoreError) -> Door {
        let evolution = try evolving.current()
        return Door(history: evolution.history, stamp: evolution.state.stamp, rules: rules, options: options)
    }
}
