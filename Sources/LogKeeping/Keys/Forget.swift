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
        // Two of the streams may have had one name in turn, and with it one key.
        var seen: Set<StreamName> = []
        let names = streams.flatMap(\.keyNames).filter { seen.insert($0).inserted }
        var done: Set<StreamName> = []
        var forgotten: [StreamName: ForgottenSubject] = [:]
        do throws(EvstoreError) {
            try converting(nil, at: nil) {
                try context.log.forget(names) { name, subject in
                    done.insert(name)
                    forgotten[name] = subject
                }
            }
        } catch { failure = error }
        for stream in streams where done.isSuperset(of: stream.keyNames) {
            let subjects = stream.keyNames.compactMap { forgotten[$0] }
            if subjects.isEmpty {
                report.unknown.append(stream.name)
            } else if subjects.contains(where: \.isNew) {
                report.forgotten.append(stream.name)
            } else {
                report.before.append(stream.name)
            }
        }
        // Order: the keys are overwritten before a read model is built again. If damage hides some keys, or the disk fails, the read models are
        // removed nevertheless. If the process is killed in between, another call of `forget` does the rest.
        if !forgotten.isEmpty || failure?.mayFollowOverwriting == true {
            let (noted, ledger) = (report, names.compactMap { forgotten[$0] })
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
    /// Whether some keys may be overwritten although the call failed.
    fileprivate var mayFollowOverwriting: Bool {
        switch self {
        case .keysRefused, .readOnly, .usage, .deadlinePassed, .interrupted: false
        default: true
        }
    }
}
