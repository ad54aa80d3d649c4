internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections

/// One run of an import: reads chunks, checks them on several threads, and appends them in order.
///
/// An input that can be read twice is checked completely before anything is appended.
final class Importer {
    let store: EventStore
    let input: LineInput
    private let bounds: AppendBounds?
    let name: String
    let rules: AppendRules
    let options: ImportOptions
    private let form: LineForm
    private let job: Job
    var report = ImportReport()
    /// Whether the report counts lines that were appended, and not only checked.
    private(set) var isAppending = false
    private var marks = ImportMarks(writesMarks: false)
    /// The hash of the last mark at a line that was read.
    private var lastMark = Digest.zero
    /// The lock of imports: held from the reading of the marks until the lines that they do not cover are appended with their own.
    private var lock: HeldLock?
    /// The number of marks in the store, and the epoch, when this import read or wrote marks last: where both are the same, no other import
    /// has written a mark, and no cut has removed one.
    private var known: (marks: Int, epoch: Epoch)?
    /// The last event of lines that a new mark would cover: a cut below it takes such lines off. Nil while there are none.
    private(set) var seen: Checkpoint?
    /// Chunks that a mark at a later line may cover.
    private var waiting: [Entry] = []
    /// When the first of these chunks began to wait that was not yet compared with what such a mark covers.
    private var waitingSince: Instant?
    /// How long lines of a pipe wait for the lines with which a mark would cover them.
    private static let patience = Duration.seconds(1)
    /// The append that is under way while the next lines are read; nil where there is none.
    var underWay: AppendUnderWay?
    private var pending: [(entry: Entry, task: Task<CheckedChunk, any Error>)] = []
    /// The lines that the first reading refused, and what it noted of each chunk, by its first line.
    private var refusedLines: Set<UInt64> = []
    /// The first lines of the chunks of which lines are refused unless the store has some of their events: each reading checks them.
    private var unfitChunks: Set<UInt64> = []
    private var firstReadings: [UInt64: Reading] = [:]
    private var linesChecked: UInt64 = 0
    private var lastLine: UInt64 = 0
    /// Whether any line had the form of an event, refused or not.
    private var hasEvents = false
    /// The content and the line of each id that the input gives, to find one that it uses twice.
    var contents: [EventID: (content: UInt64, line: UInt64)] = [:]
    /// Whether the first reading has found an id in the store or in an earlier line, or one of a part. If not, the second one looks none up:
    /// the log refuses an id that somebody has appended meanwhile.
    var repeatsIDs = false
    /// Lines that were left out since the last mark, in chunks that got no mark of their own.
    private var carried: Set<UInt64> = []
    /// The event that each id without its source stands for.
    var plainIDs: [EventID: EventID] = [:]

    /// The checksum of a chunk, and the state of the store's versions for which it was checked.
    struct Reading: Equatable {
        var checksum: UInt64
        var stamp: StateStamp
    }

    /// What an earlier reading of a chunk has found; nothing before the first.
    struct EarlierReading {
        var reading: Reading?
        /// The lines that it refused.
        var refused: Set<UInt64> = []
    }

    enum Pass {
        /// Nothing is appended.
        case checking
        /// Lines that were checked before are appended.
        case applying
        /// Each chunk is checked and appended.
        case streaming

        var name: String { self == .checking ? "check" : "import" }
    }

    init(
        _ store: EventStore, _ source: ImportSource, _ rules: AppendRules, _ options: ImportOptions, _ job: Job
    ) throws(EvstoreError) {
        (self.store, self.rules, self.options, self.job) = (store, rules, options, job)
        name = source.name
        form = LineForm(options: store.options, source: store.source, isOldData: rules.version.rawValue == 0)
        bounds = AppendBounds(
            try store.evolving.current().history, as: rules.version, form, linesMax: LineInput.linesMax(store.options),
            opening: store.log.lineSealer)
        input = try LineInput(source, each: options.each, bounds: bounds, options: store.options, job)
    }

    func run() async throws(EvstoreError) {
        defer { lock = nil }
        guard input.isRepeatable || options.dryRun else { return try await read(.streaming) }
        try await read(.checking)
        if options.dryRun || report.read == report.skipped + report.quarantined { return }
        report.beginAgain()
        contents = [:]
        try input.rewind()
        try await read(.applying)
        if lastLine < linesChecked {
            throw .ioFailure(
                doing: "importing \(name)", reason: "the file was cut short while it was read: it ended behind line \(lastLine)")
        }
    }

