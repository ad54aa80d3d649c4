internal import EventLog
public import EventModel
public import Migration
internal import Projections

extension EventStore {
    /// Returns the consumers that the store knows, by name, with the process that handles events now.
    ///
    /// Blocks the calling thread for one short read transaction, and for a check of each consumer's lock.
    public func consumers() throws(EvstoreError) -> [ConsumerStatus] {
        try converting(at: path) {
            let (rows, end) = try consumerRows()
            return try rows.map { row, parked in
                try ConsumerStatus(
                    name: row.name, place: row.place, version: row.version, query: row.query, lag: end.events(after: row.place.position),
                    isCutOff: !isInLog(row.place), handled: row.handled, parked: parked, failing: row.failing?.position, error: row.error,
                    holder: StoreLock.consumer(row.number).holder(at: path))
            }
        }
    }

    /// The row of each consumer with the number of its parked events; and the log's end.
    func consumerRows() throws(EvstoreError) -> (rows: [(row: ConsumerRow, parked: UInt64)], end: Position) {
        try log.reading { reader in
            var rows: [(row: ConsumerRow, parked: UInt64)] = []
            for row in try ConsumerRow.all(in: reader) { rows.append((row, try ParkedEvent.count(of: row.name, in: reader))) }
            return (rows, reader.last.position)
        }
    }

    /// Returns the events that a consumer has parked, by position.
    ///
    /// Blocks the calling thread for one short read transaction.
    /// - Throws: `EvstoreError.unknownConsumer`.
    public func parked(of consumer: String) throws(EvstoreError) -> [ParkedEvent] {
        try log.reading { reader in
            _ = try Self.required(consumer, reader)
            return try ParkedEvent.all(of: consumer, in: reader)
        }
    }

    static func required(_ consumer: String, _ reader: borrowing LogReader) throws -> ConsumerRow {
        guard let row = try ConsumerRow.named(consumer, in: reader) else {
            throw EvstoreError.unknownConsumer(consumer, known: try ConsumerRow.all(in: reader).map(\.name))
        }
        return row
    }

    fileprivate static func required(_ consumer: String, _ update: borrowing LogUpdate) throws -> ConsumerRow {
        let all = try ConsumerRow.all(in: update)
        guard let row = all.first(where: { $0.name == consumer }) else {
            throw EvstoreError.unknownConsumer(consumer, known: all.map(\.name))
        }
        return row
    }

    /// Where a consumer begins, as of the transaction that writes its row.
    static func place(_ start: ConsumerStart, _ update: borrowing LogUpdate) throws -> Checkpoint {
        let last = update.last
        switch start {
        case .start: return Checkpoint(epoch: last.epoch, position: .start)
        case .end: return last
        case .after(let checkpoint):
            try update.requireUncut(checkpoint)
            if checkpoint.epoch > last.epoch || checkpoint.position > last.position {
                throw EvstoreError.usage("the log ends at position \(last.position), before \(checkpoint.position)")
            }
            return checkpoint
        }
    }

    /// Whether the event at a place is still the one that was there in its epoch.
    func isInLog(_ place: Checkpoint) throws(EvstoreError) -> Bool { try cut(below: place) == nil }

    /// The cut that took off the event at a place; nil where it is still the one that was there in its epoch.
    func cut(below place: Checkpoint) throws(EvstoreError) -> Checkpoint? {
        do {
            try requireValid(place)
            return nil
        } catch EvstoreError.epochChanged(_, let cut) { return cut }
    }
}

extension StoreMaintenance {
    /// Lets a consumer retry parked events: the one at a position, or all of them where it is nil. The current holder of the name does so
    /// within `Options.pollInterval`, otherwise the next one. Waits for one durable transaction.
    /// - Returns: the number of these events.
    /// - Throws: `EvstoreError`: unknownConsumer; usage where no event is parked there.
    @discardableResult
    public func retryParked(of consumer: String, position: Position? = nil) async throws(EvstoreError) -> Int {
        try await changeParked(of: consumer, at: position, "retry") { event in
            var event = event
            event.isToRetry = true
            return event
        }
    }

