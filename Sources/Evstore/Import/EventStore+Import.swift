internal import Bytes
internal import EventLog
public import EventModel
internal import Migration
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
            let importer = try Importer(self, source, rules, options, context.job)
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

    func importMarks() throws(EvstoreError) -> [ImportMark] {
        guard let marks = ImportMark.all(in: try log.reading { try $0.rows(.imports) }) else {
            throw .storeDamaged(path: path, reason: "a mark of an import is malformed")
        }
        return marks
    }

    /// Takes the lock of imports; waits for another import as long as an append would wait.
    /// - Throws: `EvstoreError.locked`, which names the other one.
    func importLock(_ name: String, _ job: Job) async throws(EvstoreError) -> HeldLock {
        let end = Instant.within(options.appendDeadline)
        while true {
            do { return try StoreLock.importing.acquire(at: path, what: "imports \(name)") } catch {
                let failure = EvstoreError(converting: error, at: path)
                guard case .locked = failure, Instant.now < end else { throw failure }
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

/// Where an import reads from.
public enum ImportSource: Sendable, Hashable {
    case file(String)
    /// An open file descriptor, such as 0 for standard input; the import does not close it.
    case descriptor(Int32)
}

/// How an import treats its lines.
public struct ImportOptions: Sendable, Hashable {
    /// A JSON pointer to the list of events, where the input is one JSON document; nil where it is lines.
    public var each: String?
    /// Whether a line that is refused stops the import or is listed.
    public var onError: FailureRule
    /// Checks everything and appends nothing.
    public var dryRun: Bool
    /// Whether a line whose id is in the store is refused where its content differs.
    public var sameID: SameID
    /// Whether to append lines again that an earlier import of the same input has appended. Where such an import was interrupted, or a line
    /// of a pipe was refused, a further one appends the lines before once more: nothing tells its lines from those of the earlier one.
    public var again: Bool
    /// Whether to append events to streams that their types' templates do not name; the report counts them.
    public var takesAnyStream: Bool

    public init(
        each: String? = nil, onError: FailureRule = .stop, dryRun: Bool = false, sameID: SameID = .mustMatch, again: Bool = false,
        takesAnyStream: Bool = false
    ) {
        (self.each, self.onError, self.dryRun, self.sameID, self.again) = (each, onError, dryRun, sameID, again)
        self.takesAnyStream = takesAnyStream
    }
}

/// A line that was refused and why.
public struct RefusedLine: Hashable, Sendable {
    /// The number of the line, from 1.
    public var line: UInt64
    /// The number of the element that begins in this line, from 1, where the input is a document.
    public var element: UInt64?
    /// Why it was refused.
    public var error: EvstoreError
}

/// What an import did.
public struct ImportReport: Hashable, Sendable {
    /// Lines that hold an event, refused ones included.
    public var read: UInt64 = 0
    /// Lines that were appended, or in a dry run would be.
    public var added: UInt64 = 0
    /// Lines that are in the store already: an earlier import appended them, or their id is there.
    public var skipped: UInt64 = 0
    /// The part of `skipped` whose id is in the store, or in an earlier line.
    public var repeated: UInt64 = 0
    /// Lines that an earlier import refused and left out: they were checked again, and are among the added, skipped or refused ones.
    public var leftOut: UInt64 = 0
    /// Lines that were refused and did not stop the import.
    public var quarantined: UInt64 = 0
    /// The last position of the log.
    public var position: Position = .start
    /// Events whose stream is not the one that the type's template names; they are appended where `takesAnyStream` is set.
    public var streamMismatches: UInt64 = 0
    /// What adoption makes of the added lines that are from before versions existed; nil where none is.
    public var adoption: AdoptionReport?
    /// The first refused lines, at most `refusedMax`.
    public var refused: [RefusedLine] = []

    /// The first added lines that no case of `adopt` fits, at most `refusedMax`: they are stored as they came, and quarantined.
    public var unadopted: [RefusedLine] = []

    public static let refusedMax = 1_000

    public init() {}

    mutating func add(_ chunk: CheckedChunk) {
        added += chunk.plain + UInt64(chunk.lines.count)
        for index in chunk.lines.indices {
            guard let adopted = chunk.lines[index].adopted else { continue }
            adoption = adoption ?? AdoptionReport()
            adoption?.add(adopted.report)
            guard let failure = adopted.failure, unadopted.count < Self.refusedMax else { continue }
            unadopted.append(RefusedLine(line: chunk.lines[index].line, error: failure))
        }
    }

    mutating func note(_ lines: [RefusedLine]) {
        quarantined += UInt64(lines.count)
        refused += lines.prefix(max(0, Self.refusedMax - refused.count))
    }

    /// Forgets what a check has counted, but for the refused lines, which are not read again.
    mutating func beginAgain() {
        (read, added, skipped, repeated, leftOut) = (0, 0, 0, 0, 0)
        (adoption, unadopted) = (nil, [])
    }
}

/// The events of some lines, and the conditions that the lines put on their streams.
public struct EventLines: Sendable, Hashable {
    public var events: [NewEvent]
    /// One condition for each line that has `expect`: the expected state of its stream before the append.
    public var conditions: [StreamCondition]
    /// The name of the source of the lines, and the number of the line of each event and of each condition: for errors.
    let file: String?
    var numbers: [UInt64] = []
    var conditionNumbers: [UInt64] = []
}

extension EventStore {
    /// Parses event lines (this product's or CloudEvents 1.0) into events to append, on the calling thread; empty lines are skipped.
    ///
    /// An event whose line names no stream gets the one that its type's template names.
    /// - Parameters:
    ///   - text: UTF-8 with one JSON object on each line; the last line needs no line feed.
    ///   - file: the name that an error gives for the source of the lines.
    ///   - version: the birth version of an event whose line names none; the working version where nil.
    /// - Throws: `EvstoreError`: refusedLine at the first line that is not an event, or has `expect`; usage where the text is compressed or
    ///   not UTF-8.
    public func events(
        ofLines text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> [NewEvent] {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source)).events
    }

    /// Parses event lines for one append, as `events(ofLines:)` does, with their conditions: a line may have `expect`, which is a revision,
    /// `"none"`, `"exists"` or `"any"`, and states the expected state of its stream before the append.
    ///
    /// No two lines may give one id.
    ///
    /// Blocks the calling thread while it parses the lines, some microseconds each.
    /// - Throws: `EvstoreError`: refusedLine at the first line that is not an event, or gives an id again; usage as `events(ofLines:)`.
    public func eventLines(
        _ text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> EventLines {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source, takesExpectations: true))
    }

    /// Appends the events of lines together. Waits and throws as `append(_:conditions:unless:sameID:)` does, but an error that one line causes is
    /// a `refusedLine` that names it.
    @discardableResult
    public func append(
        _ lines: EventLines, unless queries: [AppendCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        do throws(EvstoreError) {
            return try await append(lines.events, conditions: lines.conditions, unless: queries, sameID: sameID)
        } catch {
            guard let line = await line(of: error, in: lines) else { throw error }
            throw .refusedLine(line, file: lines.file, error)
        }
    }

    /// The line that causes the error of an append; nil where it is not one line's.
    private func line(of error: EvstoreError, in lines: EventLines) async -> UInt64? {
        var (index, numbers): (Int?, [UInt64]) = (nil, lines.numbers)
        switch error {
        case .idReused(let id, _, _): index = lines.events.firstIndex { $0.id == id }
        case .expectationFailed(let stream, let expected, _):
            index = lines.conditions.firstIndex { $0.stream == stream && $0.expectation == expected }
            numbers = lines.conditionNumbers
        case .conditionFailed, .conditionOutdated: return nil
        default:
            do { _ = try await check(lines.events, lines.conditions, isFresh: true) } catch EvstoreError.refusedLine(let number, _, error) {
                index = Int(clamping: number) - 1
            } catch {
                // It is another error, and does not name the line of this one.
            }
        }
        return index.flatMap { numbers.indices.contains($0) ? numbers[$0] : nil }
    }

    private func parse(
        _ text: [UInt8], of file: String?, bornAt version: SchemaVersion?, _ form: LineForm
    ) throws(EvstoreError) -> EventLines {
        let (working, history) = (try effective(version), try evolving.current().history)
        var parser = EventLineParser(form)
        var lines = EventLines(events: [], conditions: [], file: file)
        var ids: [EventID: UInt64] = [:]
        let text = text.dropFirst(try TextBeginning.passedOver(text.lent, of: file ?? "the input"))
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            let number = UInt64(index) + 1
            do throws(EvstoreError) {
                var parsed = try parser.parse(Array(line).lent)
                try parsed.nameStream(by: history, bornAt: working)
                parsed.event.version = parsed.event.version ?? version
                if form.takesExpectations, let id = parsed.event.id {
                    if let first = ids[id] { throw .idReused(id: id, position: nil, line: first) }
                    ids[id] = number
                }
                lines.events.append(parsed.event)
                lines.numbers.append(number)
                if let expectation = parsed.expectation {
                    lines.conditions.append(StreamCondition(parsed.event.stream, expectation))
                    lines.conditionNumbers.append(number)
                }
            } catch { throw .refusedLine(number, file: file, error) }
        }
        return lines
    }

    /// Closes a store that an import has created, and removes it where it holds no event and no other process has it open.
    /// - Parameter keepsDirectory: whether to keep the directory, which existed before the store.
    package func discard(keepsDirectory: Bool = false) async throws(EvstoreError) {
        do { try log.acquireExclusively(what: "removes it") } catch {
            guard case .locked = EvstoreError(converting: error, at: path) else { throw EvstoreError(converting: error, at: path) }
            return try await close()
        }
        guard try last().position == .start else { return try await close() }
        // Order: removed while this process holds the store alone. A process that waits for the lock finds no store then.
        let path = path
        try await StoreThreads.run { () async throws(EvstoreError) in
            try converting(at: path) { try EventLog.discard(path, keepsDirectory: keepsDirectory) }
        }
        do { try await close() } catch {
            // The store was empty and is removed: a failure to close it loses nothing.
        }
    }
}
