internal import EventLog
package import EventModel
internal import LMDB
internal import Projections

/// Makes the personal data of streams unreadable: their keys first, then the read models that were made with it.
package enum Forget {
    /// - Throws: `EvstoreError`: keysRefused where the store has no keys, migrationInProgress.
    package static func run(_ site: MigrationSite, _ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        var report = ForgetReport()
        var failure: EvstoreError?
        for stream in streams where failure == nil {
            do throws(EvstoreError) {
                switch try migrating({ try site.log.forget(stream) }) {
                case true?: report.forgotten.append(stream)
                case false?: report.before.append(stream)
                case nil: report.unknown.append(stream)
                }
            } catch { failure = error }
        }
        // Order: the keys are gone before a read model is built again; some of them where damage hides whose the others are. Whoever was ended in between says it again.
        if !report.forgotten.isEmpty || !report.before.isEmpty || failure?.isOfDamage == true {
            let told = report
            try await migrating {
                try await site.log.update { update in
                    update.state.generations = [:]
                    let outcome = "\(told.forgotten.count) forgotten, \(told.before.count) before"
                    try Journal.append(.init("forget", position: update.last.position, outcome: outcome), to: &update)
                }
            }
            report.readModels = try GenerationSweep.run(site, keepingReady: [])
        }
        // Order: read models go for what was forgotten before somebody is told of what was not.
        if let failure { throw failure }
        try migrating {
            let archive = "\(site.store)/archive"
            if try Directory.status(archive) != nil {
                report.archives = try Directory.names(archive).filter { !$0.hasSuffix(".json") }.sorted()
            }
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
