internal import Bytes
internal import EventModel
internal import Sealing

/// Opens the envelope of a block that is sealed as a whole, and keeps its contents: the next record is mostly in the same block.
struct BlockOpener: ~Copyable {
    private var binding: RecordBinding
    private var sealer = BlockSealer()
    /// The opened block, up to its code; empty where none is open.
    private var seen = ByteBuffer()
    /// The bodies of its records, one after the other, and where each begins; the last entry is where they end.
    private var text = ByteBuffer(capacity: BlockLayout.bytesMax)
    private var starts: [Int] = []

    init(_ storeID: StoreID) { binding = RecordBinding(storeID) }

    /// Opens a block, of which perhaps only one record was checked.
    /// - Throws: `EvstoreError.corruptBlock` where a bit differs from what was sealed.
    mutating func open(_ block: RawSpan, _ keys: StoreKeys) throws(EvstoreError) {
        let first = Position(block.load(UInt64.self, at: BlockLayout.Header.first))
        guard let place = BlockLayout.envelope(block) else {
            throw .corruptBlock(position: first, reason: "it is sealed as a whole and has no envelope")
        }
        let body = block.slice(0, place.upperBound)
        if seen.bytes.equals(body) { return }
        forget()
        let envelope = block.slice(place.lowerBound, place.count)
        guard let id = Envelope.keyID(of: envelope) else { throw .corruptBlock(position: first, reason: "its envelope is invalid") }
        let key = try keys.key(id, for: first)
        binding.begin(Epoch(block.load(UInt32.self, at: BlockLayout.Header.epoch)), first)
        binding.append(blockWithoutEnvelope: block.slice(0, place.lowerBound))
        text.removeAll()
        do throws(SealError) { try Self.open(envelope, key, binding, &sealer, into: &text) } catch {
            throw .corruptBlock(position: first, reason: "its events can't be opened: \(error.reason)")
        }
        try divide(Int(block.load(UInt32.self, at: BlockLayout.Header.count)), first)
        seen.append(body)
    }

    /// Frees the memory that one large event took.
    private mutating func forget() {
        if max(seen.capacity, text.capacity) <= 4 * BlockLayout.bytesMax { return seen.removeAll() }
        seen = ByteBuffer()
        text = ByteBuffer(capacity: BlockLayout.bytesMax)
    }

    private static func open(
        _ envelope: RawSpan, _ key: DataKey, _ binding: borrowing RecordBinding, _ sealer: inout BlockSealer, into text: inout ByteBuffer
    ) throws(SealError) {
        try sealer.open(envelope, under: key, binding.bytes, into: &text)
    }

    private mutating func divide(_ count: Int, _ first: Position) throws(EvstoreError) {
        starts.removeAll(keepingCapacity: true)
        var start = 0
        while start < text.count, let parts = OpenedParts(text.slice(start, text.count - start)) {
            starts.append(start)
            start += Envelope.lengthsBytes + parts.count
        }
        guard start == text.count, starts.count == count else {
            throw .corruptBlock(position: first, reason: "its envelope lacks the parts of its \(count) events")
        }
        starts.append(start)
    }

    /// The body of a record, by its index in the block that was opened last; nil where there is no such record.
    @_lifetime(borrow self)
    func body(_ index: UInt64) -> RawSpan? {
        guard index < UInt64(max(starts.count - 1, 0)) else { return nil }
        let start = starts[Int(index)]
        return text.slice(start, starts[Int(index) + 1] - start)
    }
}