    /// The report, with lines of the file in place of the numbers of elements.
    var outcome: ImportReport {
        var report = report
        (report.refused, report.unadopted) = (report.refused.map(placed), report.unadopted.map(placed))
        return report
    }

    private func placed(_ refused: RefusedLine) -> RefusedLine {
        let (line, element) = input.place(of: refused.line)
        return RefusedLine(line: line, element: element, error: refused.error)
    }

    /// A chunk with the state of the marks before it, the input's hash behind it, and the last mark that matches a line of it.
    struct Entry {
        var chunk: LineChunk
        var before: ImportMarks
        var end = Digest.zero
        var matched: Digest?
        /// The hash of the mark before the one that this chunk will write.
        var previous = Digest.zero
        /// Whether it is covered since its events are those of a mark that the input has not reached.
        var isKindred = false

        var isCovered: Bool { chunk.covered == chunk.ends.count }
    }

    private func read(_ pass: Pass) async throws(EvstoreError) {
        do throws(EvstoreError) { try await readLines(pass) } catch {
            // Its lines come before what went wrong.
            try await finishAppend()
            throw error
        }
        try await finishAppend()
    }

    private func readLines(_ pass: Pass) async throws(EvstoreError) {
        (marks, lastMark, known, seen) = (ImportMarks(writesMarks: pass != .checking), .zero, nil, nil)
        (carried, lastLine) = ([], 0)
        report.position = try store.last().position
        isAppending = pass != .checking
        reading: while true {
            // Checked chunks are appended before this waits for the next line.
            if !pending.isEmpty, pending.count > store.jobs || !input.isReady {
                try await finishFirst(pass)
                continue
            }
            let piece: LineInput.Piece
            do { piece = try input.next() } catch {
                try await keepLines(before: error, pass)
                throw error
            }
            switch piece {
            case .lines(let chunk):
                try await acquireLock()
                try findCovered(Entry(chunk: chunk, before: marks))
                waitingSince = waitingSince ?? .now
                if marks.horizon <= chunk.lastWholeLine { startWaiting(pass) }
            case .nothingYet:
                while !pending.isEmpty { try await finishFirst(pass) }
                try await finishAppend()
                if hasWaited { break }
                // Other imports need not wait for the program that writes to this one's pipe.
                lock = nil
                do { try input.wait(until: waitingSince.map { $0 + Self.patience }) } catch {
                    try await keepLines(before: error, pass)
                    throw error
                }
            case .end: break reading
            }
            if hasWaited { try await settleWaiting(pass, isEnd: false) }
        }
        try await settleAll(pass)
    }

    /// Whether lines of a pipe have waited long enough.
    private var hasWaited: Bool { !input.isRepeatable && waitingSince.map { $0.duration(to: .now) >= Self.patience } ?? false }

    /// Appends the lines of a pipe that were read before a line that can't be read, or before an interruption.
    private func keepLines(before error: EvstoreError, _ pass: Pass) async throws(EvstoreError) {
        switch error {
        case .refusedLine, .refusedElement: try await settleAll(pass)
        case .interrupted where pass == .streaming: try await settleAll(pass)
        default: break
        }
    }

    private func settleAll(_ pass: Pass) async throws(EvstoreError) {
        while !pending.isEmpty { try await finishFirst(pass) }
        if waiting.isEmpty { return }
        try await settleWaiting(pass, isEnd: true)
        while !pending.isEmpty { try await finishFirst(pass) }
    }

    /// Determines whether the waiting lines are the beginning of what an earlier import appended. If they are not, they are new, whatever
    /// follows. If they are, their events are in the store, and they keep waiting for a line that makes the difference; at the input's end
    /// there is none. Lines that don't decide it keep waiting, too.
    private func settleWaiting(_ pass: Pass, isEnd: Bool) async throws(EvstoreError) {
        // Order: the log is read for events that it may append.
        try await finishAppend()
        try await acquireLock()
        waitingSince = nil
        let isNew = waiting.contains { !$0.isCovered }
        switch try await kinship(waiting, with: marks.ahead) {
        case .new: if isNew { marks.ahead = [] }
        case .open: break
        // Lines that are appended again in any case need not wait.
        case .beginning(let mark, let refused) where isEnd || options.again:
            try noteSeen(mark)
            coverWaiting()
            for index in waiting.indices { waiting[index].isKindred = true }
            noteLeftOut(Dictionary(refused.map { ($0, LeftOutLine()) }) { $1 })
            noteLeftOut(marks.leftOut(by: mark, isOfBeginning: true))
        case .undecided where isEnd || options.again: break
        case .beginning, .undecided: return
        }
        startWaiting(pass)
    }

