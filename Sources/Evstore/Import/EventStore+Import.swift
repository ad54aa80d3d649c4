internal import EventLog
internal import EventModel
internal import Glibc
internal import Hashing
internal import Projections

extension EventStore {
    /// Appends event lines (this product's or CloudEvents 1.0) born at `version` unless a line says otherwise; never one twice.
    ///
    /// A file is validated whole before anything is appended; of a pipe, what came before a bad line stays.
    /// - Throws: `EvstoreError.refusedLine` at the first line that is refused, where `onError` is `stop`.
    public func importLines(
        from source: ImportSource, as version: SchemaVersion, options: ImportOptions = .init(), cancellation: Cancellation? = nil,
        progress: Progress? = nil
    ) async throws(EvstoreError) -> ImportReport {
        if isReadOnly, !options.dryRun { throw .readOnly(path: path) }
        let rules = DoorRules(version: version, takesOld: true, enforcesStream: false)
        let importer = try Importer(
            self, from: source, rules: rules, options: options, cancellation: cancellation, progress: progress)
        return try await importer.run()
    }

    /// Chunks of an import that are checked side by side.
    var jobs: Int { max(1, options.replayJobs ?? sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The marks of all earlier imports.
    func importMarks() throws(EvstoreError) -> [ImportMark] {
        try converting(at: path) {
            try log.read { reader in
                try reader.rows(.imports).map { row in
                    guard let mark = ImportMark(key: row.key, value: row.value) else {
                        throw EvstoreError.storeDamaged(path: path, reason: "a mark of an import is malformed")
                    }
                    return mark
                }
            }
        }
    }

    /// Leaves a mark where there was nothing to append with it.
    func leave(_ mark: ImportMark) async throws(EvstoreError) {
        do {
            try await log.update { update in
                try update.put(.imports, mark.hash.bytes, mark.value(at: update.last.position))
            }
        } catch { throw EvstoreError(converting: error, at: path) }
    }
}
