internal import Bytes
internal import EventModel
internal import Sealing

/// Opens what a sealed log lends: copies of blocks and records, with their parts where they lie in a log without keys. Its
/// buffers are used again.
struct RecordOpener: ~Copyable {
    private let keys: StoreKeys
    private var binding: RecordBinding
    private var sealer = RecordSealer()
    private var parts = ByteBuffer()
    private var text = ByteBuffer(capacity: BlockLayout.bytesMax)

    init(_ keys: StoreKeys, _ storeID: StoreID) {
        self.keys = keys
        binding = RecordBinding(storeID)
    }

    /// Lends a block with those of its records open that were asked for; the others are not in it.
    mutating func lend<R>(_ block: borrowing BlockView, _ body: (borrowing BlockView) throws -> R) throws -> R {
        text.removeAll()
        text.append(block.head)
        clearMark()
        let table = text.count
        text.append(zeros: block.count * BlockLayout.entryBytes)
        for index in block.indices {
            text.store(littleEndian: UInt32(text.count), at: table + index * BlockLayout.entryBytes)
            try append(block.record(index), in: block.epoch, sealedAt: block.first)
        }
        return try body(BlockView(opened: text.bytes, block))
    }

    /// Lends a record, open.
    mutating func lend<R>(_ record: borrowing RecordView, _ body: (borrowing RecordView) throws -> R) throws -> R {
        text.removeAll()
        text.append(record.blockHeader)
        clearMark()
        try append(record, in: record.epoch, sealedAt: record.position)
        return try body(RecordView(text.bytes, at: BlockLayout.headerBytes, record.position))
    }

    private mutating func clearMark() { text.store(littleEndian: 0 as UInt32, at: BlockLayout.Header.flags) }

    private mutating func append(_ record: borrowing RecordView, in epoch: Epoch, sealedAt first: Position) throws {
        parts.removeAll()
        let opened = try open(record, epoch, first)
        record.appendHead(
            to: &text, payloadBytes: opened.payload, metadataBytes: opened.metadata,
            adding: opened.shadow > 0 ? BlockLayout.Flag.shadow : 0)
        Self.append(parts, opened, to: &text)
    }

    private static func append(_ parts: borrowing ByteBuffer, _ opened: OpenedParts, to text: inout ByteBuffer) {
        let shadow = opened.payload + opened.metadata
        text.append(parts.slice(0, shadow))
        guard opened.shadow > 0 else { return }
        text.append(littleEndian: UInt32(opened.shadow))
        text.append(parts.slice(shadow, opened.shadow))
    }

    private mutating func open(_ record: borrowing RecordView, _ epoch: Epoch, _ first: Position) throws(EvstoreError) -> OpenedParts {
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