    /// Takes the lock of imports if this one does not hold it, and reads the marks if others have changed them. Without the lock, two
    /// imports of one input would both append its lines.
    private func acquireLock() async throws(EvstoreError) {
        if !options.dryRun, lock == nil {
            lock = try await store.importLock(name, job)
            // Another node may have imported the lines.
            try await awaiting(at: store.path) { try await store.log.takeInFrames() }
        } else if known != nil {
            return
        }
        let (count, end) = try store.log.reading { reader in (try reader.count(.imports), reader.last) }
        if let known, known == (count, end.epoch) { return }
        known = (count, end.epoch)
        let entries = waiting
        waiting = []
        if let first = entries.first { marks = first.before }
        marks.search(for: try store.importMarks(), after: lastMark)
        for entry in entries { try findCovered(Entry(chunk: entry.chunk, before: marks)) }
    }

    /// Notes that lines were appended up to a position in an epoch, by this import or before it. An epoch in which this one has appended
    /// needs no check: its appends are refused after a cut below `seen`.
    func noteSeen(_ position: Position, in epoch: Epoch, isOwn: Bool = false) throws(EvstoreError) {
        guard position > seen?.position ?? .start else { return }
        if let seen, !isOwn, epoch > seen.epoch { try store.requireValid(seen) }
        seen = Checkpoint(epoch: epoch, position: position)
    }

    private func noteSeen(_ mark: ImportMark?) throws(EvstoreError) {
        if let mark, let known { try noteSeen(mark.position, in: known.epoch) }
    }

    /// Determines how many lines of a chunk a mark covers; the mark also covers all waiting chunks before it.
    private func findCovered(_ entry: Entry) throws(EvstoreError) {
        var entry = entry
        entry.chunk.leftOut = [:]
        let (covered, matched, leftOut) = marks.pass(entry.chunk)
        try noteSeen(matched)
        (entry.chunk.covered, entry.matched) = (covered, matched?.hash)
        entry.end = marks.current
        if entry.matched != nil { coverWaiting() }
        waiting.append(entry)
        noteLeftOut(leftOut)
    }

    /// Notes lines of the waiting chunks that earlier imports left out.
    private func noteLeftOut(_ lines: [UInt64: LeftOutLine]) {
        if lines.isEmpty { return }
        for index in waiting.indices {
            let range = waiting[index].chunk.firstLine ... waiting[index].chunk.lastLine
            waiting[index].chunk.leftOut.merge(lines.filter { range.contains($0.key) }) { $1 }
        }
    }

    private func coverWaiting() { for index in waiting.indices { waiting[index].chunk.covered = waiting[index].chunk.ends.count } }

    private func startWaiting(_ pass: Pass) {
        for var entry in waiting {
            if let matched = entry.matched { lastMark = matched }
            entry.previous = lastMark
            if !entry.isCovered { lastMark = entry.end }
            entry.chunk.isAgain = options.again
            let covered = UInt64((0 ..< entry.chunk.covered).count { !entry.chunk.isRead($0) && !entry.chunk.isBlank($0) })
            (report.read, report.skipped) = (report.read + covered, report.skipped + covered)
            pending.append((entry, start(entry.chunk, pass)))
        }
        (waiting, waitingSince) = ([], nil)
    }

    func start(_ chunk: LineChunk, _ pass: Pass) -> Task<CheckedChunk, any Error> {
        let earlier = EarlierReading(
            reading: unfitChunks.contains(chunk.firstLine) ? nil : firstReadings[chunk.firstLine], refused: refusedLines)
        return Task { [store, rules, form] in
            try chunk.check(by: store.validator(rules), form, pass, after: earlier, opening: store.log.lineSealer)
        }
    }

