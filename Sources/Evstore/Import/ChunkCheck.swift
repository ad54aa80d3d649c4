internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Migration
internal import Projections

/// One line of an input that may be appended.
struct CheckedLine: Sendable {
    var line: UInt64
    var event: StoredEvent
    /// Whether the line gives the event's time.
    var hasTime: Bool
    /// The id without its source, by which an import of an earlier program may have appended a CloudEvent.
    var plainID: EventID?
    /// A checksum over the event in canonical form, where the line gives an id; else 0.
    var content: UInt64
    /// The result of adoption, for data from before versions existed.
    var adopted: AdoptedLine?
}

/// A chunk of lines, read and checked by one worker.
struct CheckedChunk: Sendable {
    /// The lines that may be appended; in a check without appending, only those that the importer has to examine further.
    var lines: [CheckedLine] = []
    var refused: [RefusedLine] = []
    /// Lines that were refused and told before.
    var leftOut: Set<UInt64> = []
    /// The first line that no mark covers. The lines before it are not appended together with those from it on.
    var new: UInt64
    /// Lines that are not blank.
    var read: UInt64 = 0
    /// Lines that may be appended and are not among `lines`.
    var plain: UInt64 = 0
    var streamMismatches: UInt64 = 0
    var reading: Importer.Reading
}

extension LineChunk {
    /// Reads and checks the lines that are to be read. Lines that are only to be applied are checked all the same if they, or the store's
    /// versions, are not those of the earlier reading.
    func check(
        by validator: AppendValidator, _ form: LineForm, _ pass: Importer.Pass, after earlier: Importer.EarlierReading,
        opening sealer: LineSealer?
    ) -> CheckedChunk {
        let reading = Importer.Reading(checksum: checksum(of: text.buffer, count: ends.last ?? 0), stamp: validator.stamp)
        let pass = pass == .applying && reading != earlier.reading ? .streaming : pass
        var result = CheckedChunk(new: firstLine + UInt64(covered), reading: reading)
        var reader = LineReader(validator, form, pass, sealer)
        if pass != .checking { result.lines.reserveCapacity(ends.count - covered) }
        for index in ends.indices where isRead(index) && !isBlank(index) {
            let line = firstLine + UInt64(index)
            result.read += 1
            if !earlier.refused.isEmpty, earlier.refused.contains(line) {
                result.leftOut.insert(line)
                continue
            }
            let range = range(of: index)
            reader.isLeftOut = leftOut[line] != nil
            do { try reader.read(line, text.buffer, range, into: &result) } catch {
                result.refused.append(RefusedLine(line: line, error: error))
            }
        }
        if pass != .applying { result.refuseUnmerged(by: validator) }
        return result
    }
}

private func checksum(of text: borrowing ByteBuffer, count: Int) -> UInt64 { checksum(text.slice(0, count)) }

/// Reads lines and checks them, or converts them to the events to store. One per chunk.
private struct LineReader: ~Copyable {
    private let validator: AppendValidator
    private let pass: Importer.Pass
    /// The limits for a line that is read in one pass: its few other members count as the payload's.
    private let limits: JSONLimits
    private let now = Timestamp.now
    private var scan = LineScan()
    private var parser: EventLineParser
    private let sealer: LineSealer?
    /// Whether the importer has to look for the event of the line.
    var isLeftOut = false

    init(_ validator: AppendValidator, _ form: LineForm, _ pass: Importer.Pass, _ sealer: LineSealer?) {
        (self.validator, self.pass, self.sealer) = (validator, pass, sealer)
        let options = form.options
        limits = JSONLimits(
            depth: options.jsonDepthMax + 1, members: options.jsonMembersMax, bytes: EventLineParser.lineBytesMax(options))
        parser = EventLineParser(form)
    }

    mutating func read(
        _ line: UInt64, _ text: borrowing ByteBuffer, _ range: Range<Int>, into chunk: inout CheckedChunk
    ) throws(EvstoreError) {
        if try !readPlain(line, text, range, into: &chunk) { try parse(line, text, range, into: &chunk) }
    }

