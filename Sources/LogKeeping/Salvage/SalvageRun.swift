internal import Bytes
package import EventLog
public import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Platform
package import Projections
package import SchemaEvolution

/// Makes a store from the undamaged blocks and rows of a damaged one.
package enum SalvageRun {
    /// - Parameters:
    ///   - source: the path of the damaged store's directory, or of a `data.mdb` alone.
    ///   - target: the path of the new store.
    ///   - history: the version files, for a store that has lost its own; `definitions` likewise.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeExists, locked, nothingToSalvage, usage, interrupted.
    package static func run(
        at source: String, into target: String, _ options: Options, history: History? = nil, definitions: DefinitionSet? = nil, _ job: Job
    ) throws(EvstoreError) -> SalvageReport {
        let began = Instant.now
        do {
            var report = try EventLog.salvage(
                at: source, into: target, options: options,
                progress: { step, done, total in
                    try job.advance(step, done: done, total: total)
                },
                unconfirmed: { directory, sealer, lend in
                    try write(lend, sealedBy: sealer, to: "\(directory)/\(SalvageReport.unconfirmedName)")
                },
                finish: { update, rows in
                    try SalvagedCatalogues(rows, history, definitions).put(into: &update, of: source)
                    try Journal.append(
                        .init(
                            .salvage, to: update.state.live, position: update.last.position, duration: began.duration(to: .now),
                            outcome: rows.isRenumbered ? "renumbered" : "done"),
                        to: &update)
                })
            report.duration = began.duration(to: .now)
            return report
        } catch { throw EvstoreError(converting: error, at: target, doing: "salvaging \(source)") }
    }

    /// Reports the damage of a store that can't be opened, and how many events a salvage would copy.
    package static func examine(_ store: String, _ job: Job) throws(EvstoreError) -> VerifyReport {
        try converting {
            try EventLog.examine(at: store) { step, done, total in
                try job.advance(step, done: done, total: total)
            }
        }
    }

    /// Writes events as lines in the form of an archive: each at its birth version.
    private static func write(
        _ lend: ((borrowing RecordView, StreamName, String) throws -> Void) throws -> Void, sealedBy sealer: LineSealer?, to path: String
    ) throws {
        let file = try File(path, .createNew)
        var offset = 0
        var buffer = ByteBuffer(capacity: 1 << 20)
        try lend { record, stream, type in
            let line = EventLine(record, type, stream: stream, epoch: record.epoch)
            try line.write(record, sealedBy: sealer, into: &buffer)
            guard buffer.count >= 1 << 20 else { return }
            try file.write(buffer.bytes, at: offset)
            offset += buffer.count
            buffer.removeAll()
        }
        try file.write(buffer.bytes, at: offset)
        try file.sync()
    }
}

/// Writes the catalogues of a damaged store to the new one: versions and definitions if their digest proves them, other rows if they have
/// the form that this program writes.
private struct SalvagedCatalogues {
    private let rows: SalvagedRows
    private let history: History?
    private let definitions: DefinitionSet?

    init(_ rows: SalvagedRows, _ history: History?, _ definitions: DefinitionSet?) {
        (self.rows, self.history, self.definitions) = (rows, history, definitions)
    }

    func put(into update: inout LogUpdate, of store: String) throws {
        try putVersions(into: &update, of: store)
        for row in rows.catalogues[.journal] ?? [] where isJournal(row) { try update.put(.journal, row.key, row.value) }
        // Snapshots, import marks and the positions of consumers refer to positions, which renumbering has changed.
        if rows.isRenumbered { return }
        try update.takeForgotten(rows.catalogues[.notes] ?? [])
        for row in rows.catalogues[.notes] ?? [] {
            if AcceptedEvent.isSalvaged(row, through: update.last) { try update.put(.notes, row.key, row.value) }
            if let kept = ConsumerRow.salvaged(row, through: update.last) { try update.put(.notes, kept.key, kept.value) }
        }
        for row in rows.catalogues[.snapshots] ?? [] where isSnapshot(row) { try update.put(.snapshots, row.key, row.value) }
        for row in rows.catalogues[.imports] ?? [] where row.key.count == 32 && row.value.count == 48 {
            if row.value.lent.load(UInt64.self, at: 0) <= update.last.position.rawValue { try update.put(.imports, row.key, row.value) }
        }
    }

