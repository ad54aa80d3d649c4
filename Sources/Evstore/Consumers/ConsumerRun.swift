internal import EventLog
internal import EventModel
internal import Logging
internal import Migration
internal import Platform

/// A running consumer: waits for its turn, reads pages, hands them to the handler, and saves its place.
final class ConsumerRun: Sendable {
    typealias Handler = @Sendable ([RecordedEvent], ConsumerContext) async throws -> Void

    private let store: EventStore
    private let name: String
    /// Nil takes all events.
    private let query: EventQuery?
    private let version: SchemaVersion
    private let batch: Int
    private let options: ConsumerOptions
    private let handler: Handler
    /// How often a waiting process checks whether the name is free.
    private static let turnMilliseconds = 100

    init(
        store: EventStore, name: String, query: EventQuery?, version: SchemaVersion, batch: Int, options: ConsumerOptions,
        handler: @escaping Handler
    ) {
        (self.store, self.name, self.query, self.version, self.batch) = (store, name, query, version, batch)
        (self.options, self.handler) = (options, handler)
    }

    /// Handles events; returns when the task is cancelled.
    func run(from start: ConsumerStart) async throws {
        let turn: (lock: HeldLock, row: ConsumerRow)?
        do { turn = try await takeTurn(start) } catch EvstoreError.interrupted where Task.isCancelled { return }
        guard let (lock, row) = turn else { return }
        defer { withExtendedLifetime(lock) {} }
        let place = try await place(of: row)
        do { try await follow(place) } catch {
            // Handled events must not be handled again where the place can still be saved.
            do { try await place.save() } catch {
                store.logger.warning("the place of \(name) could not be saved", metadata: ["error": .stringConvertible(error.advised)])
            }
            throw error
        }
        try await place.save()
    }

    /// Handles page after page until the task is cancelled.
    private func follow(_ place: ConsumerCheckpoint) async throws {
        try await store.bringUpTagIndex(for: query, at: version)
        var pages = Subscription(store, to: nil, after: place.row.place, at: version, matching: query)
        var skipped = try skipped(behind: place.row)
        while !Task.isCancelled {
            let floor = try store.evolving.current().state.floor
            if version < floor { throw EvstoreError.belowFloor(version, floor: floor) }
            try await retryParked(place)
            let forgets = try forgetCount()
            let page = try await StoreThreads.run { try nextPage(&pages) }
            let wanted = page.events.filter { event in
                skipped[event.position].map { event.checkpoint.epoch > $0 } ?? true
            }
            if !skipped.isEmpty { skipped = skipped.filter { $0.key > pages.checkpoint.position } }
            try await handle(wanted, place, PageProgress(wanted, end: pages.checkpoint, forgets: forgets))
            if Task.isCancelled { return }
            if try forgetCount() != forgets {
                // The events that are left may show what is forgotten now: they are read anew.
                try await place.save()
                place.resume()
                pages = Subscription(store, to: nil, after: place.row.place, at: version, matching: query)
                skipped = try self.skipped(behind: place.row)
                continue
            }
            place.advance(to: pages.checkpoint)
            let interval = options.checkpointInterval
            try await place.save(after: place.isAhead ? min(ConsumerCheckpoint.pageInterval, interval) : interval)
            if page.isLast, options.endsAtLogEnd { return }
            let pause = place.isAhead ? ConsumerCheckpoint.pageInterval : store.options.pollInterval
            if page.isLast { try await store.wait(after: pages.checkpoint.position, atMost: pause) }
        }
    }

    /// How often personal data was forgotten in the store; 0 where events are not sealed.
    private func forgetCount() throws -> UInt64 {
        store.options.secret == nil ? 0 : try store.log.reading { reader in try reader.forgetCount }
    }

    /// The positions behind the place whose events are done already: parked, or handled concurrently with events that were not; each with the
    /// last epoch of such an event. After a cut another one may have the position, of a later epoch.
    private func skipped(behind row: ConsumerRow) throws -> [Position: Epoch] {
        // From one transaction: another process may give a parked event up, which moves it from the one to the other.
        let noted = try store.log.read { reader in
            try EventStore.required(name, reader).ahead + ParkedEvent.all(of: name, in: reader).map(\.place)
        }
        let behind = noted.filter { $0.position > row.place.position }
        return Dictionary(behind.map { ($0.position, $0.epoch) }, uniquingKeysWith: max)
    }

