internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// An append, checked against one state of the store.
struct CheckedAppend {
    var resolved: ResolvedAppend
    var stamp: StateStamp
}

extension EventStore {
    /// Checks the events of an append, those of a large one in slices in parallel.
    /// - Throws: `EvstoreError.refusedLine` for the first invalid event: its number, from 1, and its error.
    nonisolated(nonsending) func check(
        _ events: [NewEvent], _ conditions: [StreamCondition], isFresh: Bool
    ) async throws(EvstoreError) -> CheckedAppend {
        let slices = events.count < 2 * Self.sliceEventsMin ? 1 : min(jobs, events.count / Self.sliceEventsMin)
        let taken = try takeValidators(slices, isFresh: isFresh)
        // Order: validators are given back before the wait for the disk, so that there are no more of them than threads that check at once.
        defer { for validator in taken { validators.give(validator) } }
        let now = Timestamp.now
        let checked = await Self.admit(events, by: taken, at: now)
        if let (index, error) = checked.failure { throw .refusedLine(UInt64(index) + 1, file: nil, error) }
        let validator = taken[0]
        // A program that is ahead of the store may store several events for one.
        let isNumbered = checked.stored.count == events.count
        try Self.requireNone(try validator.mergeFailures(of: checked.stored), isNumbered: isNumbered)
        let version = events[0].version ?? validator.rules.version
        let resolved = try resolved(checked.stored, conditions, at: version, validator.history)
        try Self.requireNone(resolved.refused, isNumbered: isNumbered)
        return CheckedAppend(resolved: resolved, stamp: validator.stamp)
    }

    /// Throws the first of the failures of events, which are known by their indices.
    private static func requireNone(_ failures: [Int: EvstoreError], isNumbered: Bool) throws(EvstoreError) {
        guard let (index, error) = failures.min(by: { $0.key < $1.key }) else { return }
        throw isNumbered ? .refusedLine(UInt64(index) + 1, file: nil, error) : error
    }

    /// Fewer events are checked faster than another thread starts.
    private static let sliceEventsMin = 512

    /// Takes validators that are all made for one state of the store.
    private func takeValidators(_ count: Int, isFresh: Bool) throws(EvstoreError) -> [AppendValidator] {
        var taken: [AppendValidator] = []
        while taken.count < count {
            let validator = try validators.take(isFresh: isFresh) { () throws(EvstoreError) in try self.validator(rules()) }
            // Validators of an earlier state are dropped.
            if let first = taken.first, first.stamp != validator.stamp { taken = [] }
            taken.append(validator)
        }
        return taken
    }

    /// The rules of this handle's own appends.
    private func rules() throws(EvstoreError) -> AppendRules {
        var rules = AppendRules(version: try workingVersion)
        if policy == .observe {
            rules.takesOld = true
            rules.ahead = schemas?.history
        }
        return rules
    }

    /// A validator for the store as it is now.
    func validator(_ rules: AppendRules) throws(EvstoreError) -> AppendValidator {
        let evolution = try evolving.current()
        var rules = rules
        rules.gatesThroughTop = log.membership != nil
        return AppendValidator(history: evolution.history, stamp: evolution.state.stamp, rules: rules, options: options)
    }

    // MARK: Slices

    /// The events to store for a slice of an append, up to the first invalid one.
    private struct Slice: Sendable {
        var stored: [StoredEvent] = []
        var failure: (index: Int, error: EvstoreError)?

        init(_ events: [NewEvent], _ indices: Range<Int>, by validator: AppendValidator, at now: Timestamp, room: Int) {
            stored.reserveCapacity(room)
            let given = events.span
            for index in indices {
                do throws(EvstoreError) { try validator.admit(given[index], isJSON: false, at: now, into: &stored) } catch {
                    failure = (index, error)
                    return
                }
            }
        }
    }

    /// Checks one slice per validator; the calling thread checks the first slice itself.
    private nonisolated(nonsending) static func admit(
        _ events: [NewEvent], by validators: [AppendValidator], at now: Timestamp
    ) async -> Slice {
        let count = events.count
        if validators.count == 1 { return Slice(events, 0 ..< count, by: validators[0], at: now, room: count) }
        return await withTaskGroup(of: (index: Int, slice: Slice).self) { group in
            for index in 1 ..< validators.count {
                let indices = count * index / validators.count ..< count * (index + 1) / validators.count
                group.addTask { (index, Slice(events, indices, by: validators[index], at: now, room: indices.count)) }
            }
            // The capacity includes the other slices, which are appended to this one.
            var all = Slice(events, 0 ..< count / validators.count, by: validators[0], at: now, room: count)
            var others: [Int: Slice] = [:]
            for await (index, slice) in group { others[index] = slice }
            for index in 1 ..< validators.count where all.failure == nil {
                guard let slice = others.removeValue(forKey: index) else { continue }
                all.stored += slice.stored
                all.failure = slice.failure
            }
            return all
        }
    }
}
