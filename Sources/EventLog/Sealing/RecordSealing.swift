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
    private var personal = ByteBuffer()

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
        personal.removeAll()
        let subject = events[index].forgotten.isEmpty ? nil : try keys.subjects.key(for: events[index].stream)
        do throws(SealError) {
            if let subject {
                try Self.seal(events[index].payload, [], events[index].shadow, personal, subject, binding, &sealer, into: &envelope)
                swap(&envelope, &personal)
                try Self.seal(
                    events[index].forgotten, events[index].metadata, [], personal, keys.writing, binding, &sealer, into: &envelope)
            } else {
                try Self.seal(
                    events[index].payload, events[index].metadata, events[index].shadow, personal, keys.writing, binding, &sealer,
                    into: &envelope)
            }
        } catch { throw EvstoreError.misuse("an event can't be sealed: \(error.reason)") }
    }

    private static func seal(
        _ payload: [UInt8], _ metadata: [UInt8], _ shadow: [UInt8], _ personal: borrowing ByteBuffer, _ key: DataKey,
        _ binding: borrowing RecordBinding, _ sealer: inout RecordSealer, into envelope: inout ByteBuffer
    ) throws(SealError) {
        try sealer.seal(
            payload: payload.lent, metadata: metadata.lent, shadow: shadow.lent, personal: personal.bytes, under: key, binding.bytes,
            into: &envelope)
    }
}
