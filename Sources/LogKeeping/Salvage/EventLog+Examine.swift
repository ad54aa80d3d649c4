package import EventLog
internal import EventModel
internal import LMDB
internal import Platform
internal import Projections

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
