internal import EventLog
internal import EventModel
internal import Logging
internal import System

/// A consumer at work: waits for its turn, reads pages, has them handled, and saves its place.
final class ConsumerRun: Sendable {
    typealias Handler = @Sendable ([RecordedEvent], ConsumerContext) async throws -> Void

    private let store: EventStore
    private let name: String
    private let types: Set<String>?
    private let version: SchemaVersion
    private let batch: Int
    private let options: ConsumerOptions
    private let handler: Handler
    private let typeNames: [String]?
    /// How often who stands by looks whether the name is free.
    private static let turnMilliseconds = 100

    init(
        _ store: EventStore, _ name: String, _ types: [String]?, _ version: SchemaVersion, batch: Int, _ options: ConsumerOptions,
        _ handler: @escaping Handler
    ) {
        (self.store, self.name, typeNames, self.version, self.batch) = (store, name, types, version, batch)
        (self.types, self.options, self.handler) = (types.map(Set.init), options, handler)
    }

    /// Returns when the task is cancelled.
    func run(from start: ConsumerStart) async throws {
        let number = try await registered(start)
        guard let turn = try await takeTurn(number) else { return }
        defer { withExtendedLifetime(turn) {} }
        // Whoever had the name before has moved the place.
        var row = try ConsumerRow(name: name, stored() ?? [])
        if row.version != version || row.types != typeNames {
            (row.version, row.types) = (version, typeNames)
            row = try await save(row)
        }
        let saved = Monitor(SavedPlace(row))
        var pages = Subscription(store: store, stream: nil, checkpoint: row.place, version: version, type: nil).makeAsyncIterator()
        while !Task.isCancelled {
            let floor = try store.evolving.current().state.floor
            if version < floor { throw EvstoreError.belowFloor(version, floor: floor) }
            try await retryParked(saved)
            let before = pages.checkpoint
            let page = try pages.nextPage()
            let wanted = page.events.filter { types?.contains($0.type) ?? true }
            let progress = PageProgress(wanted, before: before, after: pages.checkpoint)
            try await handle(wanted, progress, saved)
            try await saveIfDue(progress, saved, isEnd: true)
            if page.isLast, !Task.isCancelled { try await store.wait(after: pages.checkpoint.position) }
        }
    }

    // MARK: Name and place

    /// The consumer's number; makes its row where there is none.
    private func registered(_ start: ConsumerStart) async throws -> Int {
        if let row = try stored() { return try ConsumerRow(name: name, row).number }
        let number = Monitor(0)
        try await store.log.update { [name, version, typeNames] update in
            let all = try ConsumerRow.all(update.rows(.notes, prefix: ConsumerRow.tablePrefix))
            if let known = all.first(where: { $0.name == name }) { return number.withLock { $0 = known.number } }
            let used = Set(all.map(\.number))
            let free = (0...).first { !used.contains($0) } ?? 0
            let row = ConsumerRow(
                name: name, number: free, place: try EventStore.place(start, last: update.last), version: version, types: typeNames)
            try update.put(.notes, row.key, row.bytes)
            number.withLock { $0 = free }
        }
        return number.withLock { $0 }
    }

    private func stored() throws -> [UInt8]? { try store.log.read { reader in try reader.get(.notes, ConsumerRow.key(name)) } }

    /// Nil where the task is cancelled before the name is free.
    private func takeTurn(_ number: Int) async throws -> HeldLock? {
        while !Task.isCancelled {
            if let turn = try StoreLock.consumer(number).acquireIfFree(at: store.path, what: "consuming as \(name)") { return turn }
            try? await Task.sleep(for: .milliseconds(Self.turnMilliseconds))
        }
        return nil
    }

    /// Makes a row durable, also where the task has been cancelled.
    private func save(_ row: ConsumerRow) async throws -> ConsumerRow {
        let log = store.log
        try await Task { try await log.update { update in try update.put(.notes, row.key, row.bytes) } }.value
        return row
    }

    private func saveIfDue(_ progress: PageProgress, _ saved: Monitor<SavedPlace>, isEnd: Bool) async throws {
        let (place, handled) = progress.reached()
        let seconds = options.checkpointSeconds
        let row = saved.withLock { saved -> ConsumerRow? in
            var row = saved.row
            (row.place, row.handled) = (place, saved.handledBefore + handled)
            if isEnd { saved.handledBefore += handled }
            let isDue = saved.since.duration(to: .now) >= .seconds(seconds) || isEnd && (handled > 0 || Task.isCancelled)
            if saved.isSaving || !isDue || row == saved.row { return nil }
            (row.attempts, row.error) = place == saved.row.place ? (row.attempts, row.error) : (0, nil)
            (saved.row, saved.since, saved.isSaving) = (row, .now, true)
            return row
        }
        guard let row else { return }
        defer { saved.withLock { $0.isSaving = false } }
        _ = try await save(row)
    }

    // MARK: Handling

    /// Handles the events of a page, those of a stream one after the other; returns early where the task is cancelled.
    private func handle(_ events: [RecordedEvent], _ progress: PageProgress, _ saved: Monitor<SavedPlace>) async throws {
        if options.concurrency == 1 || events.count < 2 { return try await handle(lane: events[...], progress, saved) }
        var lanes = [[RecordedEvent]](repeating: [], count: min(options.concurrency, events.count))
        for event in events { lanes[Int(UInt(bitPattern: event.stream.text.hashValue) % UInt(lanes.count))].append(event) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in lanes where !lane.isEmpty { group.addTask { try await self.handle(lane: lane[...], progress, saved) } }
            try await group.waitForAll()
        }
    }

