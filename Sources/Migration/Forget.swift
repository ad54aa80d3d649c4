internal import EventLog
package import EventModel
internal import Projections
internal import System

/// What stays of an event line when the personal data of streams is forgotten; nil where nothing of it goes.
package typealias LineRest = @Sendable (RawSpan) throws(EvstoreError) -> [UInt8]?

/// Makes the personal data of streams unreadable: their keys first, then the read models that were made with it.
package enum Forget {
    /// - Parameter rest: what stays of the lines of archives.
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
        // Order: the keys are gone before a read model is built again; some of them where damage hides whose the others are. Whoever was ended in between says it again.
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
        // Order: read models go for what was forgotten before somebody is told of what was not.
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
