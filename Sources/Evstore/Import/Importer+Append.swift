internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension Importer {
    /// What is written in the same commit as the events of some lines.
    enum Note {
        /// The mark behind the lines, and which lines before it were left out.
        case mark(ImportMark)
        /// Which of the lines earlier imports left out: they are there now.
        case leftOut([UInt64: LeftOutLine])
    }

    /// Removes lines whose id is in the store or in an earlier line: an equal event is skipped, a different one refused.
    func resolveIDs(_ chunk: inout CheckedChunk, _ pass: Pass) throws(EvstoreError) {
        var seen = pass == .checking ? contents : [:]
        var repeated: UInt64 = 0
        // The last event in the store that is one of the lines'.
        var last = Checkpoint.start
        let (all, store) = (chunk.lines, store)
        let history = try store.evolving.current().history
        var (lines, refused): ([CheckedLine], [RefusedLine]) = ([], [])
        var made = GeneratedIDs()
        lines.reserveCapacity(all.count)
        try store.log.reading { reader in
            last.epoch = reader.last.epoch
            for line in all {
                guard let id = line.event.id else {
                    lines.append(line)
                    continue
                }
                do {
                    if let first = seen[id] {
                        guard first.content == line.content || options.sameID == .keepFirst else {
                            throw EvstoreError.idReused(id: id, position: nil, line: first.line)
                        }
                        repeated += 1
                    } else if let position = try stored(line, id, &made, history, reader) {
                        repeated += 1
                        last.position = max(last.position, position)
                    } else {
                        seen[id] = (line.content, line.line)
                        lines.append(line)
                    }
                } catch let error as EvstoreError where error.isLineError {
                    refused.append(RefusedLine(line: line.line, error: error))
                }
            }
            for unfit in chunk.unfit {
                var position: Position?
                do {
                    if let id = unfit.line.event.id { position = try stored(unfit.line, id, &made, history, reader) }
                } catch let error as EvstoreError where error.isLineError {
                    // Another event has the id, or this program can't see that event at the line's version.
                }
                if let position {
                    repeated += 1
                    last.position = max(last.position, position)
                } else {
                    refused.append(RefusedLine(line: unfit.line.line, error: unfit.error))
                }
            }
        }
        try noteSeen(last.position, in: last.epoch)
        (chunk.lines, report.skipped, report.repeated) = (lines, report.skipped + repeated, report.repeated + repeated)
        chunk.refused += refused
        // Lines that were to be merged with a removed line may lack an image now, and others have one only now.
        if lines.count < all.count && history.mergesEvents || chunk.isUnmerged {
            chunk.refuseUnmerged(by: try store.validator(rules))
            // A later line may be the event of a refused one.
            let left = Set(chunk.lines.map(\.line))
            for line in lines where !left.contains(line.line) { if let id = line.event.id { seen[id] = nil } }
        }
        (chunk.unfit, chunk.isUnmerged) = ([], false)
        guard pass == .checking else { return }
        contents = seen
        // An event that is appended meanwhile may have the part.
        repeatsIDs = repeatsIDs || repeated > 0 || lines.count < all.count || lines.contains { $0.event.id?.whole != nil }
    }

    private func stored(
        _ line: CheckedLine, _ id: EventID, _ made: inout GeneratedIDs, _ history: History, _ reader: borrowing LogReader
    ) throws -> Position? {
        if let position = try reader.position(of: id) ?? made.position(of: id, reader),
            try store.receipt(
                of: StoredAppend(position: position, version: line.event.born, history: history, isAlone: true),
                for: [NewEvent(line.event)], options.sameID, reader) != nil
        {
            return position
        }
        return try plainIDPosition(line, history, reader)
    }

    /// The event of a CloudEvent that an earlier program has imported, which took its id without its source: an event with that id has
    /// the same content and time, and no source. That event counts for one source only. Nil where there is none.
    private func plainIDPosition(_ line: CheckedLine, _ history: History, _ reader: borrowing LogReader) throws -> Position? {
        guard line.hasTime, let plain = line.plainID, plainIDs[plain, default: line.event.id ?? plain] == line.event.id,
            let position = try reader.position(of: plain)
        else { return nil }
        let isOfItsTime = try reader.record(at: position) { record in
            record.time == line.event.time && !CloudEvent.isNamed(in: record.metadata)
        }
        guard isOfItsTime == true else { return nil }
        let stored = StoredAppend(position: position, version: line.event.born, history: history, isAlone: true)
        guard try store.compare(stored, with: [NewEvent(line.event)], reader)?.isSame == true else { return nil }
        plainIDs[plain] = line.event.id
        return position
    }

    struct AppendUnderWay {
        var chunk: CheckedChunk
        let note: Note
        let rows: [AttachedRow]
        let resolved: ResolvedAppend
        let task: Task<AppendOutcome, any Error>
    }

    /// Begins to append a chunk and to write its note in the same commit, once the append before it has ended.
    func append(_ chunk: CheckedChunk, _ note: Note) async throws(EvstoreError) {
        try await finishAppend()
        var chunk = chunk
        underWay = try begin(&chunk, note)
        if underWay == nil { try await leave(chunk, note) }
    }

    /// Waits for the append that is under way, and makes it again where it did not find the store as it was checked for.
    func finishAppend() async throws(EvstoreError) {
        while var append = underWay {
            underWay = nil
            let outcome: AppendOutcome?
            do { outcome = try await append.task.value } catch EvstoreError.idReused { outcome = nil } catch {
                if let failure = append.resolved.failure(EvstoreError(converting: error, at: store.path)) { throw failure }
                outcome = .revalidate
            }
            switch outcome {
            case .appended(let receipt):
                report.add(append.chunk)
                report.position = receipt.position
                try noteSeen(receipt.position, in: receipt.epoch, isOwn: true)
                noteRows(append.rows.count)
                return
            case .revalidate: try recheck(&append.chunk)
            // Another caller has just appended one of the ids.
            case .known, nil: try resolveIDs(&append.chunk, .streaming)
            }
            try refuse(&append.chunk)
            underWay = try begin(&append.chunk, append.note)
            if underWay == nil { try await leave(append.chunk, append.note) }
        }
    }

    /// Begins an append; nil where no line of the chunk is left to append.
    private func begin(_ chunk: inout CheckedChunk, _ note: Note) throws(EvstoreError) -> AppendUnderWay? {
        if chunk.lines.isEmpty { return nil }
        let resolved = try resolve(&chunk)
        try refuse(&chunk)
        if chunk.lines.isEmpty { return nil }
        let rows = try rows(of: note, chunk)
        let uncut = seen.map { StreamCondition(resolved.events[0].stream, .any, asOf: $0) }
        let request = AppendRequest(
            events: resolved.events, conditions: resolved.conditions + [uncut].compactMap(\.self), validated: chunk.reading.stamp,
            rows: rows, deadline: .within(store.options.appendDeadline))
        // A task of its own, since a cancelled import still appends the lines that it has taken from a pipe.
        let task = Task { [log = store.log] in try await log.append(request) }
        return AppendUnderWay(chunk: chunk, note: note, rows: rows, resolved: resolved, task: task)
    }

    /// Writes the mark of a chunk of which no line is left to append.
    private func leave(_ chunk: CheckedChunk, _ note: Note) async throws(EvstoreError) {
        guard case .mark = note else { return }
        let rows = try rows(of: note, chunk)
        try await store.leave(rows, asOf: seen)
        noteRows(rows.count)
    }

    /// Gives the events of a chunk the names that the log has for their streams; refuses lines whose streams can't be begun.
    func resolve(_ chunk: inout CheckedChunk) throws(EvstoreError) -> ResolvedAppend {
        let history = try store.evolving.current().history
        while true {
            let resolved = try store.resolved(chunk.lines.map(\.event), at: rules.version, history)
            if resolved.refused.isEmpty { return resolved }
            chunk.refused += resolved.refused.map { RefusedLine(line: chunk.lines[$0.key].line, error: $0.value) }
            chunk.lines = chunk.lines.indices.filter { resolved.refused[$0] == nil }.map { chunk.lines[$0] }
            if history.mergesEvents { chunk.refuseUnmerged(by: try store.validator(rules)) }
        }
    }

    private func rows(of note: Note, _ chunk: CheckedChunk) throws(EvstoreError) -> [AttachedRow] {
        switch note {
        case .mark(let mark): return [mark.row] + LeftOutLines.rows(chunk.leftOut, behind: mark.hash)
        case .leftOut(let lines):
            var appended: [LeftOutLine.Place: [UInt64]] = [:]
            for line in chunk.lines { if let place = lines[line.line]?.place { appended[place, default: []].append(line.line) } }
            var rows: [AttachedRow] = []
            for (place, lines) in appended {
                rows += LeftOutLines.rows(lines, behind: try store.lastRow(behind: place.mark), ofBeginning: place.isOfBeginning)
            }
            return rows
        }
    }

    /// Checks a chunk again, because the store's versions have changed since.
    private func recheck(_ chunk: inout CheckedChunk) throws(EvstoreError) {
        let validator = try store.validator(rules)
        let now = Timestamp.now
        chunk.reading.stamp = validator.stamp
        var kept: [CheckedLine] = []
        for var line in chunk.lines {
            do {
                line.event = try validator.admit(NewEvent(line.event), at: now)
                kept.append(line)
            } catch { chunk.refuse(line, error) }
        }
        chunk.lines = kept
        chunk.checkMerges(by: validator)
        if chunk.dependsOnStore { try resolveIDs(&chunk, .streaming) }
    }

    /// Stops at lines that were refused only now, or lists them.
    private func refuse(_ chunk: inout CheckedChunk) throws(EvstoreError) {
        guard let bad = chunk.refused.min(by: { $0.line < $1.line }) else { return }
        if options.onError == .stop { throw input.refusal(bad.line, bad.error) }
        leaveOut(&chunk)
    }

    func leaveOut(_ chunk: inout CheckedChunk) {
        report.note(chunk.refused.sorted { $0.line < $1.line })
        chunk.leftOut.formUnion(chunk.refused.map(\.line))
        chunk.refused = []
    }
}

