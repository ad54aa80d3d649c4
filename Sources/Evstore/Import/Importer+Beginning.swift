internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension Importer {
    /// How the last chunks of an input relate to what earlier imports appended.
    enum Kinship {
        /// The chunks are the beginning of what an earlier import appended: they hold no new events.
        case beginning
        case new
        /// The chunks hold no event that could decide.
        case undecided
    }

    /// Determines whether the last chunks of an input are the beginning of what an earlier import appended up to one of these marks.
    ///
    /// Where the input ends or pauses there is no mark, so its lines are compared with the stored events.
    func kinship(_ entries: [Entry], with marks: [ImportMark]) async throws(EvstoreError) -> Kinship {
        guard !marks.isEmpty, let lines = try await newLines(of: entries) else { return .new }
        if lines.isEmpty { return .undecided }
        let history = try store.evolving.current().history
        let resolved = try store.resolved(lines.map(\.event), at: rules.version, history)
        let isBeginning = try store.log.reading { reader in
            try marks.contains { mark in try begins(mark, with: resolved.events, hasTime: lines.map(\.hasTime), history, reader) }
        }
        return isBeginning ? .beginning : .new
    }

    /// The lines without an id. Nil where a line stops the import, or has an id that is not in the store. A line that goes to the list of
    /// refused ones was listed before.
    private func newLines(of entries: [Entry]) async throws(EvstoreError) -> [CheckedLine]? {
        // The report must not count these lines: they are read again where they are to be appended.
        let kept = (report, contents, plainIDs)
        defer { (report, contents, plainIDs) = kept }
        var lines: [CheckedLine] = []
        for entry in entries {
            var chunk: CheckedChunk
            do { chunk = try await start(entry.chunk, .streaming).value } catch { throw EvstoreError(converting: error, at: store.path) }
            try resolveIDs(&chunk, .streaming)
            let isStopped = !chunk.refused.isEmpty && options.onError != .quarantine
            if isStopped || chunk.lines.contains(where: { $0.event.id != nil }) { return nil }
            lines += chunk.lines
        }
        return lines
    }

    /// Whether the append that ends at a mark's position begins with these events. Events whose ids were given are skipped. The birth
    /// version that the lines name does not matter, as for the mark itself. Of an event whose personal data was forgotten, only the rest of
    /// the payload is compared.
    private func begins(
        _ mark: ImportMark, with events: [StoredEvent], hasTime: [Bool], _ history: History, _ reader: borrowing LogReader
    ) throws -> Bool {
        var first = mark.position
        while try reader.closedRecord(at: first, { $0.continuesAppend }) == true { first = first.previous }
        var found = 0
        var next = first
        while found < events.count, next <= mark.position {
            let event = events[found]
            let isSame = try reader.record(at: next) { record in
                if record.idGiven { return true }
                found += 1
                let isSamePayload =
                    try record.isForgotten
                    ? RecordedEvent.isSame(
                        [UInt8](copying: record.payload), event.payload, redactedBy: history.shape(of: event.type, at: event.born))
                    : record.payload.equals(event.payload.lent)
                return try isSamePayload
                    && record.metadata.equals(event.metadata.lent) && (!hasTime[found - 1] || record.time == event.time)
                    && store.log.name(ofType: record.type).isSame(as: event.type) && reader.name(ofStream: record.streamID) == event.stream
            }
            guard isSame == true else { return false }
            next = next.next
        }
        return found == events.count
    }
}
