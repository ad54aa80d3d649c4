internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension Importer {
    /// How the last chunks of an input relate to what earlier imports appended.
    enum Kinship {
        /// The chunks are the beginning of what an earlier import appended up to this mark: they hold no new events.
        case beginning(ImportMark)
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
        let (lines, strange) = try await newLines(of: entries)
        if lines.isEmpty, strange.isEmpty { return .undecided }
        let history = try store.evolving.current().history
        var isOpen = false
        for mark in marks where strange.isSubset(of: mark.leftOut.remaining) {
            // The events of lines that the earlier import left out came with later appends, or are not there.
            let others = mark.leftOut.isEmpty ? lines : lines.filter { !mark.leftOut.remaining.contains($0.line) }
            let appends =
                mark.leftOut.isEmpty
                ? [mark.position: others] : Dictionary(grouping: others) { mark.leftOut.appended[$0.line] ?? mark.position }
            if others.isEmpty {
                isOpen = true
            } else if try store.log.reading({ reader in
                try appends.allSatisfy { try holds($1, in: $0, isBeginning: $0 == mark.position, history, reader) }
            }) {
                return .beginning(mark)
            }
        }
        return isOpen ? .open : .new
    }

    /// The lines that no mark covers, without those whose ids are in the store; and the numbers of lines that no import can have appended:
    /// lines that stop the import, or have an id that is not in the store. A line that goes to the list of refused ones was listed before.
    private func newLines(of entries: [Entry]) async throws(EvstoreError) -> (lines: [CheckedLine], strange: Set<UInt64>) {
        // The report must not count these lines: they are read again where they are to be appended.
        let kept = (report, contents, plainIDs)
        defer { (report, contents, plainIDs) = kept }
        var (lines, strange): ([CheckedLine], Set<UInt64>) = ([], [])
        for var entry in entries {
            entry.chunk.leftOut = [:]
            var chunk: CheckedChunk
            do { chunk = try await start(entry.chunk, .streaming).value } catch { throw EvstoreError(converting: error, at: store.path) }
            try resolveIDs(&chunk, .streaming)
            let events = try resolve(&chunk).events
            for index in chunk.lines.indices { chunk.lines[index].event = events[index] }
            if options.onError == .stop { strange.formUnion(chunk.refused.map(\.line)) }
            strange.formUnion(chunk.lines.filter { $0.event.id != nil }.map(\.line))
            lines += chunk.lines
        }
        return (lines, strange)
    }

    /// Whether the append that ends at a position has the events of these lines in their order, and where it is that of a mark, begins with
    /// them. Events whose ids were given are skipped. The birth version that the lines name does not matter, as for the mark itself. Of an
    /// event whose personal data was forgotten, only the rest of the payload is compared.
    private func holds(
        _ lines: [CheckedLine], in last: Position, isBeginning: Bool, _ history: History, _ reader: borrowing LogReader
    ) throws -> Bool {
        var next = last
        while try reader.closedRecord(at: next, { $0.continuesAppend }) == true { next = next.previous }
        var found = 0
        while found < lines.count, next <= last {
            let (event, hasTime) = (lines[found].event, lines[found].hasTime)
            let seen = try reader.record(at: next) { record in
                if record.idGiven { return (isSame: false, isSkipped: true) }
                let isSamePayload =
                    try record.isForgotten
                    ? RecordedEvent.isSame(
                        [UInt8](copying: record.payload), event.payload, redactedBy: history.shape(of: event.type, at: event.born))
                    : record.payload.equals(event.payload.lent)
                let isSame =
                    try isSamePayload
                    && record.metadata.equals(event.metadata.lent) && (!hasTime || record.time == event.time)
                    && store.log.name(ofType: record.type).isSame(as: event.type) && reader.name(ofStream: record.streamID) == event.stream
                return (isSame, isSkipped: !isBeginning)
            }
            guard let seen, seen.isSame || seen.isSkipped else { return false }
            if seen.isSame { found += 1 }
            next = next.next
        }
        return found == lines.count
    }
}
