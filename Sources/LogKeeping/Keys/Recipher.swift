internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
package import Migration
internal import Platform
internal import Projections
package import Sealing

/// Makes another store with a store's events, under new keys or unsealed.
package enum Recipher {
    /// - Parameter secret: opens the new store; nil makes one whose events are not sealed.
    /// - Throws: `EvstoreError`: storeExists, epochChanged (run it again), verificationFailed, diskFull, interrupted.
    package static func run(
        _ context: MigrationContext, into store: String, secret: StoreSecret?, suite: CipherSuite
    ) throws(EvstoreError) -> RecipherReport {
        let began = Instant.now
        // A `forget` during the copy would not reach the new store.
        let lock = try MigrationLock.takeForReading(context)
        defer { lock.release() }
        let summary = try converting {
            try context.log.recipher(
                into: store, secret: secret, suite: suite.sealing,
                progress: { done, total in
                    try context.job.advance("recipher", done: done.rawValue, total: total.rawValue)
                },
                finish: { update in
                    // The new store builds its read models from the log.
                    update.state.generations = [:]
                    try relink(context.log, &update)
                    let duration = began.duration(to: .now)
                    try Journal.append(
                        .init(.recipher, to: update.state.live, position: update.last.position, duration: duration), to: &update)
                })
        }
        return RecipherReport(
            position: summary.last.position, content: summary.content.hex, bytes: summary.bytes,
            duration: began.duration(to: .now))
    }

    /// Gives each snapshot the new log's link at its position. A snapshot whose link the old log no longer has stays as it was.
    private static func relink(_ log: EventLog, _ update: inout LogUpdate) throws {
        for row in try update.rows(.snapshots) {
            var snapshot = try SnapshotReport(name: String(decoding: row.key, as: UTF8.self), row: row.value)
            let link = try log.read { reader in try reader.link(at: snapshot.position) }
            guard link?.hex == snapshot.link, let made = try update.link(at: snapshot.position) else { continue }
            snapshot.link = made.hex
            try update.put(.snapshots, row.key, snapshot.row)
        }
    }
}

extension EventLog {
    /// Makes another store with the same events under other keys, or unsealed: it has equal content, positions and epochs, but an id and a
    /// hash chain of its own. Appends may go on meanwhile; the summary has the last copied event.
    /// - Parameters:
    ///   - secret: opens the new store's keys; nil makes a store whose events are not sealed.
    ///   - finish: writes further rows, in the transaction that ends the new log.
    /// - Throws: `EvstoreError`: storeExists, epochChanged, corruptBlock, verificationFailed, diskFull.
    package func recipher(
        into target: String, secret: StoreSecret?, suite: Suite = .gcm, progress: (Position, Position) throws -> Void = { _, _ in },
        finish: (inout LogUpdate) throws -> Void = { _ in }
    ) throws -> RestoreSummary {
        var own = options
        own.secret = secret
        return try Self.make(at: target, own) { [own] made in
            let log = try LogBuilder(at: made, .make(), own, secret.map { .made($0, suite) })
            defer { log.close() }
            return try Reciphering(self, log, own).run(progress, finish)
        }
    }
}

private struct Reciphering {
    /// The part of the state that is copied before each transaction, since a transaction may run again.
    private struct State {
        var next = Position(1)
        var link: Digest
        var epoch = Epoch.first
        /// Where each later epoch with blocks begins.
        var cuts: [(epoch: Epoch, at: Position, link: Digest)] = []
    }

    /// The rows of the other tables, read in one transaction.
    private struct OtherTables {
        var state: StoreState
        var epochs: [Checkpoint]
        var types: [TypeID: String]
        var rows: [Catalogue: [(key: [UInt8], value: [UInt8])]] = [:]
    }

    private let source: EventLog
    private let log: LogBuilder
    private let options: Options
    private let writing: Writing

    init(_ source: EventLog, _ log: LogBuilder, _ options: Options) {
        (self.source, self.log, self.options) = (source, log, options)
        writing = Writing(log.access)
    }

    func run(_ progress: (Position, Position) throws -> Void, _ finish: (inout LogUpdate) throws -> Void) throws -> RestoreSummary {
        var state = State(link: Epochs.genesis(log.access.storeID))
        var others: OtherTables?
        while others == nil {
            let last = try source.read { $0.last.position }
            if last >= state.next { try fill(&state, through: last, progress) }
            others = try otherTables(asOf: state.next)
        }
        guard let others else { throw EvstoreError.misuse("a recipher without an end") }
        try log.access.keys?.subjects.flush()
        try log.put(types: others.types)
        try log.put(epochs: epochs(others, state))
        let last = try log.finish({ try progress(state.next, state.next) }) { update in
            try put(others, into: &update)
            try update.cut(to: update.last.position, later: .fromClock)
            try finish(&update)
        }
        var (shown, content) = (ContentHasher(hashesShownPayloads: true), ContentHasher())
        try log.access.scan(options, through: last.position) { block in
            try shown.add(block, log.access.names)
            try content.add(block, log.access.names)
        }
        var before = ContentHasher(hashesShownPayloads: true)
        try source.access.scan(source.options, through: last.position) { try before.add($0, source.access.names) }
        guard shown.finalize() == before.finalize() else {
            throw EvstoreError.verificationFailed(reason: "the new store holds other events")
        }
        let bytes = UInt64(try Directory.status(log.access.environment.directory + "/data.mdb")?.bytes ?? 0)
        return RestoreSummary(
            last: last, backup: Checkpoint(epoch: others.state.epoch, position: last.position), content: content.finalize(), bytes: bytes)
    }

