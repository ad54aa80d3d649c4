internal import Bytes
internal import EventModel
internal import Sealing

/// Opens blocks and records of a sealed log: copies them, with payload and metadata in the layout of a log without keys. Its buffers are
/// reused.
package struct RecordOpener: ~Copyable {
    private let keys: StoreKeys
    private var cipher: RecordCipher
    private var block: BlockOpener
    /// The file of the subjects' keys as it was found for the current block or record.
    private var look = SubjectKeys.SlotLookup()
    /// The opened contents of the record's envelope, and of the personal one within.
    private var outer = OpenedRecord()
    private var inner = OpenedRecord()
    private var text = ByteBuffer(capacity: BlockLayout.bytesMax)

    init(_ keys: StoreKeys, _ storeID: StoreID) {
        self.keys = keys
        cipher = RecordCipher(storeID)
        block = BlockOpener(storeID)
    }

    /// The types and birth versions whose personal parts are left closed.
    package struct ClosedKinds {
        let keys: Set<IndexEntries.CensusKey>

        func contains(_ record: borrowing RecordView) -> Bool {
            keys.contains(IndexEntries.CensusKey(type: record.type, born: record.born.rawValue))
        }
    }

    package enum PersonalPartPolicy {
        case opened
        /// No part is opened: records read as if their personal data had been forgotten.
        case left
        /// Parts of events of these kinds are left closed, and marked so; others are opened.
        case leftClosed(ClosedKinds)
        /// Each part is opened unless its key is damaged or belongs to another stream: then it is left out and marked as lost.
        case leftWhereLost
    }

    /// Lends a block with the records of its `indices` opened; the copy lacks the others.
    /// - Throws: `SlotDamage` beside others.
    package mutating func lend<R>(
        _ block: borrowing BlockView, _ persons: PersonalPartPolicy, _ body: (borrowing BlockView) throws -> R
    ) throws -> R {
        text.removeAll()
        text.append(block.head)
        clearMark()
        look = SubjectKeys.SlotLookup()
        let table = text.count
        if block.isWhole { try self.block.open(block.bytes, keys) }
        text.append(zeros: block.count * BlockLayout.entryBytes)
        for index in block.indices {
            text.store(littleEndian: UInt32(text.count), at: table + index * BlockLayout.entryBytes)
            try append(block.record(index), in: block.epoch, sealedAt: block.first, persons)
        }
        return try body(BlockView(opened: text.bytes, block))
    }

    /// Lends a record, opened.
    /// - Throws: `SlotDamage` beside others.
    mutating func lend<R>(_ record: borrowing RecordView, _ body: (borrowing RecordView) throws -> R) throws -> R {
        text.removeAll()
        text.append(record.blockBytes.slice(0, BlockLayout.headerBytes))
        clearMark()
        look = SubjectKeys.SlotLookup()
        try begin(record)
        try append(record, in: record.epoch, sealedAt: record.position, .opened)
        return try body(RecordView(text.bytes, at: BlockLayout.headerBytes, record.position))
    }

    /// Checks that a record, with its stream's name, id, type and time, is as it was sealed; needs no key of personal data.
    mutating func prove(_ record: borrowing RecordView) throws {
        try begin(record)
        try open(record, record.epoch, record.position)
    }

    /// Lends the body of a record in a block that is sealed as a whole, for use in another block.
    mutating func lendSecret(of record: borrowing RecordView, _ body: (RawSpan) -> Void) throws(EvstoreError) {
        try begin(record)
        try Self.lend(record, of: block, body)
    }

    /// The slot with the key of a record's personal part; nil where the record has none.
    mutating func subject(of record: borrowing RecordView) throws -> UInt32? {
        try begin(record)
        try open(record, record.epoch, record.position)
        return try Self.subject(outer, record.position)
    }

    private mutating func clearMark() { text.store(littleEndian: 0 as UInt32, at: BlockLayout.Header.flags) }

    private mutating func append(
        _ record: borrowing RecordView, in epoch: Epoch, sealedAt first: Position, _ persons: PersonalPartPolicy
    ) throws {
        try open(record, epoch, first)
        guard let subject = try Self.subject(outer, record.position) else { return Self.append(record, outer, outer, nil, to: &text) }
        var gone = BlockLayout.Flag.forgotten
        var key: DataKey?
        var leavesLost = false
        switch persons {
        case .left: return Self.append(record, outer, outer, (subject, gone), to: &text)
        case .leftClosed(let kinds) where kinds.contains(record):
            return Self.append(record, outer, outer, (subject, BlockLayout.Flag.closed), to: &text)
        case .leftWhereLost: leavesLost = true
        case .opened, .leftClosed: break
        }
        do { key = try keys.subjects.key(subject, &look) } catch var damage as SlotDamage {
            (damage.stream, damage.position) = (record.streamID, record.position)
            guard leavesLost else { throw damage }
            gone |= BlockLayout.Flag.lost
        }
        if let key {
            do throws(SealError) {
                try Self.openPersonal(of: outer, under: key, &cipher, into: &inner)
                return Self.append(record, inner, outer, (subject, 0), to: &text)
            } catch {
                guard leavesLost else {
                    throw EvstoreError.corruptBlock(
                        position: first,
                        reason: "the personal part of the event at \(record.position) can't be opened: \(error.reason)")
                }
                gone |= BlockLayout.Flag.lost
            }
        }
        Self.append(record, outer, outer, (subject, gone), to: &text)
    }

    private static func subject(_ outer: borrowing OpenedRecord, _ position: Position) throws -> UInt32? {
        if outer.personal.isEmpty { return nil }
        guard let id = Envelope.keyID(of: outer.personal) else {
            throw EvstoreError.corruptBlock(position: position, reason: "the personal envelope of the event has no key number")
        }
        return id
    }

    private static func openPersonal(
        of outer: borrowing OpenedRecord, under key: DataKey, _ cipher: inout RecordCipher, into inner: inout OpenedRecord
    ) throws(SealError) {
        try cipher.open(outer.personal, under: key, into: &inner)
    }

    /// Writes a record in the layout of a log without keys. If the record has a personal part, its subject and what stays without it follow
    /// (`RecordView.stays`).
    /// - Parameters:
    ///   - shown: has the payload and the shadow: the opened personal part; the whole record if that has none or it stays closed.
    ///   - personal: nil where the record has no personal part; its flags are zero where that part is shown.
    private static func append(
        _ record: borrowing RecordView, _ shown: borrowing OpenedRecord, _ outer: borrowing OpenedRecord,
        _ personal: (subject: UInt32, flags: UInt16)?, to text: inout ByteBuffer
    ) {
        let hasShadow = personal?.flags ?? 0 == 0 && !shown.shadow.isEmpty
        var flags = hasShadow ? BlockLayout.Flag.shadow : 0
        if let personal { flags |= BlockLayout.Flag.personal | personal.flags }
        record.appendHead(
            to: &text, payloadBytes: shown.payload.byteCount, metadataBytes: outer.metadata.byteCount, adding: flags)
        text.append(shown.payload)
        text.append(outer.metadata)
        if hasShadow {
            text.append(littleEndian: UInt32(shown.shadow.byteCount))
            text.append(shown.shadow)
        }
        if let personal {
            text.append(littleEndian: personal.subject)
            text.append(littleEndian: UInt32(outer.payload.byteCount))
            text.append(outer.payload)
        }
    }

    /// Opens the block of a record, if it is sealed as a whole.
    private mutating func begin(_ record: borrowing RecordView) throws(EvstoreError) {
        if record.isWhole { try block.open(record.blockBytes, keys) }
    }

    /// Lends the body of a record whose block was opened.
    private static func lend<R>(
        _ record: borrowing RecordView, of block: borrowing BlockOpener, _ use: (RawSpan) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> R {
        let first = Position(record.blockBytes.load(UInt64.self, at: BlockLayout.Header.first))
        guard record.position >= first, let body = block.body(record.position.events(after: first)) else {
            throw .corruptBlock(position: first, reason: "its envelope has nothing of the event at \(record.position)")
        }
        return try use(body)
    }

    private static func fill(
        _ outer: inout OpenedRecord, from block: borrowing BlockOpener, _ record: borrowing RecordView
    ) throws(EvstoreError) {
        try lend(record, of: block) { (body) throws(EvstoreError) in
            do throws(SealError) { try outer.fill(from: body) } catch {
                throw .corruptBlock(position: record.position, reason: "the event can't be opened: \(error.reason)")
            }
        }
    }

    private mutating func open(_ record: borrowing RecordView, _ epoch: Epoch, _ first: Position) throws(EvstoreError) {
        if record.isWhole {
            try Self.fill(&outer, from: block, record)
            // A personal envelope within it is bound to the record.
            return cipher.begin(epoch, record)
        }
        guard let id = Envelope.keyID(of: record.payload) else {
            throw .corruptBlock(position: first, reason: "the event at \(record.position) is not sealed")
        }
        let key = try keys.key(id, for: record.position)
        cipher.begin(epoch, record)
        do throws(SealError) { try cipher.open(record.payload, under: key, into: &outer) } catch {
            throw .corruptBlock(position: first, reason: "the event at \(record.position) can't be opened: \(error.reason)")
        }
    }
}
