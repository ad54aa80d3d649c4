internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections

extension EventStore {
    /// Appends event lines (this product's or CloudEvents 1.0), born at `version` unless a line names another; never appends a line twice.
    ///
    /// A file is validated completely before anything is appended. Lines of a pipe that come before a bad line stay appended. To finish an
    /// interrupted import, call it again with the same input.
    ///
    /// Waits for its turn, since a store runs one import at a time, and then for as many appends as the input needs. Several of the store's
    /// threads check the lines.
    /// - Parameter stopped: is called with the report of what was appended where an error ends the import; these events stay.
    /// - Throws: `EvstoreError`: refusedLine at the first refused line, where `onError` is `stop`; locked where another import did not end
    ///   within `Options.appendDeadline`; ioFailure where the input changes while it is read; diskFull, interrupted.
    public func importLines(
        from source: ImportSource, as version: SchemaVersion, options: ImportOptions = .init(),
        progress: ProgressHandler? = nil, stopped: ((ImportReport) -> Void)? = nil
    ) async throws(EvstoreError) -> ImportReport {
        if isReadOnly, !options.dryRun { throw .readOnly(path: path) }
        if !options.dryRun { try log.requireOwn() }
        let rules = AppendRules(version: version, takesOld: true, enforcesStream: !options.takesAnyStream)
        return try await Evstore.working("import \(source.name)", progress) { (job) async throws(EvstoreError) in
            let importer = try Importer(self, ImportRequest(source: source, rules: rules, options: options, job: job))
            do throws(EvstoreError) { return try await importer.run() } catch {
                if importer.isAppending { stopped?(importer.report) }
                throw error
            }
        }
    }

    /// The number of threads that check the events of an append or an import, and that write the lines of an export.
    var jobs: Int { max(1, options.replayJobs ?? Processors.count) }

    /// The marks of all earlier imports.
    func importMarks() throws(EvstoreError) -> [ImportMark] {
        try log.reading { reader in
            try reader.rows(.imports).map { row in
                guard let mark = ImportMark(key: row.key, value: row.value) else {
                    throw EvstoreError.storeDamaged(path: path, reason: "a mark of an import is malformed")
                }
                return mark
            }
        }
    }

    /// The number of marks, and the epoch: both stay the same only where no other import has written a mark and no cut has removed one.
    func importMarksCount() throws(EvstoreError) -> (marks: Int, epoch: Epoch) {
        try log.reading { reader in (try reader.count(.imports), reader.last.epoch) }
    }

    /// Takes the lock of imports; waits for another import as long as an append would wait.
    /// - Throws: `EvstoreError.locked`, which names the other one.
    func importLock(_ name: String, _ job: Job) async throws(EvstoreError) -> HeldLock {
        let end = ContinuousClock.Instant.within(options.appendDeadline)
        while true {
            do { return try StoreLock.importing.acquire(at: path, what: "imports \(name)") } catch {
                let failure = EvstoreError(converting: error, at: path)
                guard case .locked = failure, ContinuousClock.now < end else { throw failure }
            }
            do { try await Task.sleep(for: .milliseconds(20)) } catch {}
            try job.check()
        }
    }

    /// Writes a mark without an append. An existing mark of this hash stays, as with an append.
    func leave(_ mark: ImportMark) async throws(EvstoreError) {
        try await log.changing { update in
            if try update.get(.imports, mark.hash.bytes) != nil { return }
            try update.put(.imports, mark.hash.bytes, mark.value(at: update.last.position))
        }
    }
}