    /// Gives up a parked event, or all of them where the position is nil. The journal records the reason. Waits for one durable
    /// transaction.
    /// - Returns: the number of these events.
    /// - Throws: `EvstoreError`: unknownConsumer; usage where no event is parked there, or the reason is empty.
    @discardableResult
    public func dropParked(of consumer: String, position: Position? = nil, reason: String) async throws(EvstoreError) -> Int {
        if reason.allSatisfy(\.isWhitespace) { throw .usage("a parked event is given up for a reason, and this one is empty") }
        return try await changeParked(of: consumer, at: position, "drop: \(reason)") { _ in nil }
    }

    /// Moves a consumer's place: events behind it are handled again, events before it are not. Parked events stay, except those that a cut
    /// has taken off. Waits for one durable transaction.
    /// - Throws: `EvstoreError`: unknownConsumer; locked where a process holds its name; usage where the log does not reach there;
    ///   epochChanged where a cut has taken off what was there.
    public func resetConsumer(_ consumer: String, to start: ConsumerStart) async throws(EvstoreError) {
        try await alone(consumer) { row, update in
            for event in try ParkedEvent.all(of: consumer, in: update) where try !update.isUncut(event.place) {
                try update.delete(.notes, event.key(consumer))
            }
            var row = row
            row.place = try EventStore.place(start, update)
            (row.failing, row.attempts, row.error, row.ahead) = (nil, 0, nil, [])
            try update.put(.notes, row.key, row.value)
            return "to position \(row.place.position)"
        }
    }

    /// Removes a consumer with its place and its parked events. Waits for one durable transaction.
    /// - Throws: `EvstoreError`: unknownConsumer; locked where a process holds its name.
    public func removeConsumer(_ consumer: String) async throws(EvstoreError) {
        try await alone(consumer) { row, update in
            for event in try ParkedEvent.all(of: consumer, in: update) { try update.delete(.notes, event.key(consumer)) }
            try update.delete(.notes, row.key)
            return "removed"
        }
    }

    /// Changes a consumer's row while no process holds its name, and records that in the journal.
    private func alone(
        _ consumer: String, _ change: @escaping @Sendable (ConsumerRow, inout LogUpdate) throws -> String
    ) async throws(EvstoreError) {
        do {
            let row = try log.read { reader in try EventStore.required(consumer, reader) }
            let lock = try StoreLock.consumer(row.number).acquire(at: path, what: "changing the consumer \(consumer)")
            defer { withExtendedLifetime(lock) {} }
            try await log.update { [number = row.number] update in
                let row = try EventStore.required(consumer, update)
                // The consumer was removed and created again meanwhile.
                if row.number != number { throw EvstoreError.unknownConsumer(consumer, known: []) }
                let outcome = try change(row, &update)
                try Journal.append(
                    JournalRow(.consumer, position: update.last.position, outcome: "\(consumer): \(outcome)"), to: &update)
            }
        } catch { throw EvstoreError(converting: error, at: path) }
    }

    /// - Parameter change: returns the event's new state; nil removes the event.
    private func changeParked(
        of consumer: String, at position: Position?, _ outcome: String, _ change: @escaping @Sendable (ParkedEvent) -> ParkedEvent?
    ) async throws(EvstoreError) -> Int {
        try await log.changing { update in
            var row = try EventStore.required(consumer, update)
            let parked = try ParkedEvent.all(of: consumer, in: update).filter { position == nil || $0.position == position }
            if let position, parked.isEmpty { throw EvstoreError.usage("\(consumer) has parked no event at position \(position)") }
            if parked.isEmpty { return 0 }
            for event in parked {
                try update.delete(.notes, event.key(consumer))
                // Order: noted as done in the transaction that deletes the row by which it is skipped.
                if let now = change(event) { try update.put(.notes, now.key(consumer), now.value) } else { row.add(ahead: [event.place]) }
            }
            try update.put(.notes, row.key, row.value)
            let what = parked.count == 1 ? "position \(parked[0].position)" : "\(parked.count) events"
            try Journal.append(
                JournalRow(.consumer, position: update.last.position, outcome: "\(consumer): \(outcome), \(what)"), to: &update)
            return parked.count
        }
    }
}