    /// The next page. Where an event has no image at the version, the events before it come first, as a page of their own.
    private func nextPage(_ pages: inout Subscription) throws -> (events: [RecordedEvent], isLast: Bool) {
        do throws(EvstoreError) { return (try pages.nextPage(), pages.isAtEnd) } catch {
            let start = pages.checkpoint.position.rawValue
            guard case .noImage(let failure) = error, let position = failure.position, position.rawValue > start + 1 else { throw error }
            return (try pages.nextPage(through: position.previous), false)
        }
    }

    // MARK: Name and place

    /// Waits until the name is free, and takes it; nil where the task is cancelled first.
    private func takeTurn(_ start: ConsumerStart) async throws -> (lock: HeldLock, row: ConsumerRow)? {
        while !Task.isCancelled {
            let number = try await registered(start)
            if let lock = try StoreLock.consumer(number).acquireIfFree(at: store.path, what: "consuming as \(name)") {
                // The previous holder may have moved the place, or the consumer was removed and its number now belongs to another.
                let row = try store.log.read { reader in try ConsumerRow.named(name, in: reader) }
                if let row, row.number == number { return (lock, row) }
            }
            do { try await Task.sleep(for: .milliseconds(Self.turnMilliseconds)) } catch { return nil }
        }
        return nil
    }

    /// Returns the consumer's number; creates its row where there is none.
    private func registered(_ start: ConsumerStart) async throws -> Int {
        if let row = try store.log.read({ reader in try ConsumerRow.named(name, in: reader) }) { return row.number }
        return try await store.log.update { [name, version, query] update in
            let all = try ConsumerRow.all(in: update)
            if let known = all.first(where: { $0.name == name }) { return known.number }
            let used = Set(all.map(\.number))
            let free = (0...).first { !used.contains($0) } ?? 0
            let row = ConsumerRow(name: name, number: free, place: try EventStore.place(start, update), version: version, query: query)
            try update.put(.notes, row.key, row.value)
            return free
        }
    }

    private func place(of row: ConsumerRow) async throws -> ConsumerCheckpoint {
        let isAsBefore = row.version == version && row.query == query
        var row = row
        (row.version, row.query) = (version, query)
        let place = ConsumerCheckpoint(row, store.log)
        if !isAsBefore { try await place.write { _ in } }
        return place
    }

    // MARK: Handling

    /// Handles the events of a page, those of a stream in sequence; returns early where the task is cancelled.
    private func handle(_ events: [RecordedEvent], _ place: ConsumerCheckpoint, _ progress: PageProgress) async throws {
        defer { place.note(ahead: progress.doneAhead) }
        if options.concurrency == 1 || events.count < 2 { return try await handle(lane: events, place, progress) }
        var lanes = [[RecordedEvent]](repeating: [], count: min(options.concurrency, events.count))
        for event in events { lanes[Int(UInt(bitPattern: event.stream.text.hashValue) % UInt(lanes.count))].append(event) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in lanes where !lane.isEmpty { group.addTask { try await self.handle(lane: lane, place, progress) } }
            try await group.waitForAll()
        }
    }

    private func handle(lane: [RecordedEvent], _ place: ConsumerCheckpoint, _ progress: PageProgress) async throws {
        var rest = lane[...]
        while !rest.isEmpty, !Task.isCancelled, try forgetCount() == progress.forgets {
            let together = rest.prefix(batch)
            rest = rest.dropFirst(batch)
            if together.count > 1, try await failure(Array(together), attempt: 1) == nil {
                place.advance(to: progress.finish(together), handled: together.count)
            } else {
                // One event of the batch is at fault: each is tried alone to find it.
                let tried = together.count > 1 ? 1 : 0
                for event in together where !Task.isCancelled { try await handle(event, after: tried, place, progress) }
            }
            try await place.save(after: options.checkpointInterval)
        }
    }

