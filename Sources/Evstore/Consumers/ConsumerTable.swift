internal import EventLog
public import EventModel
internal import Migration

extension EventStore {
    /// The consumers that the store knows, by name, with who handles events now.
    ///
    /// Blocks the calling thread for one short read transaction, and a look at the lock of each.
    public func consumers() throws(EvstoreError) -> [ConsumerStatus] {
        var found: [ConsumerStatus] = []
        try converting(at: path) {
            let (rows, parked, end) = try log.read { reader in
                let all = try reader.rows(.notes, prefix: ConsumerRow.tablePrefix)
                let rows = try ConsumerRow.all(all)
                let parked = rows.map { row in all.count { $0.key.starts(with: ParkedEvent.prefix(row.name)) } }
                return (rows, parked, reader.last.position)
            }
            for (row, count) in zip(rows, parked) {
                found.append(
                    ConsumerStatus(
                        name: row.name, place: row.place, version: row.version, types: row.types,
                        lag: end.rawValue - min(row.place.position.rawValue, end.rawValue), handled: row.handled, parked: UInt64(count),
                        error: row.error, holder: try StoreLock.consumer(row.number).holder(at: path)))
            }
        }
        return found
    }

    /// The events that a consumer has put aside, by position.
    ///
    /// Blocks the calling thread for one short read transaction.
    /// - Throws: `EvstoreError.unknownConsumer`.
    public func parked(of consumer: String) throws(EvstoreError) -> [ParkedEvent] {
        var found: [ParkedEvent] = []
        try converting(at: path) {
            try log.read { reader in
                let all = try reader.rows(.notes, prefix: ConsumerRow.tablePrefix)
                _ = try Self.required(consumer, all)
                for row in all where row.key.starts(with: ParkedEvent.prefix(consumer)) {
                    found.append(try ParkedEvent(consumer, key: row.key, row.value))
                }
            }
        }
        return found
    }

    /// Has a consumer try parked events again: the one at a position, or all of them where it is nil. Whoever holds the name does so
    /// within `Options.pollMilliseconds`, else whoever holds it next. Awaits one durable transaction.
    /// - Returns: how many they are.
    /// - Throws: `EvstoreError`: unknownConsumer; usage where no event is parked there.
    @discardableResult
    public func retryParked(of consumer: String, at position: Position? = nil) async throws(EvstoreError) -> Int {
        try await changeParked(of: consumer, at: position, "retry") { event in
            var event = event
            event.isToRetry = true
            return event
        }
    }

    /// Gives up a parked event, or all of them where the position is nil. The reason stands in the journal. Awaits one durable transaction.
    /// - Returns: how many they are.
    /// - Throws: `EvstoreError`: unknownConsumer; usage where no event is parked there.
    @discardableResult
    public func dropParked(of consumer: String, at position: Position? = nil, reason: String) async throws(EvstoreError) -> Int {
        try await changeParked(of: consumer, at: position, "drop: \(reason)") { _ in nil }
    }

    /// Puts a consumer's place elsewhere: events behind it are handled again, those before it are not. Parked events stay. Awaits one
    /// durable transaction.
    /// - Throws: `EvstoreError`: unknownConsumer; locked where a process holds its name; usage where the log does not reach there.
    public func resetConsumer(_ consumer: String, to start: ConsumerStart) async throws(EvstoreError) {
        try await alone(consumer) { row, update in
            var row = row
            row.place = try Self.place(start, last: update.last)
            (row.attempts, row.error) = (0, nil)
            try update.put(.notes, row.key, row.bytes)
            return "to \(row.place.position)"
        }
    }

    /// Forgets a consumer, its place and what it has parked. Awaits one durable transaction.
    /// - Throws: `EvstoreError`: unknownConsumer; locked where a process holds its name.
    public func removeConsumer(_ consumer: String) async throws(EvstoreError) {
        try await alone(consumer) { row, update in
            for parked in try update.rows(.notes, prefix: ParkedEvent.prefix(consumer)) { try update.delete(.notes, parked.key) }
            try update.delete(.notes, row.key)
            return "removed"
        }
    }

    // MARK: Changing rows

    typealias NoteRows = [(key: [UInt8], value: [UInt8])]

    static func required(_ consumer: String, _ rows: NoteRows) throws(EvstoreError) -> ConsumerRow {
        let all = try ConsumerRow.all(rows)
        guard let row = all.first(where: { $0.name == consumer }) else { throw .unknownConsumer(consumer, known: all.map(\.name)) }
        return row
    }

    static func place(_ start: ConsumerStart, last: Checkpoint) throws(EvstoreError) -> Checkpoint {
        switch start {
        case .start: return Checkpoint(epoch: last.epoch, position: .start)
        case .end: return last
        case .after(let checkpoint):
            if checkpoint.epoch > last.epoch || checkpoint.position > last.position {
                throw .usage("the log ends at \(last.position), before \(checkpoint.position)")
            }
            return checkpoint
        }
    }

    /// Changes a consumer's row while nobody holds its name, and notes it in the journal.
    private func alone(
        _ consumer: String, _ change: @escaping @Sendable (ConsumerRow, inout LogUpdate) throws -> String
    ) async throws(EvstoreError) {
        do {
            let row = try Self.required(consumer, try log.read { reader in try reader.rows(.notes, prefix: ConsumerRow.tablePrefix) })
            let lock = try StoreLock.consumer(row.number).acquire(at: path, what: "changing the consumer \(consumer)")
            defer { withExtendedLifetime(lock) {} }
            try await log.update { update in
                let row = try Self.required(consumer, update.rows(.notes, prefix: ConsumerRow.tablePrefix))
                let outcome = try change(row, &update)
                try Journal.append(
                    Journal.Entry("consumer", position: update.last.position, outcome: "\(consumer): \(outcome)"), to: &update)
            }
        } catch { throw EvstoreError(converting: error, at: path) }
    }

    /// - Parameter change: what a parked event becomes; nil where it is removed.
    private func changeParked(
        of consumer: String, at position: Position?, _ outcome: String, _ change: @escaping @Sendable (ParkedEvent) -> ParkedEvent?
    ) async throws(EvstoreError) -> Int {
        let known = try parked(of: consumer).map(\.position).filter { position == nil || $0 == position }
        if let position, known.isEmpty { throw .usage("\(consumer) has parked no event at position \(position)") }
        if known.isEmpty { return 0 }
        do {
            try await log.update { update in
                for position in known {
                    let key = ParkedEvent.key(consumer, position)
                    guard let row = try update.get(.notes, key) else { continue }
                    if let changed = change(try ParkedEvent(consumer, key: key, row)) {
                        try update.put(.notes, key, changed.bytes)
                    } else {
                        try update.delete(.notes, key)
                    }
                }
                let what = "\(consumer): \(outcome), \(known.count == 1 ? "position \(known[0])" : "\(known.count) events")"
                try Journal.append(Journal.Entry("consumer", position: update.last.position, outcome: what), to: &update)
            }
        } catch { throw EvstoreError(converting: error, at: path) }
        return known.count
    }
}
