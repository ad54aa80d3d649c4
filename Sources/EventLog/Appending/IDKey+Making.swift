internal import Bytes
internal import EventModel
internal import Hashing

extension IDKey {
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
}
