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

    /// Takes the parts of an opened body.
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