    private func putVersions(into update: inout LogUpdate, of store: String) throws {
        let (schemas, stored) = (rows.catalogues[.schemas] ?? [], rows.catalogues[.definitions] ?? [])
        let isProven = rows.numbers.map { RegisteredRows.digest(schemas: schemas, definitions: stored) == $0.history } ?? false
        if isProven || history == nil && isSound(schemas, stored, store) {
            for row in schemas { try update.put(.schemas, row.key, row.value) }
            for row in stored { try update.put(.definitions, row.key, row.value) }
            update.state.head = SchemaVersion(schemas.count)
            update.state.history = RegisteredRows.digest(schemas: schemas, definitions: stored)
        } else if let history {
            try RegisteredRows.register(&update, versions: history.versions, definitions: definitions ?? .empty)
        } else {
            throw EvstoreError.usage("\(store) has lost its version files", fix: "name the directory that has them: \(.nameSchemas)")
        }
        if let numbers = rows.numbers, numbers.top <= update.state.head {
            (update.state.floor, update.state.live, update.state.top) = (numbers.floor, numbers.live, numbers.top)
        } else {
            // At the newest birth version every event has an image.
            let live = max(rows.newestBirth, SchemaVersion(1))
            (update.state.floor, update.state.live, update.state.top) = (live, live, live)
        }
        guard update.state.top <= update.state.head, rows.newestBirth <= update.state.head else {
            throw EvstoreError.usage(
                "\(store) has events or read models of \(max(rows.newestBirth, update.state.top))",
                fix: "name a directory that has this version: \(.nameSchemas)")
        }
    }

    /// Whether the versions from 1 on match their digests, and the definitions can be parsed.
    private func isSound(_ schemas: RegisteredRows.Rows, _ definitions: RegisteredRows.Rows, _ store: String) -> Bool {
        do {
            let history = try RegisteredRows.history(schemas, in: store)
            _ = try RegisteredRows.definitions(definitions)
            return !schemas.isEmpty && history.versions.map(\.number.number) == Array(1 ... schemas.count)
        } catch { return false }
    }

    private func isJournal(_ row: (key: [UInt8], value: [UInt8])) -> Bool {
        do { return try row.key.count == 8 && JournalRow(key: row.key, value: row.value).number < 1 << 32 } catch { return false }
    }

    private func isSnapshot(_ row: (key: [UInt8], value: [UInt8])) -> Bool {
        guard let name = String(utf8: row.key.lent) else { return false }
        do {
            _ = try SnapshotReport(name: name, row: row.value)
            return true
        } catch { return false }
    }
}

/// The rows that a salvage has found beside the blocks.
package struct SalvagedRows: Sendable {
    /// The store's versions and the digest over them; nil where they were lost.
    package var numbers: StateStamp?
    package var newestBirth: SchemaVersion
    package var isRenumbered: Bool
    /// Rows with valid checksums; some may be missing.
    package var catalogues: [Catalogue: [(key: [UInt8], value: [UInt8])]]
}

extension EventLog {
    package typealias UnconfirmedEvent = (borrowing RecordView, StreamName, String) throws -> Void

    /// Makes a store from the whole blocks of a damaged one: completely at its path, or not at all. The damaged store is only read, and
    /// without LMDB. If events in between are missing, or a slot holds another key than the one that an event was sealed under, all events
    /// are appended anew to a store with a new id.
    /// - Parameters:
    ///   - source: the path of a store, or of a `data.mdb` alone.
    ///   - unconfirmed: called with the new store's directory, the sealer of lines there (nil where events are not sealed), and a function
    ///     that lends the unconfirmed events.
    ///   - finish: writes further rows, in the transaction that ends the new log.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, storeExists, locked, nothingToSalvage, diskFull.
    package static func salvage(
        at source: String, into target: String, options: Options,
        progress: @escaping (String, UInt64, UInt64) throws -> Void = { _, _, _ in },
        unconfirmed: (String, LineSealer?, (UnconfirmedEvent) throws -> Void) throws -> Void,
        finish: @escaping (inout LogUpdate, SalvagedRows) throws -> Void
    ) throws -> SalvageReport {
        do {
            // Order: checked before the lock is taken, which leaves a hint.
            try LMDBLibrary.require()
            let files = try SalvageSource(source)
            guard try isFree(target) else { throw EvstoreError.storeExists(path: target) }
            let lock = try files.lock()
            defer { withExtendedLifetime(lock) {} }
            let salvage = try Salvage(files, SalvagedKeys.open(beside: files, options), progress)
            guard !salvage.log.blocks.isEmpty || !salvage.log.unconfirmed.isEmpty else {
                throw EvstoreError.nothingToSalvage(path: source)
            }
            return try make(at: target, options) { made in
                try SalvageWriter(salvage, made, options, progress).run(unconfirmed, finish)
            }
        } catch { throw EvstoreError(converting: error, at: target, doing: "salvaging \(source)") }
    }