    private func handle(lane: ArraySlice<RecordedEvent>, _ progress: PageProgress, _ saved: Monitor<SavedPlace>) async throws {
        var rest = lane
        while !rest.isEmpty, !Task.isCancelled {
            let together = rest.prefix(batch)
            rest = rest.dropFirst(batch)
            if together.count > 1 {
                if await failure(Array(together), 1) == nil {
                    progress.finish(together)
                } else {
                    // One of them is at fault: which one shows when each is tried alone.
                    for event in together where !Task.isCancelled { try await handle(event, progress, saved) }
                }
            } else if let event = together.first {
                try await handle(event, progress, saved)
            }
            try await saveIfDue(progress, saved, isEnd: false)
        }
    }

    /// Tries one event until it is handled or given up; returns early where the task is cancelled.
    private func handle(_ event: RecordedEvent, _ progress: PageProgress, _ saved: Monitor<SavedPlace>) async throws {
        let before = saved.withLock { $0.row.place.position.next == event.position ? $0.row.attempts : 0 }
        var attempt = Int(clamping: before) + 1
        while true {
            guard let reason = await failure([event], attempt) else { break }
            try await note(reason, attempts: UInt64(attempt), saved)
            if attempt >= options.retry.attemptsMax {
                if options.onFailure == .stop {
                    try await saveIfDue(progress, saved, isEnd: true)
                    throw EvstoreError.consumerStopped(consumer: name, position: event.position, reason: reason)
                }
                try await park(event, attempts: UInt64(attempt), reason)
                break
            }
            try? await Task.sleep(for: .seconds(options.retry.pause(after: attempt)))
            if Task.isCancelled { return }
            attempt += 1
        }
        progress.finish([event])
    }

    /// Why the handler could not handle the events; nil where it has. It runs to its end, whatever becomes of this task.
    private func failure(_ events: [RecordedEvent], _ attempt: Int) async -> String? {
        guard let last = events.last else { return nil }
        let place = Checkpoint(epoch: last.epoch, position: last.position)
        let context = ConsumerContext(consumer: name, attempt: attempt, checkpoint: place)
        let handler = handler
        do { try await Task { try await handler(events, context) }.value } catch {
            // In a sealed store nothing that may be an event's content lies in the clear.
            return store.options.secret == nil ? (error as? EvstoreError)?.message ?? "\(error)" : "\(type(of: error))"
        }
        return nil
    }

    private func note(_ reason: String, attempts: UInt64, _ saved: Monitor<SavedPlace>) async throws {
        let row = saved.withLock { saved in
            (saved.row.attempts, saved.row.error) = (attempts, reason)
            return saved.row
        }
        _ = try await save(row)
    }

    // MARK: Parked events

    private func park(_ event: RecordedEvent, attempts: UInt64, _ reason: String) async throws {
        let parked = ParkedEvent(
            position: event.position, stream: event.stream, type: event.type, attempts: attempts, error: reason, time: .now,
            isToRetry: false)
        let key = ParkedEvent.key(name, event.position)
        let log = store.log
        try await Task { try await log.update { update in try update.put(.notes, key, parked.bytes) } }.value
        store.logger.warning("\(name) has parked the event at \(event.position): \(reason)")
    }

    /// Tries once what someone has asked to be tried again.
    private func retryParked(_ saved: Monitor<SavedPlace>) async throws {
        for parked in try store.parked(of: name) where parked.isToRetry && !Task.isCancelled {
            let key = ParkedEvent.key(name, parked.position)
            let log = store.log
            let attempt = parked.attempts + 1
            let events = try store.view(parked.position, at: version).filter { types?.contains($0.type) ?? true }
            let reason = events.isEmpty ? nil : await failure(events, Int(clamping: attempt))
            let bytes = reason.map { reason in
                var again = parked
                (again.attempts, again.error, again.isToRetry) = (attempt, reason, false)
                return again.bytes
            }
            try await Task {
                try await log.update { update in
                    if let bytes { try update.put(.notes, key, bytes) } else { try update.delete(.notes, key) }
                }
            }.value
        }
    }
}

/// The row that was saved last.
private struct SavedPlace {
    var row: ConsumerRow
    var since = ContinuousClock.now
    /// Events handled before the page at hand.
    var handledBefore: UInt64
    var isSaving = false

    init(_ row: ConsumerRow) { (self.row, handledBefore) = (row, row.handled) }
}

/// Which events of a page are done.
private final class PageProgress: Sendable {
    private let before, after: Checkpoint
    /// How many parts of the event at a position are not done.
    private let open: Monitor<[Position: Int]>
    private let done = Monitor<UInt64>(0)

    init(_ events: [RecordedEvent], before: Checkpoint, after: Checkpoint) {
        (self.before, self.after) = (before, after)
        open = Monitor(events.reduce(into: [:]) { $0[$1.position, default: 0] += 1 })
    }

    func finish(_ events: some Collection<RecordedEvent>) {
        open.withLock { open in
            for event in events {
                let left = (open[event.position] ?? 1) - 1
                open[event.position] = left == 0 ? nil : left
            }
        }
        done.withLock { $0 += UInt64(events.count) }
    }

    /// The last place before all that is not done, and how many events of the page are done.
    func reached() -> (place: Checkpoint, handled: UInt64) {
        let first = open.withLock { $0.keys.min() }
        let place = first.map { Checkpoint(epoch: after.epoch, position: Position($0.rawValue - 1)) } ?? after
        return (max(place.position, before.position) == place.position ? place : before, done.withLock { $0 })
    }
}