    /// Tries one event until it is handled or given up; returns early where the task is cancelled, or the event has to be read anew.
    /// - Parameter tried: how many attempts it has had in a batch.
    private func handle(_ event: RecordedEvent, after tried: Int, _ place: ConsumerCheckpoint, _ progress: PageProgress) async throws {
        var attempt = place.takeAttempts(at: event.checkpoint) + tried + 1
        while true {
            if try forgetCount() != progress.forgets { return }
            guard let reason = try await failure([event], attempt: attempt) else { break }
            place.fail(at: event.checkpoint, attempts: attempt, reason)
            if attempt >= options.retry.attemptsMax {
                if options.onFailure == .park { return try await park(event, attempts: attempt, reason, place, progress) }
                try await place.save()
                throw EvstoreError.consumerStopped(consumer: name, position: event.position, reason: reason)
            }
            try await place.save()
            do { try await Task.sleep(for: options.retry.pause(after: attempt)) } catch { return }
            attempt += 1
        }
        place.advance(to: progress.finish([event]), handled: 1)
    }

    /// Calls the handler. Returns why it could not handle the events; nil where it could. The handler runs to its end even if this task is
    /// cancelled.
    /// - Throws: `EvstoreError.consumerStopped` where the handler throws it.
    private func failure(_ events: [RecordedEvent], attempt: Int) async throws -> String? {
        guard let last = events.last else { return nil }
        let context = ConsumerContext(
            consumer: name, attempt: attempt, checkpoint: last.checkpoint)
        let handler = handler
        do { try await Task { try await handler(events, context) }.value } catch {
            if case EvstoreError.consumerStopped = error { throw error }
            // In a sealed store the error may quote an event, and nothing of an event may lie in the clear.
            return store.options.secret == nil ? (error as? EvstoreError)?.message ?? "\(error)" : "\(type(of: error))"
        }
        return nil
    }

    // MARK: Parked events

    /// Parks an event, and moves past it once that is on the disk.
    private func park(
        _ event: RecordedEvent, attempts: Int, _ reason: String, _ place: ConsumerCheckpoint, _ progress: PageProgress
    ) async throws {
        let parked = ParkedEvent(
            at: event.checkpoint, of: event.stream, type: event.type, attempts: UInt64(attempts), error: reason)
        try await place.write { [name] update in try update.put(.notes, parked.key(name), parked.value) }
        place.advance(to: progress.finish([event]))
        store.logger.warning("\(name) has parked the event at position \(event.position): \(reason)")
    }

    /// Retries each parked event once that someone asked to be retried.
    private func retryParked(_ place: ConsumerCheckpoint) async throws {
        let wanted = try store.log.read { reader in try ParkedEvent.all(of: name, onlyToRetry: true, in: reader) }
        for parked in wanted where !Task.isCancelled {
            let attempt = Int(clamping: parked.attempts) + 1
            let (events, obstacle) = try seen(parked)
            let reason = if let obstacle { obstacle } else { try await failure(events, attempt: attempt) }
            if reason == nil {
                // Order: noted as done in the transaction that deletes the row by which it is skipped.
                place.note(ahead: [parked.place])
                place.advance(to: place.row.place, handled: events.count)
            }
            try await place.write { [name] update in
                // An event that was dropped meanwhile stays dropped.
                if try update.get(.notes, parked.key(name)) == nil { return }
                try update.delete(.notes, parked.key(name))
                guard let reason else { return }
                var again = parked
                (again.attempts, again.error, again.isToRetry) = (UInt64(attempt), reason, false)
                try update.put(.notes, again.key(name), again.value)
            }
        }
    }

    /// The images of a parked event for the handler, or the obstacle that prevents handling it.
    private func seen(_ parked: ParkedEvent) throws -> (events: [RecordedEvent], obstacle: String?) {
        if try !store.isInLog(parked.place) { return ([], "a cut has taken it off: drop it") }
        let events: [RecordedEvent]
        do throws(EvstoreError) { events = try store.view(parked.position, at: version, matching: query) } catch {
            guard case .noImage = error else { throw error }
            return ([], error.message)
        }
        return (events, events.isEmpty ? "\(name) takes no such event at \(version): drop it, or run it with its type or tags" : nil)
    }
}