extension CheckedChunk {
    /// Only the lines of a range, and those that were left out of it.
    func only(_ range: Range<UInt64>) -> CheckedChunk {
        var copy = self
        // Usually all of them are: then nothing is copied.
        let isWhole = lines.first.map { range.contains($0.line) } ?? true && lines.last.map { range.contains($0.line) } ?? true
        if !isWhole { copy.lines.removeAll { !range.contains($0.line) } }
        copy.leftOut = copy.leftOut.filter(range.contains)
        copy.refused = []
        return copy
    }
}

extension EvstoreError {
    /// Whether the line is refused for its content or its versions, and not because the store can't be read.
    fileprivate var isLineError: Bool {
        switch self {
        case .idReused, .noImage, .unknownVersion, .unknownType, .versionNotAllowed, .schemaNewer, .programNeeded: true
        default: isNotAnEvent
        }
    }

    /// Whether the line does not even have the form of an event.
    var isNotAnEvent: Bool {
        switch self {
        case .invalidLine, .invalidJSON: true
        default: false
        }
    }
}

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
        // No import can have appended a line that stops it, or whose id is not in the store. Of an open line it may have had the rest.
        let whole = entries.last?.chunk.lastWholeLine ?? 0
        let strange = options.onError == .stop ? ids.union(refused.filter { $0 <= whole }) : ids
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
