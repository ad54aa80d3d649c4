internal import Bytes
internal import EventLog
package import EventModel
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
        let began = ContinuousClock.now
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
