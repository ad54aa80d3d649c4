internal import Bytes
internal import EventModel
package import Hashing
internal import Sealing

/// The fields of a record's head that describe the parts behind it.
struct RecordBody {
    var payloadBytes = 0
    var metadataBytes = 0
    /// The flags that do not follow from the event itself.
    var flags: UInt16 = 0
}

/// A block under construction: first its records, then the parts before and behind them. Its buffers are reused.
package struct BlockDraft: ~Copyable {
    /// The fields that all blocks of a commit share.
    struct Commit {
        var storeTag: UInt64
        var epoch: Epoch
        var time: Int64
        var isSealed = false
        /// Nil where each record has its own envelope, or none.
        var whole: Whole?
        var codes: StoreCodes?

        /// How blocks are sealed as a whole.
        struct Whole {
            let key: DataKey
            let storeID: StoreID
        }

        fileprivate var marks: UInt32 {
            (isSealed ? BlockLayout.Mark.sealed : 0) | (codes == nil ? 0 : BlockLayout.Mark.coded)
                | (whole == nil ? 0 : BlockLayout.Mark.whole)
        }
    }

    private(set) var first = Position.start
    private var types: [(id: TypeID, name: String)] = []
    private var typesBytes = 0
    /// The bytes behind the records: the code, if any, and the checksum.
    private var endBytes = BlockLayout.checksumBytes
    private var offsets: [Int] = []
    private var records = ByteBuffer(capacity: BlockLayout.bytesMax)
    /// The plain text of the envelope of a block that is sealed as a whole: the bodies of its records (`PlainParts`).
    private var secrets = ByteBuffer(capacity: 16)
    private var envelope = ByteBuffer(capacity: 16)
    private var sealer = BlockSealer()
    /// Nil where the block is not sealed as a whole.
    private var suite: Suite?
    private var block = ByteBuffer(capacity: BlockLayout.bytesMax)

    var text: RawSpan {
        @_lifetime(borrow self)
        get { block.bytes }
    }

    var isEmpty: Bool { offsets.isEmpty }

    var next: Position { first.plus(UInt64(offsets.count)) }

    /// The memory that the draft takes once completed.
    var roomBytes: Int { records.capacity + block.capacity + secrets.capacity + envelope.capacity }

    mutating func begin(at first: Position, _ commit: Commit) {
        self.first = first
        endBytes = BlockLayout.checksumBytes + (commit.codes == nil ? 0 : BlockLayout.codeBytes)
        types.removeAll(keepingCapacity: true)
        typesBytes = 0
        offsets.removeAll(keepingCapacity: true)
        records.removeAll()
        secrets.removeAll()
        suite = commit.whole?.key.suite
    }

    // MARK: Records

    /// Adds one event of a span; false where the block is full, and nothing is added.
    /// - Parameter envelope: replaces the event's parts in a sealed block, or is the event's body where the block is sealed as a whole;
    ///   else empty.
    mutating func add(_ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.AssignedFields, _ envelope: RawSpan) -> Bool {
        let isSealed = !envelope.isEmpty
        let isWhole = suite != nil
        let payloadBytes = isWhole ? 0 : isSealed ? envelope.byteCount : events[index].payload.count
        let metadataBytes = isSealed ? 0 : events[index].metadata.count
        // A condition with && here ends the optimizing compiler (6.3.1): it copies the span into a closure.
        let hasShadow = isSealed ? false : !events[index].shadow.isEmpty
        let size =
            Self.headBytes(events, index, place) + payloadBytes + metadataBytes
            + (hasShadow ? BlockLayout.shadowBytes + events[index].shadow.count : 0) + (isWhole ? envelope.byteCount : 0)
        let isNewType = !types.contains { $0.id == place.type }
        let nameCost = isNewType ? 5 + events[index].type.utf8.count : 0
        if !isEmpty && bytes + BlockLayout.entryBytes + size + nameCost > BlockLayout.bytesMax { return false }
        if isNewType {
            types.append((place.type, events[index].type))
            typesBytes += nameCost
        }
        offsets.append(records.count)
        let body = RecordBody(
            payloadBytes: payloadBytes, metadataBytes: metadataBytes, flags: hasShadow ? BlockLayout.Flag.shadow : 0)
        Self.appendHead(events, index, place, body, to: &records)
        if isWhole {
            secrets.append(envelope)
            return true
        }
        if isSealed {
            records.append(envelope)
            return true
        }
        records.append(events[index].payload)
        records.append(events[index].metadata)
        if hasShadow {
            records.append(littleEndian: UInt32(events[index].shadow.count))
            records.append(events[index].shadow)
        }
        return true
    }

    @inline(__always)
    private static func headBytes(_ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.AssignedFields) -> Int {
        let given = events[index].id
        let isText = given != nil && given?.uuid == nil
        return BlockLayout.recordBytes + (isText ? given.map { $0.text.utf8.count } ?? 0 : 16)
            + (place.revision == 0 ? events[index].stream.text.utf8.count : 0)
    }

    /// Appends the part of a record before the event's payload.
    @inline(__always)
    static func appendHead(
        _ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.AssignedFields, _ body: RecordBody, to records: inout ByteBuffer
    ) {
        let givenUUID = events[index].id?.uuid
        let isText = events[index].id != nil && givenUUID == nil
        let nameBytes = place.revision == 0 ? events[index].stream.text.utf8.count : 0
        var flags = body.flags
        if place.revision == 0 { flags |= BlockLayout.Flag.named }
        if place.isSameAppend { flags |= BlockLayout.Flag.sameAppend }
        if events[index].id != nil { flags |= BlockLayout.Flag.idGiven }
        if isText { flags |= BlockLayout.Flag.idText }
        records.append(littleEndian: place.stream)
        records.append(littleEndian: place.revision)
        records.append(littleEndian: place.previous)
        records.append(littleEndian: place.jump)
        records.append(littleEndian: events[index].time.microseconds)
        records.append(littleEndian: place.type)
        records.append(littleEndian: events[index].born.rawValue)
        records.append(littleEndian: UInt32(body.payloadBytes))
        records.append(littleEndian: UInt32(body.metadataBytes))
        records.append(littleEndian: flags)
        records.append(UInt8(isText ? events[index].id.map { $0.text.utf8.count } ?? 0 : 16))
        records.append(UInt8(nameBytes))
        if isText, let id = events[index].id {
            records.append(id.text)
        } else {
            let uuid = givenUUID ?? place.madeID ?? (0, 0)
            records.append(littleEndian: uuid.0.byteSwapped)
            records.append(littleEndian: uuid.1.byteSwapped)
        }
        if nameBytes > 0 { records.append(events[index].stream.text) }
    }

    /// Adds a record as it is in another block.
    /// - Parameter secret: the record's body, where the block is sealed as a whole.
    mutating func add(copyOf record: borrowing RecordView, _ names: TypeNames, secret: RawSpan = RawSpan()) {
        secrets.append(secret)
        if !types.contains(where: { $0.id == record.type }) {
            let name = names[record.type] ?? ""
            types.append((record.type, name))
            typesBytes += 5 + name.utf8.count
        }
        offsets.append(records.count)
        records.append(record.bytes)
    }

    private var bytes: Int {
        BlockLayout.headerBytes + typesBytes + BlockLayout.entryBytes * offsets.count + records.count + endBytes
            + (suite.map { BlockSealer.bytesMax(ofBody: secrets.count, $0) } ?? 0)
    }

    // MARK: Around them

    /// Completes the block; returns its link.
    /// - Throws: `EvstoreError.misuse` where its records can't be sealed.
    mutating func complete(_ commit: Commit, after previous: Digest) throws(EvstoreError) -> Digest {
        types.sort { $0.id < $1.id }
        block.removeAll()
        block.append(littleEndian: BlockLayout.magic)
        block.append(littleEndian: commit.epoch.rawValue)
        block.append(littleEndian: commit.storeTag)
        block.append(littleEndian: first.rawValue)
        block.append(littleEndian: commit.time)
        block.append(littleEndian: types.reduce(0 as UInt64) { $0 | 1 << UInt64($1.id % 64) })
        block.append(littleEndian: UInt32(offsets.count))
        block.append(littleEndian: 0 as UInt32)
        for _ in 0 ..< 4 { block.append(littleEndian: 0 as UInt64) }
        block.append(littleEndian: commit.marks)
        block.append(littleEndian: UInt32(BlockLayout.headerBytes + typesBytes))
        for (id, name) in types {
            block.append(littleEndian: id)
            block.append(UInt8(name.utf8.count))
            block.append(name)
        }
        appendOffsets(commit)
        Self.append(records, to: &block)
        if let whole = commit.whole { try seal(commit.epoch, whole) }
        block.store(littleEndian: UInt32(block.count + endBytes), at: BlockLayout.Header.bytes)
        let link = Self.link(after: previous, block.bytes)
        link.store(in: &block, at: BlockLayout.Header.link)
        if let codes = commit.codes { Self.appendCode(codes, to: &block) }
        let sum = checksum(block.bytes)
        block.append(littleEndian: sum)
        return link
    }

    /// Appends the envelope of all records.
    private mutating func seal(_ epoch: Epoch, _ whole: Commit.Whole) throws(EvstoreError) {
        var binding = RecordBinding(whole.storeID)
        binding.begin(epoch, first)
        Self.bind(block, to: &binding)
        envelope.removeAll()
        let isOne = offsets.count == 1
        do throws(SealError) {
            try Self.lend(secrets, binding) { (secrets, associated) throws(SealError) in
                try sealer.seal(secrets, ofOne: isOne, under: whole.key, associated, into: &envelope)
            }
        } catch { throw .misuse("events can't be sealed: \(error.reason)") }
        Self.append(envelope, to: &block)
    }

    private static func bind(_ block: borrowing ByteBuffer, to binding: inout RecordBinding) {
        binding.append(blockWithoutEnvelope: block.bytes)
    }

    private static func lend(
        _ secrets: borrowing ByteBuffer, _ binding: borrowing RecordBinding, _ body: (RawSpan, RawSpan) throws(SealError) -> Void
    ) throws(SealError) {
        try body(secrets.bytes, binding.bytes)
    }

    private mutating func appendOffsets(_ commit: Commit) {
        let start = block.count + BlockLayout.entryBytes * offsets.count
        for (index, offset) in offsets.enumerated() {
            let end = index + 1 < offsets.count ? offsets[index + 1] : records.count
            let place = BlockLayout.place(commit.storeTag, commit.epoch, first.plus(UInt64(index)))
            block.append(littleEndian: UInt32(start + offset))
            block.append(littleEndian: UInt32(truncatingIfNeeded: checksum(records.bytes.slice(offset, end - offset))) ^ place)
        }
    }

    private static func append(_ records: borrowing ByteBuffer, to block: inout ByteBuffer) { block.append(records.bytes) }

    private static func appendCode(_ codes: StoreCodes, to block: inout ByteBuffer) {
        var code = ByteBuffer(capacity: BlockLayout.codeBytes)
        codes.blocks.appendCode(of: block.bytes, to: &code)
        block.append(code.bytes)
    }

    /// SHA-256(previous link || block without its code and its checksum, with zeros in the link's place).
    package static func link(after previous: Digest, _ block: RawSpan) -> Digest {
        let afterLink = BlockLayout.Header.link + BlockLayout.Header.linkBytes
        var hasher = SHA256Hasher()
        hasher.update(previous)
        hasher.update(block.slice(0, BlockLayout.Header.link))
        hasher.update(Digest.zero)
        hasher.update(block.slice(afterLink, block.byteCount - afterLink))
        return hasher.finalize()
    }
}
