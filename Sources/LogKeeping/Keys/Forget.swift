internal import EventLog
package import EventModel
package import Migration
internal import Projections
internal import System

/// What stays of an event line when the personal data of streams is forgotten; nil where nothing of it goes.
package typealias LineRest = @Sendable (RawSpan) throws(EvstoreError) -> [UInt8]?

/// Makes the personal data of streams unreadable: their keys first, then the read models that were made with it.
package enum Forget {
    /// - Parameter rest: returns what stays of a line of an archive.
    /// - Throws: `EvstoreError`: keysRefused where the store has no keys, migrationInProgress.
    package static func run(
        _ site: MigrationSite, _ streams: [StreamName], rest: @escaping LineRest
    ) async throws(EvstoreError) -> ForgetReport {
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        var report = ForgetReport()
        var failure: EvstoreError?
        var forgotten: [Forgotten] = []
        for stream in streams where failure == nil {
            do throws(EvstoreError) {
                guard let done = try migrating({ try site.log.forget(stream) }) else {
                    report.unknown.append(stream)
                    continue
                }
                forgotten.append(done)
                if done.isNew { report.forgotten.append(stream) } else { report.before.append(stream) }
            } catch { failure = error }
        }
        // Order: the keys are overwritten before a read model is built again, as far as damage does not hide whose they are. A process that
        // is killed in between is followed by another call of `forget`.
        if !report.forgotten.isEmpty || !report.before.isEmpty || failure?.isOfDamage == true {
            let (noted, ledger) = (report, forgotten)
            try await migrating {
                try await site.log.update { update in
                    update.state.generations = [:]
                    try update.note(ledger)
                    let outcome = "\(noted.forgotten.count) forgotten, \(noted.before.count) before"
                    try Journal.append(.init("forget", position: update.last.position, outcome: outcome), to: &update)
                }
            }
            report.readModels = try GenerationSweep.run(site, keepingReady: [])
        }
        // Order: the read models of what was forgotten are removed before the error for the rest is thrown.
        if let failure { throw failure }
        (report.lines, report.archives) = try await migrating { try await SealedLineFiles(site, rest).forget() }
        try migrating {
            report.inUse = try Scratch.sweep(site)
            report.fileSystem = try FileSystem.keeping(site.store)
        }
        return report
    }
}

extension EvstoreError {
    fileprivate var isOfDamage: Bool {
        switch self {
        case .storeDamaged, .corruptBlock: true
        default: false
        }
    }
}
