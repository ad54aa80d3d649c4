internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// One run of an import: reads chunks, checks them on several threads, and appends them in order.
///
/// What can be read twice is first checked from its beginning to its end, so that a bad line changes nothing.
final class Importer {
    let store: EventStore
    private let input: LineInput
    let name: String
    let rules: DoorRules
    let options: ImportOptions
    private let progress: Progress?
    var report = ImportReport()
    var marks = ImportMarks([])
    /// Of the first reading: the lines refused, and each chunk's checksum.
    private var refusedLines: Set<UInt64> = []
    private var checksums: [UInt64: UInt64] = [:]
    private var linesChecked: UInt64 = 0
    /// Whether a line was one of an event, refused or not.
    private var hasEvents = false
    /// The content of each id that the input gives, to find one that it uses twice.
    var contents: [EventID: UInt64] = [:]

    enum Pass {
        /// Nothing is appended.
        case checking
        /// What was checked before is appended.
        case applying
        /// Each chunk is checked and appended.
        case streaming

        var name: String { self == .checking ? "check" : "import" }
    }

    init(
        _ store: EventStore, from source: ImportSource, rules: DoorRules, options: ImportOptions, cancellation: Cancellation?,
        progress: Progress?
    ) throws(EvstoreError) {
        (self.store, self.rules, self.options) = (store, rules, options)
        self.progress = progress
        name = source.name
        input = try LineInput(source, each: options.each, options: store.options, cancellation: cancellation)
    }

    func run() async throws(EvstoreError) -> ImportReport {
        guard input.isRepeatable || options.dryRun else {
            try await read(.streaming)
            return report
        }
        try await read(.checking)
        if options.dryRun || report.read == report.skipped + report.quarantined { return report }
        (report.read, report.added, report.skipped) = (0, 0, 0)
        (report.adoption, report.unadopted) = (nil, [])
        try input.rewind()
        try await read(.applying)
        return report
    }

    /// A chunk with the state of the marks before it and the input's hash behind it.
    private struct Entry {
        var chunk: LineChunk
        var before: ImportMarks
        var end: Digest
    }

    private func read(_ pass: Pass) async throws(EvstoreError) {
        marks = ImportMarks(options.again ? [] : try store.importMarks(), leavesSome: pass != .checking)
        report.position = try store.last().position
        var held: [Entry] = []
        var pending: [(entry: Entry, task: Task<CheckedChunk, any Error>)] = []
        while true {
            // Whatever can be done is done before the next line is waited for.
            if !pending.isEmpty, pending.count > store.jobs || !input.isReady {
                let first = pending.removeFirst()
                try await finish(first.entry, first.task, pass)
                continue
            }
            guard let entry = try next(&held) else { break }
            held.append(entry)
            // A mark that is still ahead may cover what is held.
            if let horizon = marks.horizon, horizon > entry.chunk.lastLine { continue }
            pending += held.map { ($0, start($0.chunk, pass)) }
            held = []
        }
        pending += held.map { ($0, start($0.chunk, pass)) }
        for (entry, task) in pending { try await finish(entry, task, pass) }
    }

    /// The next chunk, without what a mark covers: that is skipped, and what is held with it.
    private func next(_ held: inout [Entry]) throws(EvstoreError) -> Entry? {
        guard var chunk = try input.next() else { return nil }
        let before = marks
        chunk.covered = marks.pass(chunk)
        if chunk.covered > 0 {
            for entry in held { skip(entry.chunk, entry.chunk.covered ..< entry.chunk.ends.count) }
            held = []
            skip(chunk, 0 ..< chunk.covered)
        }
        return Entry(chunk: chunk, before: before, end: marks.current)
    }

    private func skip(_ chunk: LineChunk, _ indices: Range<Int>) {
        let count = UInt64(indices.count { !chunk.isBlank($0) })
        report.read += count
        report.skipped += count
    }

    private func start(_ chunk: LineChunk, _ pass: Pass) -> Task<CheckedChunk, any Error> {
        Task { [store, rules, refusedLines] in
            chunk.check(by: try store.door(rules), options: store.options, pass, refused: refusedLines, opening: store.log.lineSealer)
        }
    }

    private func finish(_ entry: Entry, _ task: Task<CheckedChunk, any Error>, _ pass: Pass) async throws(EvstoreError) {
        var chunk: CheckedChunk
        do { chunk = try await task.value } catch { throw EvstoreError(converting: error, at: store.path) }
        try compareReadings(entry.chunk.firstLine, chunk.checksum, pass)
        try resolveIDs(&chunk, pass)
        report.read += chunk.read
        report.streamMismatches += chunk.streamMismatches
        if options.onError == .stop, let bad = chunk.refused.min(by: { $0.line < $1.line }) {
            if pass == .streaming { try await append(chunk.through(bad.line - 1), mark(entry, through: bad.line - 1)) }
            throw .refusedLine(bad.line, file: name, bad.error)
        }
        report.note(chunk.refused)
        try checkBeginning(chunk, entry.chunk.lastLine)
        let refusedNow = chunk.refused
        chunk.refused = []
        if pass == .checking {
            refusedLines.formUnion(refusedNow.map(\.line))
            report.add(chunk)
        } else {
            try await append(chunk, mark(entry, through: entry.chunk.lastLine))
        }
        linesChecked = max(linesChecked, entry.chunk.lastLine)
        progress?(
            ProgressEvent(
                step: pass.name, done: entry.chunk.lastLine, total: pass == .applying ? linesChecked : 0, quarantined: report.quarantined))
    }

    /// Ends an import of what has not begun with an event: a device, say, has no end to wait for.
    private func checkBeginning(_ chunk: CheckedChunk, _ last: UInt64) throws(EvstoreError) {
        let isStray = chunk.refused.count == Int(chunk.read) && chunk.refused.allSatisfy(\.error.isOfNoEvent)
        hasEvents = hasEvents || !isStray || report.skipped > 0
        guard !hasEvents, last >= store.options.importStrayLinesMax else { return }
        throw .refusedLine(
            last, file: name,
            .invalidLine(reason: "nor is any line before it: no events are here to import", pointer: ""))
    }

    /// An input that changes between its two readings would append what nobody checked.
    private func compareReadings(_ firstLine: UInt64, _ checksum: UInt64, _ pass: Pass) throws(EvstoreError) {
        if pass == .checking { checksums[firstLine] = checksum }
        if pass == .applying, checksums[firstLine] != checksum {
            throw .ioFailure(doing: "importing \(name)", reason: "the file changed from line \(firstLine) on while it was read")
        }
    }

    /// The mark behind a line of a chunk.
    private func mark(_ entry: Entry, through line: UInt64) -> ImportMark {
        var hash = entry.end
        if line < entry.chunk.lastLine {
            var marks = entry.before
            hash = marks.hash(entry.chunk, through: line)
        }
        return ImportMark(hash: hash, line: line, previous: marks.last.hash)
    }
}