    /// Reads a line of the usual form; returns false where the line needs the parser.
    private mutating func readPlain(
        _ line: UInt64, _ text: borrowing ByteBuffer, _ range: Range<Int>, into chunk: inout CheckedChunk
    ) throws(EvstoreError) -> Bool {
        if parser.form.isOldData { return false }
        let bytes = text.bytes
        if pass != .applying {
            do { _ = try JSONScanner.validate(bytes.slice(range.lowerBound, range.count), limits: limits) } catch { return false }
        }
        guard let fields = scan.fields(of: text, range.lowerBound, range.upperBound), let entry = try validator.entry(for: fields, bytes)
        else { return false }
        if pass != .applying {
            if try !validator.check(fields, entry, text, time: now) { chunk.streamMismatches += 1 }
        }
        if pass == .checking, fields.id == nil, entry.merging.isEmpty, !isLeftOut {
            chunk.plain += 1
            return true
        }
        let event = try validator.stored(fields, entry, bytes, time: now)
        chunk.lines.append(
            CheckedLine(
                line: line, event: event, hasTime: fields.time != nil, content: event.id == nil ? 0 : try event.contentChecksum()))
        return true
    }

    private mutating func parse(
        _ line: UInt64, _ text: borrowing ByteBuffer, _ range: Range<Int>, into chunk: inout CheckedChunk
    ) throws(EvstoreError) {
        var parsed = try parsed(text.slice(range.lowerBound, range.count))
        try parsed.nameStream(by: validator.history, bornAt: validator.rules.version)
        var event = parsed.event
        let adopted = try validator.adopt(&event, line: line, at: now)
        let stored: StoredEvent
        if pass == .applying {
            stored = try validator.stored(event, at: now)
        } else {
            stored = try validator.admit(event, at: now)
            if try !validator.isInItsStream(stored) { chunk.streamMismatches += 1 }
        }
        chunk.lines.append(
            CheckedLine(
                line: line, event: stored, hasTime: event.time != nil, plainID: parsed.plainID,
                content: event.id == nil ? 0 : try stored.contentChecksum(), adopted: adopted))
    }

    /// Parses a line; opens it first where it is sealed.
    private mutating func parsed(_ line: RawSpan) throws(EvstoreError) -> ParsedLine {
        guard let sealed = SealedLine(line) else { return try parser.parse(line, isValid: pass == .applying) }
        var opened = ByteBuffer(capacity: line.byteCount)
        try sealed.open(by: sealer, into: &opened)
        return try parser.parse(opened.bytes, isEvent: true)
    }
}

extension CheckedChunk {
    /// Refuses lines that have no image beside those that they would be appended with, until all that are left have one.
    mutating func refuseUnmerged(by validator: AppendValidator) {
        guard validator.merges else { return }
        lines = together(lines.filter { $0.line < new }, by: validator) + together(lines.filter { $0.line >= new }, by: validator)
    }

    private mutating func together(_ lines: [CheckedLine], by validator: AppendValidator) -> [CheckedLine] {
        var lines = lines
        while true {
            var failures: [Int: EvstoreError] = [:]
            do { failures = try validator.mergeFailures(of: lines.map(\.event)) } catch {
                for index in lines.indices { failures[index] = error }
            }
            if failures.isEmpty { return lines }
            refused += failures.map { RefusedLine(line: lines[$0.key].line, error: $0.value) }
            lines = lines.indices.filter { failures[$0] == nil }.map { lines[$0] }
        }
    }
}

extension StoredEvent {
    /// A checksum over the content of the event, however its JSON is written.
    fileprivate func contentChecksum() throws(EvstoreError) -> UInt64 {
        var text = ByteBuffer(capacity: payload.count + 64)
        text.append(stream.text)
        text.append(UInt8(ascii: " "))
        text.append(type)
        text.append(UInt8(ascii: " "))
        do { try Canonical.write(payload.lent, into: &text) } catch { throw EvstoreError(converting: error) }
        return checksum(text.bytes)
    }
}

extension NewEvent {
    /// The event as it would be given to an append: the reverse of preparing it for storage.
    init(_ event: StoredEvent) {
        self.init(
            stream: event.stream, type: event.type, payload: event.payload, metadata: event.metadata.isEmpty ? nil : event.metadata,
            id: event.id, time: event.time, version: event.born)
    }
}
