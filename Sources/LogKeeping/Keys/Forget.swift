internal import EventLog
package import EventModel
package import Migration
internal import Platform
internal import Projections

/// Returns an event line without the personal data of the forgotten streams; nil where the line has none.
package typealias LineRedaction = @Sendable (RawSpan) throws(EvstoreError) -> [UInt8]?

/// A stream whose personal data is to be forgotten.
package struct ForgottenStream: Sendable {
    /// Its name in the report.
    package var name: StreamName
    /// The names under which there may be keys for its data.
    package var keyNames: [StreamName]

    package init(name: StreamName, keyNames: [StreamName]) { (self.name, self.keyNames) = (name, keyNames) }
}

/// Makes the personal data of streams unreadable: overwrites their keys, then removes the read models that show it.
package enum Forget {
    /// - Parameter redact: called for each line of an archive.
    /// - Throws: `EvstoreError`: keysRefused where the store has no keys, migrationInProgress.
    package static func run(
        _ context: MigrationContext, _ streams: [ForgottenStream], redact: @escaping LineRedaction
    ) async throws(EvstoreError) -> ForgetReport {
        let lock = try MigrationLock.take(context)
        defer { lock.release() }
        var report = ForgetReport()
        var failure: EvstoreError?
        var forgotten: [ForgottenSubject] = []
        // Two of the streams may have had one name in turn, and with it one key.
        var newNames: Set<StreamName> = []
        for stream in streams where failure == nil {
            do throws(EvstoreError) {
                var isNew: Bool?
                for name in stream.keyNames {
                    guard let done = try converting(nil, at: nil, { try context.log.forget(name) }) else { continue }
                    forgotten.append(done)
                    if done.isNew { newNames.insert(name) }
                    isNew = newNames.contains(name) || isNew == true
                }
                switch isNew {
                case true?: report.forgotten.append(stream.name)
                case false?: report.before.append(stream.name)
                case nil: report.unknown.append(stream.name)
                }
            } catch { failure = error }
        }
        // Order: the keys are overwritten before a read model is built again. If damage hides some keys, the read models are removed
        // nevertheless. If the process is killed in between, another call of `forget` does the rest.
        if !forgotten.isEmpty || failure?.isOfDamage == true {
            let (noted, ledger) = (report, forgotten)
            try await context.log.changing { update in
                update.state.generations = [:]
                try update.note(ledger)
                let outcome = "\(noted.forgotten.count) forgotten, \(noted.before.count) before"
                try Journal.append(.init(.forget, position: update.last.position, outcome: outcome), to: &update)
            }
            report.readModels = try GenerationSweep.run(context, keepingReady: [])
        }
        // Order: the read models of the forgotten streams are removed before the error for the rest is thrown.
        if let failure { throw failure }
        (report.lines, report.archives) = try await awaiting { try await SealedLineFiles(context, redact).forget() }
        try converting {
            report.inUse = try ScratchDirectory.sweep(context)
            report.fileSystem = try FileSystem.keeping(context.store)
        }
        return report
    }

    /// Lends each line of the files of event lines beside the log, opened; lines that can't be opened are left out.
    package static func archived(_ context: MigrationContext, _ body: (RawSpan) throws(EvstoreError) -> Void) throws(EvstoreError) {
        try converting { try SealedLineFiles(context, { _ throws(EvstoreError) in nil }).forEachOpenLine(body) }
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