    private func finishFirst(_ pass: Pass) async throws(EvstoreError) {
        let (entry, task) = pending.removeFirst()
        var chunk: CheckedChunk
        do { chunk = try await task.value } catch { throw EvstoreError(converting: error, at: store.path) }
        try compareReadings(entry.chunk.firstLine, chunk.reading, pass)
        if pass == .checking, chunk.dependsOnStore { unfitChunks.insert(entry.chunk.firstLine) }
        let looksUpIDs = (pass != .applying || repeatsIDs || chunk.dependsOnStore) && chunk.givesIDs
        // Order: the log is read for events that it may append.
        if looksUpIDs || !entry.chunk.leftOut.isEmpty { try await finishAppend() }
        if looksUpIDs { try resolveIDs(&chunk, pass) }
        if !entry.chunk.leftOut.isEmpty { try settleLeftOut(&chunk, entry.chunk.leftOut) }
        report.read += chunk.read
        report.streamMismatches += chunk.streamMismatches
        if options.onError == .stop, let bad = chunk.refused.min(by: { $0.line < $1.line }) {
            if pass == .streaming {
                // Lines that are merged with the bad line are appended with it, once it is corrected.
                let before = entry.chunk.ends.prefix(Int(bad.line - entry.chunk.firstLine))
                let appendable = bounds?.appendable(entry.chunk.text.buffer, from: 0, before, most: before.count, .awaited) ?? before.count
                try await append(chunk, of: entry, through: entry.chunk.firstLine + UInt64(appendable) - 1)
            }
            throw input.refusal(bad.line, bad.error)
        }
        try checkBeginning(chunk, entry.chunk)
        leaveOut(&chunk)
        if pass == .checking {
            refusedLines.formUnion(chunk.leftOut)
            report.add(chunk)
        } else {
            if entry.isKindred { carried.formUnion(chunk.leftOut) }
            let isCutShort = chunk.leftOut.contains(entry.chunk.lastLine)
            try await append(chunk, of: entry, through: isCutShort ? entry.chunk.lastWholeLine : entry.chunk.lastLine)
        }
        lastLine = entry.chunk.lastLine
        linesChecked = max(linesChecked, lastLine)
        job.report(
            pass.name, done: entry.chunk.lastLine, total: pass == .applying ? linesChecked : 0, quarantined: report.quarantined)
    }

    /// Ends an import whose first lines hold no event: the input may be a device without an end.
    private func checkBeginning(_ chunk: CheckedChunk, _ lines: LineChunk) throws(EvstoreError) {
        let isStray = chunk.refused.count == Int(chunk.read) && chunk.refused.allSatisfy(\.error.isNotAnEvent)
        hasEvents = hasEvents || !isStray || lines.covered > 0
        guard !hasEvents, lines.lastLine >= store.options.importStrayLinesMax else { return }
        throw input.refusal(
            lines.lastLine, .invalidLine(reason: "nor is any line before it: no events are here to import", pointer: ""))
    }

    /// Appends a chunk up to a line, and writes a mark there. Lines that an earlier mark covers, and that were left out or are appended
    /// again, get no new mark: each mark covers only lines that were appended with it since the mark before.
    private func append(_ chunk: CheckedChunk, of entry: Entry, through line: UInt64) async throws(EvstoreError) {
        let (first, new) = (entry.chunk.firstLine, chunk.new)
        if new > first { try await append(chunk.only(first ..< min(new, line + 1)), .leftOut(entry.chunk.leftOut)) }
        if line < new { return }
        var marked = chunk.only(new ..< line + 1)
        marked.leftOut.formUnion(carried)
        carried = []
        try await append(marked, .mark(mark(entry, through: line)))
    }

    /// Throws where the input has changed between its two readings: unchecked lines would be appended.
    private func compareReadings(_ firstLine: UInt64, _ reading: Reading, _ pass: Pass) throws(EvstoreError) {
        if pass == .checking { firstReadings[firstLine] = reading }
        if pass == .applying, firstReadings[firstLine]?.checksum != reading.checksum {
            throw .ioFailure(doing: "importing \(name)", reason: "the file changed from line \(firstLine) on while it was read")
        }
    }

    func noteRows(_ count: Int) { known?.marks += count }

    private func mark(_ entry: Entry, through line: UInt64) -> ImportMark {
        var hash = entry.end
        if line < entry.chunk.lastLine {
            var marks = entry.before
            hash = marks.hash(entry.chunk, through: line)
        }
        return ImportMark(hash: hash, line: line, previous: entry.previous)
    }
}
