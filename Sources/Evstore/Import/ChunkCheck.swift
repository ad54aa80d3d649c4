internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Migration
internal import Projections
internal import SchemaEvolution

/// One line of an input that may be appended.
struct CheckedLine: Sendable {
    var line: UInt64
    var event: StoredEvent
    /// Whether the line gives the event's time.
    var hasTime: Bool
    /// The id without its source, by which an import of an earlier program may have appended a CloudEvent.
    var plainID: EventID?
    /// A checksum over the event in canonical form, where the line gives an id and was not checked before; else 0.
    var content: UInt64
    var adopted: AdoptedLine?
}

/// A chunk of lines, read and checked by one worker.
struct CheckedChunk: Sendable {
    /// The lines that may be appended; in a check without appending, only those that the importer has to examine further.
    var lines: [CheckedLine] = []
    var refused: [RefusedLine] = []
    /// Lines with ids that are refused unless the store has their events, which it may have taken when other versions were live.
    var unfit: [(line: CheckedLine, error: EvstoreError)] = []
    /// Whether some of `lines` have no image beside the others. Those that the store has are removed before any is refused for that.
    var isUnmerged = false
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

    /// Whether a line that is not refused gives an id.
    var givesIDs: Bool { !unfit.isEmpty || lines.contains { $0.event.id != nil } }

    /// Whether lines are refused unless the store has events of this chunk.
    var dependsOnStore: Bool { isUnmerged || !unfit.isEmpty }
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
                if let unfit = reader.unfit(line, text.buffer, range) {
                    result.refuse(unfit, error)
                } else {
                    result.refused.append(RefusedLine(line: line, error: error))
                }
            }
        }
        if pass != .applying { result.checkMerges(by: validator) }
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
                line: line, event: event, hasTime: fields.time != nil, content: try content(of: event)))
        return true
    }

    private mutating func parse(
        _ line: UInt64, _ text: borrowing ByteBuffer, _ range: Range<Int>, into chunk: inout CheckedChunk
    ) throws(EvstoreError) {
        var parsed = try parser.parse(text.slice(range.lowerBound, range.count), isValid: pass == .applying, opening: sealer)
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
                content: try content(of: stored), adopted: adopted))
    }

    /// A line that was refused; nil where it holds no event.
    mutating func unfit(_ line: UInt64, _ text: borrowing ByteBuffer, _ range: Range<Int>) -> CheckedLine? {
        if parser.form.isOldData { return nil }
        do {
            var parsed = try parser.parse(text.slice(range.lowerBound, range.count), opening: sealer)
            try parsed.nameStream(by: validator.history, bornAt: validator.rules.version)
            let event = parsed.event
            let stored = StoredEvent(
                stream: event.stream, type: event.type, born: event.version ?? validator.rules.version, payload: event.payload,
                metadata: event.metadata ?? [], id: event.id, time: event.time ?? now)
            return CheckedLine(line: line, event: stored, hasTime: event.time != nil, plainID: parsed.plainID, content: 0)
        } catch { return nil }
    }

    private func content(of event: StoredEvent) throws(EvstoreError) -> UInt64 {
        event.id == nil || pass == .applying ? 0 : try event.contentChecksum()
    }
}

extension CheckedChunk {
    /// Refuses a line that may not be appended; one that gives an id, only where the store does not have its event.
    mutating func refuse(_ line: CheckedLine, _ error: EvstoreError) {
        if line.event.id == nil {
            refused.append(RefusedLine(line: line.line, error: error))
        } else {
            unfit.append((line, error))
        }
    }

    /// Refuses lines that have no image beside those that they would be appended with. Where lines give ids, it only notes that there are
    /// such lines.
    mutating func checkMerges(by validator: AppendValidator) {
        var merged = self
        merged.refuseUnmerged(by: validator)
        isUnmerged = merged.lines.count < lines.count && givesIDs
        if !isUnmerged { self = merged }
    }

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

/// The members of an event line as byte ranges in its chunk. Ranges of strings exclude the quotes.
struct LineFields {
    var stream: Range<Int>
    var type: Range<Int>
    var payload: Range<Int>
    /// Empty where there is none.
    var metadata: Range<Int>
    var id: Range<Int>?
    var time: Timestamp?
    var version: SchemaVersion?
}

/// Finds the members of event lines in place. Reused from line to line; allocates nothing.
///
/// It reads lines of this product's own form whose names have no escapes, as almost all are. For every other line it returns nil, and so
/// for one with a stream, id, time or version that is refused: the parser reads it, and names the error.
struct LineScan: ~Copyable {
    private var slots = UniqueArray<ValueSlot>(repeating: ValueSlot(kind: .null), count: Member.all.count)
    private var order = MemberOrder()
    private let members = KnownMembers(Member.all)

    private enum Member {
        static let (stream, type, data, id, time, metadata, version) = (0, 1, 2, 3, 4, 5, 6)
        /// In the order of the numbers. The members after `version` come from exports and are ignored.
        static let all =
            [
                known("stream", [.string], isRequired: true), known("type", [.string], isRequired: true),
                known("data", [.object], isRequired: true), known("id", [.string, .null]), known("time", [.string, .null]),
                known("metadata", [.object, .null]), known("version", [.number]),
            ] + ["position", "revision", "born", "part", "epoch"].map { KnownMember(MemberName($0), kinds: .max, isRequired: false) }

        private static func known(_ name: String, _ kinds: [JSONKind], isRequired: Bool = false) -> KnownMember {
            KnownMember(MemberName(name), kinds: kinds.reduce(0) { $0 | 1 << $1.rawValue }, isRequired: isRequired)
        }
    }

