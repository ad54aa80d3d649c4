internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

extension Importer {
    /// Removes lines whose id is in the store or in an earlier line: an equal event is skipped, a different one refused.
    func resolveIDs(_ chunk: inout CheckedChunk, _ pass: Pass) throws(EvstoreError) {
        guard chunk.lines.contains(where: { $0.event.id != nil }) else { return }
        var seen = pass == .checking ? contents : [:]
        let sameID = options.sameID
        var repeated: UInt64 = 0
        let (all, store) = (chunk.lines, store)
        let history = try store.evolving.current().history
        var (lines, refused): ([CheckedLine], [RefusedLine]) = ([], [])
        var made = GeneratedIDs()
        lines.reserveCapacity(all.count)
        try store.log.reading { reader in
            for line in all {
                guard let id = line.event.id else {
                    lines.append(line)
                    continue
                }
                do {
                    if let content = seen[id] {
                        guard content == line.content || sameID == .keepFirst else { throw EvstoreError.usedAbove(id) }
                        repeated += 1
                    } else if let position = try reader.position(of: id) ?? made.position(of: id, reader) {
                        _ = try store.receipt(
                            of: StoredAppend(position, line.event.born, history), for: [NewEvent(line.event)], sameID, reader)
                        repeated += 1
                    } else if try hasPlainID(line, history, reader) {
                        repeated += 1
                    } else {
                        seen[id] = line.content
                        lines.append(line)
                    }
                } catch let error as EvstoreError where error.isLineError {
                    refused.append(RefusedLine(line: line.line, error: error))
                }
            }
        }
        if pass == .checking { contents = seen }
        (chunk.lines, report.skipped) = (lines, report.skipped + repeated)
        chunk.refused += refused
        // Lines that were to be merged with a removed line may lack an image now.
        if lines.count < all.count, history.mergesEvents { chunk.refuseUnmerged(by: try store.validator(rules)) }
    }

    /// Whether a CloudEvent was imported by an earlier program, which took its id without its source: an event with that id has the same
    /// content and time, and no source. That event counts for one source only.
    private func hasPlainID(_ line: CheckedLine, _ history: History, _ reader: borrowing LogReader) throws -> Bool {
        guard line.hasTime, let plain = line.plainID, plainIDs[plain, default: line.event.id ?? plain] == line.event.id,
            let position = try reader.position(of: plain)
        else { return false }
        let isOfItsTime = try reader.record(at: position) { record in
            record.time == line.event.time && !CloudEvent.isNamed(in: record.metadata)
        }
        guard isOfItsTime == true else { return false }
        let isSame = try store.compare(StoredAppend(position, line.event.born, history), with: [NewEvent(line.event)], reader).isSame
        if isSame { plainIDs[plain] = line.event.id }
        return isSame
    }

    /// Appends a chunk and writes its mark, if it has one, in the same commit.
    func append(_ chunk: CheckedChunk, _ mark: ImportMark?) async throws(EvstoreError) {
        var chunk = chunk
        while !chunk.lines.isEmpty {
            let resolved = try store.resolved(chunk.lines.map(\.event), at: rules.version, store.evolving.current().history)
            let request = AppendRequest(
                events: resolved.events, conditions: resolved.conditions, validated: chunk.stamp,
                rows: mark.map { [AttachedRow(.imports, key: $0.hash.bytes, value: $0.value)] } ?? [],
                deadline: .within(store.options.appendDeadline))
            let outcome: AppendOutcome?
            // Order: in a task of its own, since a cancelled import still appends the lines that it has taken from a pipe.
            do { outcome = try await Task { [log = store.log] in try await log.append(request) }.value } catch EvstoreError.idReused {
                outcome = nil
            } catch {
                guard let failure = resolved.failure(EvstoreError(converting: error, at: store.path)) else { continue }
                throw failure
            }
            switch outcome {
            case .appended(let receipt):
                report.add(chunk)
                report.position = receipt.position
                if let mark { note(mark) }
                return
            case .revalidate: try recheck(&chunk)
            // Another caller has just appended one of the ids.
            case .known, nil: try resolveIDs(&chunk, .streaming)
            }
            try refuse(&chunk)
        }
        guard let mark else { return }
        try await store.leave(mark)
        note(mark)
    }

    /// Checks a chunk again, because the store's versions have changed since.
    private func recheck(_ chunk: inout CheckedChunk) throws(EvstoreError) {
        let validator = try store.validator(rules)
        let now = Timestamp.now
        chunk.stamp = validator.stamp
        var kept: [CheckedLine] = []
        for var line in chunk.lines {
            do {
                line.event = try validator.admit(NewEvent(line.event), at: now)
                kept.append(line)
            } catch { chunk.refused.append(RefusedLine(line: line.line, error: error)) }
        }
        chunk.lines = kept
        chunk.refuseUnmerged(by: validator)
    }

    /// Stops at lines that were refused only now, or lists them.
    private func refuse(_ chunk: inout CheckedChunk) throws(EvstoreError) {
        guard let bad = chunk.refused.min(by: { $0.line < $1.line }) else { return }
        if options.onError == .stop { throw .refusedLine(bad.line, file: name, bad.error) }
        report.note(chunk.refused)
        chunk.refused = []
    }
}

extension CheckedChunk {
    /// Only the lines of a range, and none of the refused.
    func only(_ range: Range<UInt64>) -> CheckedChunk {
        var copy = self
        copy.lines.removeAll { !range.contains($0.line) }
        copy.refused = []
        return copy
    }
}

extension StoredAppend {
    fileprivate init(_ position: Position, _ version: SchemaVersion, _ history: History) {
        self.init(position: position, version: version, history: history, isAlone: true)
    }
}

extension EvstoreError {
    /// Whether the line is refused for its content, and not because the store can't be read.
    fileprivate var isLineError: Bool {
        switch self {
        case .idReused, .invalidLine, .invalidJSON: true
        default: false
        }
    }

    /// Whether the line does not even have the form of an event.
    var isNotAnEvent: Bool {
        switch self {
        case .invalidLine, .invalidJSON: true
        default: false
        }
    }

    static func usedAbove(_ id: EventID) -> EvstoreError {
        .invalidLine(reason: "\(quoted(id.text)) is the id of an earlier line that says something else", pointer: "/id")
    }
}
