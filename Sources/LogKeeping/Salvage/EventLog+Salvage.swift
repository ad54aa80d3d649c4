internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Projections

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
            var report: SalvageReport?
            try make(at: target, options) { made in
                let writing = try SalvageWriter(salvage, made, options, progress)
                report = try writing.run(unconfirmed, finish)
            }
            guard let report else { throw EvstoreError.misuse("a salvage ended without its result") }
            return report
        } catch { throw EvstoreError(converting: error, at: target, doing: "salvaging \(source)") }
    }
}

extension EventLog {
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
            findings.append(
                Finding(
                    id: "STORE020", severity: .note, message: "\(salvage.events) of \(salvage.log.end) events can be taken out",
                    advice: "\(.salvage(store: store))"))
            return VerifyReport(ok: false, findings: findings, laws: [], events: salvage.events)
        } catch { throw EvstoreError(converting: error, at: store, doing: "examining \(store)") }
    }

    private static var findingsMax: Int { 100 }
}
