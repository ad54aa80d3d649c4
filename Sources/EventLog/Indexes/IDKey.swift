internal import Bytes
internal import EventModel
internal import Hashing

/// The key under which a caller's id is looked up: a UUID itself, or a hash of any other text. With a hash the record's own id decides.
struct IDKey: Hashable, Comparable, Sendable {
    let kind: UInt8
    let high: UInt64
    let low: UInt64

    init(kind: UInt8, high: UInt64, low: UInt64) { (self.kind, self.high, self.low) = (kind, high, low) }

    private static let bytes = 17
    static let uuid: UInt8 = 1
    static let text: UInt8 = 2

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.bytes)
        bytes.append(kind)
        for word in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
        }
        return bytes
    }

    /// Decodes the key of a row; nil where the length is wrong.
    init?(row key: RawSpan) {
        guard key.byteCount == Self.bytes else { return nil }
        self.init(kind: key.byte(at: 0), key.slice(1, Self.bytes - 1))
    }

    init(_ id: EventID) {
        if let uuid = id.uuid {
            self.init(kind: Self.uuid, high: uuid.0, low: uuid.1)
        } else {
            self.init(text: Array(id.text.utf8).lent)
        }
    }

    /// The key of a record whose id the caller gave.
    init(_ record: borrowing RecordView) {
        if record.flags & BlockLayout.Flag.idText == 0 {
            self.init(kind: Self.uuid, record.idBytes)
        } else {
            self.init(text: record.idBytes)
        }
    }

    private init(text: RawSpan) {
        var hasher = SHA256Hasher()
        hasher.update(text)
        self.init(kind: Self.text, hasher.finalize().bytes.lent)
    }

    private init(kind: UInt8, _ bytes: RawSpan) {
        self.init(kind: kind, high: bytes.load(UInt64.self, at: 0).byteSwapped, low: bytes.load(UInt64.self, at: 8).byteSwapped)
    }

    static func < (a: IDKey, b: IDKey) -> Bool { (a.kind, a.high, a.low) < (b.kind, b.high, b.low) }
}
