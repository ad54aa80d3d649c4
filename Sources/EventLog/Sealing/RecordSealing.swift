internal import Bytes
internal import EventModel
internal import Sealing

/// The parts for one envelope except the personal part, and the key.
struct RecordParts {
    var payload: [UInt8]
    var metadata: [UInt8] = []
    var shadow: [UInt8] = []
    let key: DataKey
}

/// An envelope's parts, opened: their bytes one after the other.
struct OpenedRecord: ~Copyable {
    private var text = ByteBuffer()
    private(set) var parts = OpenedParts.none

    var payload: RawSpan {
        @_lifetime(borrow self)
        get { text.slice(0, parts.payload) }
    }

    var metadata: RawSpan {
        @_lifetime(borrow self)
        get { text.slice(parts.payload, parts.metadata) }
    }

    var shadow: RawSpan {
        @_lifetime(borrow self)
        get { text.slice(parts.payload + parts.metadata, parts.shadow) }
    }

    /// The personal part, an envelope itself; empty where nothing is personal.
    var personal: RawSpan {
        @_lifetime(borrow self)
        get { text.slice(parts.payload + parts.metadata + parts.shadow, parts.personal) }
    }

    mutating func fill(from body: RawSpan) throws(SealError) {
        guard let parts = OpenedParts(body), Envelope.lengthsBytes + parts.count == body.byteCount else {
            throw .broken("its parts do not add up to its body")
        }
        text.removeAll()
        text.append(body.slice(Envelope.lengthsBytes, parts.count))
        self.parts = parts
    }

    fileprivate mutating func fill(_ open: (inout ByteBuffer) throws(SealError) -> OpenedParts) throws(SealError) {
        text.removeAll()
        parts = try open(&text)
    }
}

/// Seals and opens the envelopes of records, each bound to its place and its head.
struct RecordCipher: ~Copyable {
    private var binding: RecordBinding
    private var sealer = RecordSealer()

    init(_ storeID: StoreID) { binding = RecordBinding(storeID) }

    /// Begins with a record's place, then appends its head.
    mutating func begin(_ epoch: Epoch, _ position: Position, head write: (inout ByteBuffer) -> Void) {
        binding.begin(epoch, position)
        binding.append(head: write)
    }

    /// Begins with the place and the head of a stored record.
    mutating func begin(_ epoch: Epoch, _ record: borrowing RecordView) {
        binding.begin(epoch, record.position)
        binding.append(record)
    }

    /// - Throws: `SealError.broken` where a bit of the envelope, or of what it is bound to, differs from what was sealed.
    mutating func open(_ envelope: RawSpan, under key: DataKey, into record: inout OpenedRecord) throws(SealError) {
        try Self.open(envelope, key, binding, &sealer, into: &record)
    }

    /// Appends the envelope of the parts and of the personal envelope among them, which may be empty.
    mutating func seal(_ parts: RecordParts, _ personal: borrowing ByteBuffer, into envelope: inout ByteBuffer) throws(SealError) {
        try Self.seal(parts, personal, binding, &sealer, into: &envelope)
    }

    private static func open(
        _ envelope: RawSpan, _ key: DataKey, _ binding: borrowing RecordBinding, _ sealer: inout RecordSealer,
        into record: inout OpenedRecord
    ) throws(SealError) {
        try record.fill { text throws(SealError) in try sealer.open(envelope, under: key, binding.bytes, into: &text) }
    }

    private static func seal(
        _ parts: RecordParts, _ personal: borrowing ByteBuffer, _ binding: borrowing RecordBinding, _ sealer: inout RecordSealer,
        into envelope: inout ByteBuffer
    ) throws(SealError) {
        try sealer.seal(
            PlainParts(
                payload: parts.payload.lent, metadata: parts.metadata.lent, shadow: parts.shadow.lent, personal: personal.bytes),
            under: parts.key, binding.bytes, into: &envelope)
    }
}

/// The additional data that an envelope is bound to: its place in a store, and the record or the block around it. `BlockLayout` lists the
/// bytes.
struct RecordBinding: ~Copyable {
    private var room = ByteBuffer()
    private let storeID: [UInt8]

    init(_ storeID: StoreID) { self.storeID = storeID.bytes }

    /// Begins with the place; the caller appends the rest.
    mutating func begin(_ epoch: Epoch, _ position: Position) {
        room.removeAll()
        room.append(storeID)
        room.append(littleEndian: epoch.rawValue)
        room.append(littleEndian: 0 as UInt32)
        room.append(littleEndian: position.rawValue)
    }

    mutating func append(head write: (inout ByteBuffer) -> Void) { write(&room) }

    mutating func append(_ record: borrowing RecordView) { record.appendHead(to: &room, payloadBytes: 0, metadataBytes: 0) }

    /// Appends a block up to its envelope, without its length and its link, which depend on what is sealed.
    mutating func append(blockWithoutEnvelope block: RawSpan) {
        room.append(block.slice(0, BlockLayout.Header.bytes))
        room.append(block.slice(BlockLayout.Header.flags, block.byteCount - BlockLayout.Header.flags))
    }

    var bytes: RawSpan {
        @_lifetime(borrow self)
        get { room.bytes }
    }
}

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
                try cipher.seal(own, personal, into: &envelope)
                swap(&envelope, &personal)
                parts.payload = events[index].forgotten
            } else {
                parts.shadow = events[index].shadow
            }
            if isWhole {
                Self.append(parts, personal, to: &envelope)
            } else {
                try cipher.seal(parts, personal, into: &envelope)
            }
        } catch { throw EvstoreError.misuse("an event can't be sealed: \(error.reason)") }
    }

    private static func append(_ parts: RecordParts, _ personal: borrowing ByteBuffer, to body: inout ByteBuffer) {
        PlainParts(payload: parts.payload.lent, metadata: parts.metadata.lent, shadow: parts.shadow.lent, personal: personal.bytes)
            .append(to: &body)
    }
}
