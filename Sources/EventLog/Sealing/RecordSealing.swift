internal import Bytes
internal import EventModel
internal import Sealing

/// Seals events on their way into blocks, under the store's current data key.
struct RecordSealing: ~Copyable {
    /// Nil in a store whose events are not sealed.
    private let keys: StoreKeys?
    /// Whether each block has a single envelope: then `text` is the record's body within it.
    private let isWhole: Bool
    private var cipher: RecordCipher
    private var envelope = ByteBuffer()
    private var personal = ByteBuffer()

    init(_ keys: StoreKeys?, _ storeID: StoreID, isWhole: Bool) {
        (self.keys, self.isWhole) = (keys, isWhole)
        cipher = RecordCipher(storeID)
    }

    /// The envelope or the body that was made last; empty where there is none.
    var text: RawSpan {
        @_lifetime(borrow self)
        get { envelope.bytes }
    }

    /// Makes the envelope of an event for its place, or its body for the envelope of a block.
    mutating func seal(
        _ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.AssignedFields, _ epoch: Epoch, _ position: Position
    ) throws {
        guard let keys else { return }
        envelope.removeAll()
        personal.removeAll()
        let subject = events[index].forgotten.isEmpty ? nil : try keys.subjects.key(for: events[index].stream)
        if !isWhole || subject != nil {
            cipher.begin(epoch, position) { BlockDraft.appendHead(events, index, place, RecordBody(), to: &$0) }
        }
        do throws(SealError) {
            var parts = RecordParts(payload: events[index].payload, metadata: events[index].metadata, key: keys.writing)
            if let subject {
                let own = RecordParts(payload: events[index].payload, shadow: events[index].shadow, key: subject)
                try Self.seal(own, personal, &cipher, into: &envelope)
                swap(&envelope, &personal)
                parts.payload = events[index].forgotten
            } else {
                parts.shadow = events[index].shadow
            }
            if isWhole {
                Self.append(parts, personal, to: &envelope)
            } else {
                try Self.seal(parts, personal, &cipher, into: &envelope)
            }
        } catch { throw EvstoreError.misuse("an event can't be sealed: \(error.reason)") }
    }

    private static func append(_ parts: RecordParts, _ personal: borrowing ByteBuffer, to body: inout ByteBuffer) {
        PlainParts(payload: parts.payload.lent, metadata: parts.metadata.lent, shadow: parts.shadow.lent, personal: personal.bytes)
            .append(to: &body)
    }

    private static func seal(
        _ parts: RecordParts, _ personal: borrowing ByteBuffer, _ cipher: inout RecordCipher, into envelope: inout ByteBuffer
    ) throws(SealError) {
        try cipher.seal(parts, personal, into: &envelope)
    }
}