    /// Examines a log that does not open, without LMDB: which pages and blocks are damaged, and how many events a salvage would copy.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, ioFailure.
    package static func examine(
        at store: String, progress: (String, UInt64, UInt64) throws -> Void = { _, _, _ in }
    ) throws -> VerifyReport {
        do {
            let source = try SalvageSource(store)
            let salvage = try Salvage(source, nil, progress)
            let rows = salvage.remains.checksumTag.map { TableDescriptor.log.rowChecks(of: $0) } ?? [:]
            var findings: [Finding] = []
            if let data = source.data {
                do { _ = try StructuralCheck.run(data, tables: TableDescriptor.log.kinds, rows: rows) } catch let damage
                    as StructureDamage
                {
                    findings.append(Finding(id: "STORE007", message: "the log's own structure is damaged: log/data.mdb, \(damage)"))
                } catch let error as StorageError where error.isDamage {
                    findings.append(Finding(id: "STORE007", message: "the log's own structure is damaged: \(error.message)"))
                }
            } else {
                findings.append(Finding(id: "STORE007", message: "log/data.mdb is missing"))
            }
            let broken = salvage.remains.entries.filter { salvage.places[$0.key]?.rawValue != $0.value }.map(\.value).sorted()
            findings += broken.prefix(findingsMax).map { first in
                Finding(id: "STORE001", position: Position(first), message: "the block that begins here does not hold")
            }
            findings += salvage.log.gaps.prefix(findingsMax).map { gap in
                Finding(
                    id: "STORE002", position: Position(gap.lowerBound),
                    message: "no block holds the positions \(gap.lowerBound) to \(gap.upperBound)")
            }
            let lacksKeys = SalvagedKeys.areMissing(of: salvage)
            let first: Advice = "put the file \(StoreKeys.fileName) of a backup there first; then "
            findings.append(
                Finding(
                    id: "STORE020", severity: .note, message: "\(salvage.events) of \(salvage.log.end) events can be taken out",
                    advice: lacksKeys ? "\(first)\(.salvage(store: store))" : "\(.salvage(store: store))"))
            return VerifyReport(ok: false, findings: findings, laws: [], events: salvage.events)
        } catch { throw EvstoreError(converting: error, at: store, doing: "examining \(store)") }
    }

    private static var findingsMax: Int { 100 }
}

/// The result of a salvage.
public struct SalvageReport: Hashable, Sendable {
    /// The last position of the new store.
    public var position: Position
    public var epoch: Epoch
    /// How many events the new store has.
    public var events: UInt64
    /// Positions of the damaged store for which no event was found. Events after the last known position are unknown.
    public var gaps: [ClosedRange<UInt64>]
    /// Events that may or may not have been committed: they are in `unconfirmed.jsonl` of the new store, not in its log.
    public var unconfirmed: UInt64
    /// Streams whose names were lost: each is called `lost:` and the position of its first event.
    public var lostNames: [String]
    /// Tables other than the events whose newest rows may be missing, such as `journal` or `imports`.
    public var lostRows: [String]
    /// Whether the newest commit is known. If it is not, that commit may have discarded some of these events by a cut, or added events that
    /// are missing here.
    public var endKnown: Bool
    /// Whether the events have new positions, in a store with a new id. They do if events in between are missing, or if a slot holds
    /// another key than the one that an event was sealed under.
    public var renumbered: Bool
    /// Streams of a sealed store with a damaged key for personal data: the new store has their events as if they had been forgotten.
    public var lostKeys: [LostKey]
    /// Events of a sealed store that were found and can't be opened. They are not in the new store; those that were committed are among the
    /// gaps.
    public var unopened: UInt64
    /// The numbers of the missing data keys that those events were sealed under.
    public var dataKeys: [UInt32]
    public var bytesScanned: UInt64
    /// How long it took.
    public var duration = Duration.zero

    /// Whether no event, name, row or key is known to be lost or in doubt.
    public var isComplete: Bool {
        gaps.isEmpty && unconfirmed == 0 && lostNames.isEmpty && lostRows.isEmpty && endKnown && lostKeys.isEmpty && unopened == 0
    }

    /// The file of unconfirmed events, in the new store's directory.
    public static let unconfirmedName = "unconfirmed.jsonl"
}

/// A stream whose personal data a salvage could not read.
public struct LostKey: Hashable, Sendable {
    public var stream: String
    /// How many events have lost their personal data.
    public var events: UInt64
}
