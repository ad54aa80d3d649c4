internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension Importer {
    /// How the last chunks of an input relate to what earlier imports appended.
    enum Kinship {
        /// The chunks are the beginning of what an earlier import appended up to this mark: they hold no new events, but for lines that were
        /// left out. These lines are refused now.
        case beginning(ImportMark, refused: Set<UInt64>)
        case new
        /// The chunks hold only lines that an earlier import may have left out: they are new, and what follows may be what it appended.
        case open
        /// The chunks hold no event that could decide.
        case undecided
    }

    /// Determines whether the last chunks of an input are the beginning of what an earlier import appended up to one of these marks.
    ///
    /// Where the input ends or pauses there is no mark, so its lines are compared with the stored events.
    func kinship(_ entries: [Entry], with marks: [ImportMark]) async throws(EvstoreError) -> Kinship {
        if marks.isEmpty { return .new }
        let (lines, ids, refused) = try await newLines(of: entries)
        // No import can have appended a line that stops it, or whose id is not in the store.
        let strange = options.onError == .stop ? ids.union(refused) : ids
        if lines.isEmpty, strange.isEmpty { return .undecided }
        let history = try store.evolving.current().history
        var isOpen = false
        var best: (mark: ImportMark, unknown: Int)?
        for mark in marks where strange.isSubset(of: mark.leftOut.all) {
            let others = mark.leftOut.all.isEmpty ? lines : lines.filter { !mark.leftOut.all.contains($0.line) }
            let found = mark.leftOut.appends.isEmpty ? [] : try found(lines, in: mark.leftOut.appends)
            if others.isEmpty, found.isEmpty {
                isOpen = true
            } else if try others.isEmpty ? true : store.log.reading({ try begins(mark, with: others, history, $0) }) {
                // Several inputs may begin alike: the one of which the most is known.
                let unknown = lines.count - others.count - found.count + refused.subtracting(mark.leftOut.all).count
                if unknown < best?.unknown ?? .max { best = (mark, unknown) }
            }
        }
        return best.map { .beginning($0.mark, refused: refused) } ?? (isOpen ? .open : .new)
    }

    /// The lines that no mark covers, but for those whose ids are in the store; the numbers of those that have an id, and of the refused
    /// ones. A line that goes to the list of refused ones was listed before.
    private func newLines(
        of entries: [Entry]
    ) async throws(EvstoreError) -> (lines: [CheckedLine], ids: Set<UInt64>, refused: Set<UInt64>) {
        // The report must not count these lines: they are read again where they are to be appended.
        let kept = (report, contents, plainIDs)
        defer { (report, contents, plainIDs) = kept }
        var (lines, refused): ([CheckedLine], Set<UInt64>) = ([], [])
        for var entry in entries {
            entry.chunk.leftOut = [:]
            var chunk: CheckedChunk
            do { chunk = try await start(entry.chunk, .streaming).value } catch { throw EvstoreError(converting: error, at: store.path) }
            try resolveIDs(&chunk, .streaming)
            lines += try inLog(&chunk)
            refused.formUnion(chunk.refused.map(\.line))
            refused.formUnion(chunk.leftOut)
        }
        return (lines, Set(lines.filter { $0.event.id != nil }.map(\.line)), refused)
    }

    /// The lines of a chunk, with the names that the log has for their streams.
    private func inLog(_ chunk: inout CheckedChunk) throws(EvstoreError) -> [CheckedLine] {
        let events = try resolve(&chunk).events
        var lines = chunk.lines
        for index in lines.indices { lines[index].event = events[index] }
        return lines
    }

    /// Removes lines that an earlier import left out, and that came with a later append; counts the others.
    func settleLeftOut(_ chunk: inout CheckedChunk, _ leftOut: [UInt64: LeftOutLine]) throws(EvstoreError) {
        if !options.again { try removeAppended(&chunk, leftOut) }
        let numbers = chunk.lines.map(\.line) + chunk.refused.map(\.line) + chunk.leftOut
        report.leftOut += UInt64(numbers.count { leftOut[$0]?.place != nil })
    }

    private func removeAppended(_ chunk: inout CheckedChunk, _ leftOut: [UInt64: LeftOutLine]) throws(EvstoreError) {
        let appends = leftOut.filter { !$0.value.appends.isEmpty }.mapValues(\.appends)
        if appends.isEmpty { return }
        var part = chunk
        part.lines.removeAll { appends[$0.line] == nil }
        let found = try found(inLog(&part), in: appends)
        if found.isEmpty { return }
        chunk.lines.removeAll { found.contains($0.line) }
        report.skipped += UInt64(found.count)
        // Lines that were to be merged with a removed line may lack an image now.
        if try store.evolving.current().history.mergesEvents { chunk.refuseUnmerged(by: try store.validator(rules)) }
    }

    /// The lines whose events came with one of the appends that are named for them, by their last positions.
    private func found(_ lines: [CheckedLine], in appends: [UInt64: [Position]]) throws(EvstoreError) -> Set<UInt64> {
        var wanted: [Position: [CheckedLine]] = [:]
        for line in lines { for last in appends[line.line, default: []] { wanted[last, default: []].append(line) } }
        let history = try store.evolving.current().history
        var found: Set<UInt64> = []
        try store.log.reading { reader in
            for (last, lines) in wanted {
                var rest = Dictionary(grouping: lines, by: \.event.stream)
                try forEachEvent(ofAppendThrough: last, reader) { record in
                    let stream = try reader.name(ofStream: record.streamID)
                    for (index, line) in rest[stream, default: []].enumerated() where try isEvent(record, of: line, history, reader) {
                        rest[stream]?.remove(at: index)
                        found.insert(line.line)
                        break
                    }
                    return true
                }
            }
        }
        return found
    }

    /// Whether the append that ends at a mark's position begins with the events of these lines. Events whose ids were given are skipped.
    /// The birth version that the lines name does not matter, as for the mark itself.
    private func begins(
        _ mark: ImportMark, with lines: [CheckedLine], _ history: History, _ reader: borrowing LogReader
    ) throws -> Bool {
        var found = 0
        try forEachEvent(ofAppendThrough: mark.position, reader) { record in
            if record.idGiven { return true }
            guard try isEvent(record, of: lines[found], history, reader) else { return false }
            found += 1
            return found < lines.count
        }
        return found == lines.count
    }

    /// Lends the events of the append that ends at a position, until `body` returns false.
    private func forEachEvent(
        ofAppendThrough last: Position, _ reader: borrowing LogReader, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        var next = last
        while try reader.closedRecord(at: next, { $0.continuesAppend }) == true { next = next.previous }
        while try next <= last && reader.record(at: next, body) == true { next = next.next }
    }

    /// Whether an event is that of a line. Of an event whose personal data was forgotten, only the rest of the payload is compared.
    private func isEvent(
        _ record: borrowing RecordView, of line: CheckedLine, _ history: History, _ reader: borrowing LogReader
    ) throws -> Bool {
        let event = line.event
        let isSamePayload =
            try record.isForgotten
            ? RecordedEvent.isSame(
                [UInt8](copying: record.payload), event.payload, redactedBy: history.shape(of: event.type, at: event.born))
            : record.payload.equals(event.payload.lent)
        return try isSamePayload && record.metadata.equals(event.metadata.lent) && (!line.hasTime || record.time == event.time)
            && store.log.name(ofType: record.type).isSame(as: event.type) && reader.name(ofStream: record.streamID) == event.stream
    }
}