    // MARK: Blocks

    private func fill(_ state: inout State, through last: Position, _ progress: (Position, Position) throws -> Void) throws {
        try log.fill(&state) { state, put in
            try source.read { reader in
                try reader.blocks(from: state.next) { block in
                    guard block.first == state.next else {
                        throw EvstoreError.epochChanged(seen: Checkpoint(epoch: state.epoch, position: state.next), cut: reader.last)
                    }
                    try copy(block, &state, put)
                    return false
                }
            }
            try progress(state.next.previous, last)
            return state.next <= last
        }
    }

    private func copy(_ block: borrowing BlockView, _ state: inout State, _ put: BlockWriter.BlockSink) throws {
        if block.epoch > state.epoch {
            let at = block.first.previous
            state.cuts.append((block.epoch, at, state.link))
            (state.link, state.epoch) = (Epochs.link(block.epoch, cut: at, link: state.link), block.epoch)
        }
        state.link = try writing.write(block, after: state.link, of: source, put)
        state.next = block.last.next
    }

    /// Holds the writer, whose buffers are reused.
    private final class Writing {
        private var writer: BlockWriter

        init(_ access: LogAccess) { writer = BlockWriter(access) }

        /// Writes the records of a block at their positions, in several blocks if they are larger now.
        func write(
            _ block: borrowing BlockView, after link: Digest, of source: EventLog, _ put: BlockWriter.BlockSink
        ) throws -> Digest {
            writer.begin(block.epoch, first: block.first, link: link, time: block.time)
            for index in 0 ..< block.count {
                let record = block.record(index)
                let event = StoredEvent(copying: record, of: try name(of: record, source), source.name(ofType: record.type))
                let place = BlockWriter.AssignedFields(
                    type: record.type, isSameAppend: record.continuesAppend, madeID: record.idGiven ? nil : record.id.uuid,
                    stream: record.streamID, revision: record.revision.rawValue, previous: record.previous.rawValue,
                    jump: record.jump.rawValue)
                try writer.add([event].span, 0, place, put)
            }
            try writer.finish(put)
            return writer.lastLink
        }

        /// The stream's name for its first event, which contains it, and for personal data, whose key depends on it; else an empty name.
        private func name(of record: borrowing RecordView, _ source: EventLog) throws -> StreamName {
            if let name = record.streamName { return name }
            guard record.isPersonal else { return StreamName(unchecked: "") }
            let id = record.streamID
            return try source.read { try $0.name(ofStream: id) }
        }
    }

    // MARK: Other tables

    /// The other tables; nil where events were appended meanwhile.
    private func otherTables(asOf next: Position) throws -> OtherTables? {
        try source.read { reader in
            guard reader.last.position.next == next else { return nil }
            var others = OtherTables(
                state: try reader.state, epochs: try reader.cuts(), types: try Indexes.types(reader.transaction, reader.access.tables))
            for catalogue in Catalogue.allCases { others.rows[catalogue] = try reader.rows(catalogue) }
            return others
        }
    }

    /// An epoch without blocks gets any link, since nothing refers to it.
    private func epochs(_ others: OtherTables, _ state: State) -> [(epoch: Epoch, at: Position, link: Digest)] {
        others.epochs.map { row in state.cuts.first { $0.epoch == row.epoch } ?? (row.epoch, row.position, Digest.zero) }
    }

    private func put(_ others: OtherTables, into update: inout LogUpdate) throws {
        let state = others.state
        update.state.epoch = state.epoch
        (update.state.numbers, update.state.history) = (state.numbers, state.history)
        for (catalogue, rows) in others.rows {
            // The ledger names keys of the old store: under the new ones nothing was forgotten.
            for row in rows where catalogue != .notes || !ForgottenLedger.has(row.key) { try update.put(catalogue, row.key, row.value) }
        }
    }
}

extension StoredEvent {
    /// The event of a record that is written anew. An id that the store had made is not its own: it is kept through
    /// `BlockWriter.AssignedFields.madeID`, so that it does not count as given by a caller.
    init(copying record: borrowing RecordView, of stream: StreamName, _ type: String) {
        let isMade = !record.idGiven && record.id.uuid != nil
        self.init(
            stream: stream, type: type, born: record.born, payload: [UInt8](copying: record.payload),
            metadata: [UInt8](copying: record.metadata), id: isMade ? nil : record.id, time: record.time)
        shadow = [UInt8](copying: record.shadow)
        if record.isPersonal, !record.isForgotten { forgotten = [UInt8](copying: record.stays) }
    }
}

extension LogAccess {
    /// Lends the decrypted blocks of a log under construction or a copied one, up to a position or the log's end, in short read
    /// transactions.
    func scan(_ options: Options, through last: Position? = nil, _ body: (borrowing BlockView) throws -> Void) throws {
        var scan = LogScan(self, options, after: .start, through: last)
        while try environment.read({ transaction in
            try scan.runChunk(transaction) { block in
                try body(block)
                return true
            }
        }) {}
    }
}