    /// The fields of the line from `start` to `end`, which must be one JSON value.
    mutating func fields(of text: borrowing ByteBuffer, _ start: Int, _ end: Int) -> LineFields? {
        order.begin()
        guard let members, text.byte(at: start) == UInt8(ascii: "{"),
            let scanned = members.scan(text, at: start, base: 0, into: &slots, order: &order), scanned <= end,
            let stream = plainText(Member.stream), let type = plainText(Member.type)
        else { return nil }
        var fields = LineFields(stream: stream, type: type, payload: place(Member.data), metadata: 0 ..< 0)
        guard StreamName.isValid(text.slice(stream.lowerBound, stream.count)) else { return nil }
        if isThere(Member.metadata) { fields.metadata = place(Member.metadata) }
        if isThere(Member.id) {
            guard let id = plainText(Member.id), EventID.isValid(text.slice(id.lowerBound, id.count)) else { return nil }
            fields.id = id
        }
        if isThere(Member.time) {
            guard let range = plainText(Member.time), let time = Timestamp(utf8: text.slice(range.lowerBound, range.count)) else {
                return nil
            }
            fields.time = time
        }
        if isThere(Member.version) {
            guard let version = number(text, Member.version) else { return nil }
            fields.version = SchemaVersion(version)
        }
        return fields
    }

    /// Whether a member has a value other than null.
    private func isThere(_ member: Int) -> Bool { slots[member].kind != .null }

    private func place(_ member: Int) -> Range<Int> { Int(slots[member].start) ..< Int(slots[member].end) }

    private func plainText(_ member: Int) -> Range<Int>? {
        let slot = slots[member]
        return slot.kind == .string && !slot.hasEscapes ? Int(slot.start) + 1 ..< Int(slot.end) - 1 : nil
    }

    private func number(_ text: borrowing ByteBuffer, _ member: Int) -> UInt32? {
        let range = place(member)
        guard range.count < 10 else { return nil }
        return text.slice(range.lowerBound, range.count).number(at: 0, digits: range.count).map { UInt32($0) }
    }
}

/// Validates events that lie in a text: no event value is created before the event is to be appended.
extension AppendValidator {
    /// The checks for the event of a line; nil where the store keeps more of such an event than the line says (shadows), and where the
    /// event is refused for its version or its size.
    func entry(for line: LineFields, _ text: RawSpan) throws(EvstoreError) -> Entry? {
        let birth = line.version ?? rules.version
        guard birth.rawValue > 0, allows(birth), options.allowsEvent(payloadBytes: line.payload.count, metadataBytes: line.metadata.count)
        else { return nil }
        let name = text.slice(line.type)
        if let last = lastEntry, last.birth == birth, name.equals(utf8: last.type) { return last.shadowed.isEmpty ? last : nil }
        guard let type = String(utf8: name), type.utf8.count <= options.typeNameBytesMax else { return nil }
        let entry = try entry(type, birth)
        return entry.shadowed.isEmpty ? entry : nil
    }

    /// Checks the event of a line that is valid JSON. Returns whether its stream is the one that its type's template names.
    func check(_ line: LineFields, _ entry: Entry, _ text: borrowing ByteBuffer, time: Timestamp) throws(EvstoreError) -> Bool {
        let payload = text.slice(line.payload.lowerBound, line.payload.count)
        let stream = text.slice(line.stream.lowerBound, line.stream.count)
        let isPlain = entry.plain?.accepts(validIn: text, line.payload, &scratch) ?? false
        if !isPlain, let shape = entry.shape { try shape.check(payload, type: entry.type, at: entry.birth) }
        var isInItsStream = true
        if let template = entry.stream {
            isInItsStream = template.names(stream, for: payload, using: &streamName)
            if !isInItsStream, rules.enforcesStream {
                throw streamMismatch(given: String(utf8: stream) ?? "", payload, template, entry.type, at: entry.birth)
            }
        }
        if entry.targets.isEmpty { return isInItsStream }
        try checkImages(
            entry, payload: payload, stream: StreamName(unchecked: String(utf8: stream) ?? ""),
            metadata: text.slice(line.metadata.lowerBound, line.metadata.count), time: line.time ?? time)
        return isInItsStream
    }

    func stored(_ line: LineFields, _ entry: Entry, _ text: RawSpan, time: Timestamp) throws(EvstoreError) -> StoredEvent {
        var event = StoredEvent(
            stream: StreamName(unchecked: String(utf8: text.slice(line.stream)) ?? ""), type: entry.type, born: entry.birth,
            payload: [UInt8](copying: text.slice(line.payload)), time: line.time ?? time)
        if !line.metadata.isEmpty { event.metadata = [UInt8](copying: text.slice(line.metadata)) }
        if let id = line.id { event.id = EventID(unchecked: String(utf8: text.slice(id)) ?? "") }
        try addRest(to: &event, entry)
        return event
    }
}

extension StreamTemplate {
    /// Whether it names a stream for a valid payload.
    /// - Parameter name: a buffer that the call overwrites.
    func names(_ stream: RawSpan, for payload: RawSpan, using name: inout ByteBuffer) -> Bool {
        name.removeAll()
        do { try appendName(for: payload, to: &name) } catch { return false }
        return name.bytes.equals(stream)
    }

    func names(_ stream: StreamName, for payload: RawSpan, using name: inout ByteBuffer) -> Bool {
        name.removeAll()
        do { try appendName(for: payload, to: &name) } catch { return false }
        return name.bytes.equals(utf8: stream.text)
    }
}

extension RawSpan {
    @_lifetime(copy self)
    fileprivate func slice(_ range: Range<Int>) -> RawSpan { slice(range.lowerBound, range.count) }
}
