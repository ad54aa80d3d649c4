internal import Bytes
internal import EventModel
internal import Sealing

/// Opens blocks and records of a sealed log: copies them, with payload and metadata laid out as in a log without keys. Its
/// buffers are reused.
package struct RecordOpener: ~Copyable {
    private let keys: StoreKeys
    private var binding: RecordBinding
    private var sealer = RecordSealer()
    private var parts = ByteBuffer()
    private var inner = ByteBuffer()
    private var text = ByteBuffer(capacity: BlockLayout.bytesMax)

    init(_ keys: StoreKeys, _ storeID: StoreID) {
        self.keys = keys
        binding = RecordBinding(storeID)
    }

    /// How personal parts are treated.
    package enum Persons {
        case opened
        /// None is opened: the records read as if the data had been forgotten.
        case left
        /// Each is opened unless its key is damaged or another stream's: then it is left out and marked as lost.
        case leftWhereLost
    }

    /// Lends a block with the records of its `indices` opened; the others are not in it.
    /// - Throws: `SlotDamage` beside others.
    package mutating func lend<R>(_ block: borrowing BlockView, _ persons: Persons, _ body: (borrowing BlockView) throws -> R) throws -> R {
        text.removeAll()
        text.append(block.head)
        clearMark()
        let table = text.count
        text.append(zeros: block.count * BlockLayout.entryBytes)
        for index in block.indices {
            text.store(littleEndian: UInt32(text.count), at: table + index * BlockLayout.entryBytes)
            try append(block.record(index), in: block.epoch, sealedAt: block.first, persons)
        }
        return try body(BlockView(opened: text.bytes, block))
    }

    /// Lends a record, open.
    /// - Throws: `SlotDamage` beside others.
    mutating func lend<R>(_ record: borrowing RecordView, _ body: (borrowing RecordView) throws -> R) throws -> R {
        text.removeAll()
        text.append(record.blockHeader)
        clearMark()
        try append(record, in: record.epoch, sealedAt: record.position, .opened)
        return try body(RecordView(text.bytes, at: BlockLayout.headerBytes, record.position))
    }

    /// Checks that a record, with its stream's name, id, type and time, is as it was sealed; needs no key of personal data.
    mutating func prove(_ record: borrowing RecordView) throws { _ = try open(record, record.epoch, record.position) }

    /// The slot of the key under which the personal part of a record is sealed; nil where it has none.
    mutating func subject(of record: borrowing RecordView) throws -> UInt32? {
        let outer = try open(record, record.epoch, record.position)
        return outer.personal == 0 ? nil : try Self.subject(parts, outer, record.position)
    }

    private mutating func clearMark() { text.store(littleEndian: 0 as UInt32, at: BlockLayout.Header.flags) }

    private mutating func append(_ record: borrowing RecordView, in epoch: Epoch, sealedAt first: Position, _ persons: Persons) throws {
        let outer = try open(record, epoch, first)
        if outer.personal == 0 { return Self.append(record, outer, parts, outer.payload, outer.shadow, parts, outer, nil, to: &text) }
        let subject = try Self.subject(parts, outer, record.position)
        var gone = BlockLayout.Flag.forgotten
        var key: DataKey?
        do { key = persons == .left ? nil : try keys.subjects.key(subject) } catch var damage as SlotDamage {
            (damage.stream, damage.position) = (record.streamID, record.position)
            guard persons == .leftWhereLost else { throw damage }
            gone |= BlockLayout.Flag.lost
        }
        if let key {
            inner.removeAll()
            do {
                let own = try Self.openPersonal(parts, outer, key, binding, &sealer, record.position, first, into: &inner)
                return Self.append(record, own, inner, own.payload, own.shadow, parts, outer, (subject, 0), to: &text)
            } catch {
                guard persons == .leftWhereLost else { throw error }
                gone |= BlockLayout.Flag.lost
            }
        }
        Self.append(record, outer, parts, outer.payload, 0, parts, outer, (subject, gone), to: &text)
    }

    private static func subject(_ parts: borrowing ByteBuffer, _ outer: OpenedParts, _ position: Position) throws -> UInt32 {
        let envelope = parts.slice(outer.payload + outer.metadata + outer.shadow, outer.personal)
        guard let id = Envelope.keyID(of: envelope) else {
            throw EvstoreError.corruptBlock(position: position, reason: "the personal part of the event is none")
        }
        return id
    }

    private static func openPersonal(
        _ parts: borrowing ByteBuffer, _ outer: OpenedParts, _ key: DataKey, _ binding: borrowing RecordBinding,
        _ sealer: inout RecordSealer, _ position: Position, _ first: Position, into inner: inout ByteBuffer
    ) throws -> OpenedParts {
        let envelope = parts.slice(outer.payload + outer.metadata + outer.shadow, outer.personal)
        do throws(SealError) { return try sealer.open(envelope, under: key, binding.bytes, into: &inner) } catch {
            throw EvstoreError.corruptBlock(
                position: first, reason: "the personal part of the event at \(position) can't be opened: \(error.reason)")
        }
    }

    /// Lays a record as it would lie in a log without keys; behind it, where there is one, the personal part's subject and what
    /// stays without it (`RecordView.stays`).
    private static func append(
        _ record: borrowing RecordView, _ own: OpenedParts, _ bytes: borrowing ByteBuffer, _ payload: Int, _ shadow: Int,
        _ parts: borrowing ByteBuffer, _ outer: OpenedParts, _ personal: (subject: UInt32, flags: UInt16)?, to text: inout ByteBuffer
    ) {
        var flags = shadow > 0 ? BlockLayout.Flag.shadow : 0
        if let personal { flags |= BlockLayout.Flag.personal | personal.flags }
        record.appendHead(to: &text, payloadBytes: payload, metadataBytes: outer.metadata, adding: flags)
        text.append(bytes.slice(0, payload))
        text.append(parts.slice(outer.payload, outer.metadata))
        if shadow > 0 {
            text.append(littleEndian: UInt32(shadow))
            text.append(bytes.slice(own.payload + own.metadata, shadow))
        }
        if let personal {
            text.append(littleEndian: personal.subject)
            text.append(littleEndian: UInt32(outer.payload))
            text.append(parts.slice(0, outer.payload))
        }
    }

    private mutating func open(_ record: borrowing RecordView, _ epoch: Epoch, _ first: Position) throws(EvstoreError) -> OpenedParts {
        parts.removeAll()
        guard let id = Envelope.keyID(of: record.payload) else {
            throw .corruptBlock(position: first, reason: "the event at \(record.position) is not sealed")
        }
        let key = try keys.key(id, for: record.position)
        binding.begin(epoch, record.position)
        binding.append(record)
        do throws(SealError) { return try Self.open(record.payload, key, binding, &sealer, into: &parts) } catch {
            throw .corruptBlock(position: first, reason: "the event at \(record.position) can't be opened: \(error.reason)")
        }
    }

    private static func open(
        _ envelope: RawSpan, _ key: DataKey, _ binding: borrowing RecordBinding, _ sealer: inout RecordSealer, into parts: inout ByteBuffer
    ) throws(SealError) -> OpenedParts {
        try sealer.open(envelope, under: key, binding.bytes, into: &parts)
    }
}
