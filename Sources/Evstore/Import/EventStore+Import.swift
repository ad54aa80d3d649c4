internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections

extension EventStore {
    /// Appends event lines (this product's or CloudEvents 1.0), born at `version` unless a line names another; never appends a line twice.
    ///
    /// A file is validated completely before anything is appended. Lines of a pipe that come before a bad line stay appended. To finish an
    /// interrupted import, call it again with the same input. Lines that an earlier import refused and left out are checked again: those
    /// that are valid now are appended, and the others are refused again.
    ///
    /// Waits for its turn, since a store runs one import at a time, and then for as many appends as the input needs. Several of the store's
    /// threads check the lines.
    /// - Parameters:
    ///   - source: a file, or an open descriptor such as 0 for standard input, which the import does not close.
    ///   - version: the birth version of a line that names none. Version 0 takes each line as data from before versions existed.
    ///   - options: how refused and repeated lines are treated, and whether anything is appended; by default the first refused line ends
    ///     the import.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing. `done` counts lines, and `total`
    ///     is 0 until all of them are checked.
    ///   - stopped: is called with the report of what was done where an error ends the import after it has appended events, which stay, or
    ///     has checked lines that an earlier import left out.
    /// - Throws: `EvstoreError`: refusedLine, or refusedElement with `each`, at the first refused one where `onError` is `stop`; usage
    ///   where the input can't be read, is compressed, or is too large for one document; locked where another import did not end within
    ///   `Options.appendDeadline`; ioFailure where the input changes while it is read; epochChanged where a cut has taken off what this or
    ///   an earlier import of the input has appended: import it again; diskFull, interrupted.
    public func importLines(
        from source: ImportSource, as version: SchemaVersion, options: ImportOptions = .init(),
        progress: ProgressHandler? = nil, stopped: ((ImportReport) -> Void)? = nil
    ) async throws(EvstoreError) -> ImportReport {
        if isReadOnly, !options.dryRun { throw .readOnly(path: path) }
        if !options.dryRun { try log.requireOwn() }
        let rules = AppendRules(version: version, takesOld: true, enforcesStream: !options.takesAnyStream)
        return try await working("import \(source.name)", progress) { (context) async throws(EvstoreError) in
            let importer = try Importer(self, ImportRequest(source: source, rules: rules, options: options, job: context.job))
            do throws(EvstoreError) { try await importer.run() } catch {
                var report = importer.outcome
                if !importer.isAppending { report.added = 0 }
                if importer.isAppending || report.leftOut > 0 { stopped?(report) }
                throw error
            }
            return importer.outcome
        }
    }

    /// The number of threads that check the events of an append or an import, and that write the lines of an export.
    var jobs: Int { Processors.threads(options.replayJobs) }

    /// The marks of all earlier imports.
    func importMarks() throws(EvstoreError) -> [ImportMark] {
        guard let marks = ImportMark.all(in: try log.reading { try $0.rows(.imports) }) else {
            throw .storeDamaged(path: path, reason: "a mark of an import is malformed")
        }
        return marks
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

    /// Writes rows of a mark without an append. An existing row stays, as with an append.
    func leave(_ rows: [AttachedRow], asOf seen: Checkpoint?) async throws(EvstoreError) {
        try await log.changing { update in
            if let seen { try update.requireUncut(seen) }
            var position = ByteBuffer(capacity: 8)
            position.append(littleEndian: update.last.position.rawValue)
            for row in rows where try update.get(.imports, row.key) == nil {
                try update.put(.imports, row.key, position.array() + row.value)
            }
        }
    }
}
