internal import Bytes
internal import EventModel
internal import Sealing

/// Seals events on their way into blocks, under the key that the store writes under.
struct RecordSealing: ~Copyable {
    /// Nil in a store whose events are not sealed.
    private let keys: StoreKeys?
    private var binding: RecordBinding
    private var sealer = RecordSealer()
    private var envelope = ByteBuffer()

    init(_ keys: StoreKeys?, _ storeID: StoreID) {
        self.keys = keys
        binding = RecordBinding(storeID)
    }

    /// The envelope that was made last; empty where none is.
    var text: RawSpan {
        @_lifetime(borrow self)
        get { envelope.bytes }
    }

    /// Makes the envelope of an event for its place.
    mutating func seal(
        _ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.Place, _ epoch: Epoch, _ position: Position
    ) throws {
        guard let keys else { return }
        binding.begin(epoch, position)
        binding.append { BlockDraft.appendHead(events, index, place, payloadBytes: 0, metadataBytes: 0, flags: 0, to: &$0) }
        envelope.removeAll()
        do throws(SealError) { try Self.seal(events, index, keys.writing, binding, &sealer, into: &envelope) } catch {
            throw EvstoreError.misuse("an event can't be sealed: \(error.reason)")
        }
    }

    private static func seal(
        _ events: Span<StoredEvent>, _ index: Int, _ key: DataKey, _ binding: borrowing RecordBinding, _ sealer: inout RecordSealer,
        into envelope: inout ByteBuffer
    ) throws(SealError) {
        try sealer.seal(
            payload: events[index].payload.lent, metadata: events[index].metadata.lent, shadow: events[index].shadow.lent, under: key,
            binding.bytes, into: &envelope)
    }
}
