internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// An append that was checked against one state of the store.
struct CheckedAppend {
    var spelled: SpelledAppend
    var stamp: StateStamp
}

extension EventStore {
    /// Checks the events of an append, those of a large one in slices side by side; throws what is wrong with the first that is.
    func check(
        _ events: [NewEvent], _ conditions: [StreamCondition], isFresh: Bool
    ) async throws(EvstoreError) -> CheckedAppend {
        let slices = events.count < 2 * Self.sliceEventsMin ? 1 : min(jobs, events.count / Self.sliceEventsMin)
        let taken = try takeDoors(slices, isFresh: isFresh)
        // Order: back before the wait for the disk, so that as many doors are needed as threads check at once.
        defer { for door in taken { doors.give(door) } }
        let now = Timestamp.now
        let checked = await Self.admit(events, by: taken, at: now)
        if let error = checked.error { throw error }
        let door = taken[0]
        if let failure = try door.mergeFailures(of: checked.stored).min(by: { $0.key < $1.key }) { throw failure.value }
        let version = events[0].version ?? door.rules.version
        return CheckedAppend(spelled: try spelled(checked.stored, conditions, at: version, door.history), stamp: door.stamp)
    }

    /// Fewer are checked before another thread has begun.
    private static let sliceEventsMin = 512

    /// Doors for the same state of the store.
    private func takeDoors(_ count: Int, isFresh: Bool) throws(EvstoreError) -> [Door] {
        var taken: [Door] = []
        while taken.count < count {
            let door = try doors.take(isFresh: isFresh) { () throws(EvstoreError) in try self.door(rules()) }
            // Those that were made for an earlier state are of no use any more.
            if let first = taken.first, first.stamp != door.stamp { taken = [] }
            taken.append(door)
        }
        return taken
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

    // MARK: Slices

    /// What a door makes of a slice of events, up to the first that is wrong.
    private struct Slice: Sendable {
        var stored: [StoredEvent] = []
        var error: EvstoreError?

        init(_ events: [NewEvent], _ indices: Range<Int>, by door: Door, at now: Timestamp, room: Int) {
            stored.reserveCapacity(room)
            let given = events.span
            do throws(EvstoreError) { for index in indices { try door.admit(given[index], isJSON: false, at: now, into: &stored) } } catch {
                self.error = error
            }
        }
    }

    /// A slice for each door; the first is the calling thread's own.
    private static func admit(_ events: [NewEvent], by doors: [Door], at now: Timestamp) async -> Slice {
        let count = events.count
        if doors.count == 1 { return Slice(events, 0 ..< count, by: doors[0], at: now, room: count) }
        return await withTaskGroup(of: (index: Int, slice: Slice).self) { group in
            for index in 1 ..< doors.count {
                let indices = count * index / doors.count ..< count * (index + 1) / doors.count
                group.addTask { (index, Slice(events, indices, by: doors[index], at: now, room: indices.count)) }
            }
            // With room for those of the others, which are put behind them.
            var all = Slice(events, 0 ..< count / doors.count, by: doors[0], at: now, room: count)
            var others: [Int: Slice] = [:]
            for await (index, slice) in group { others[index] = slice }
            for index in 1 ..< doors.count where all.error == nil {
                guard let slice = others.removeValue(forKey: index) else { continue }
                all.stored += slice.stored
                all.error = slice.error
            }
            return all
        }
    }
}
