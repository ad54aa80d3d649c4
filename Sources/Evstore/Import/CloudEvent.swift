internal import Bytes
internal import EventModel
internal import Hashing
internal import JSONText

/// The attributes of a CloudEvent (CloudEvents 1.0.2, JSON format). `source`, `id` and each attribute that an event has no place for are
/// kept in the member `cloudevents` of the event's metadata, and an export writes them back as attributes.
enum CloudEvent {
    static let specversion = MemberName("specversion")
    static let id = MemberName("id")
    static let source = MemberName("source")
    static let type = MemberName("type")
    static let subject = MemberName("subject")
    static let time = MemberName("time")
    static let dataschema = MemberName("dataschema")
    static let datacontenttype = MemberName("datacontenttype")
    static let data = MemberName("data")
    static let dataBase64 = MemberName("data_base64")
    static let metadata = MemberName("metadata")
    /// The member of metadata that keeps attributes.
    static let envelope = MemberName("cloudevents")
    /// Extension attributes in which an export writes the other members of the event's line.
    static let ofExports = ["position", "revision", "born"].map(MemberName.init)
    /// Attributes that an export writes from the event itself, whatever its envelope holds.
    static let reserved =
        [specversion, id, source, type, subject, time, dataschema, datacontenttype, data, dataBase64, metadata] + ofExports

    static let contentType = "application/json"

    /// The version in a `dataschema` that a store wrote, `urn:evstore:<store>/v<version>`; nil for any other URI.
    static func version(ofSchema text: String) -> SchemaVersion? {
        guard text.hasPrefix("urn:evstore:"), let last = text.split(separator: "/").last, last.first == "v" else { return nil }
        return UInt32(last.dropFirst()).map { SchemaVersion($0) }
    }

    /// Whether an event's metadata names the source of a CloudEvent.
    static func isNamed(in metadata: RawSpan) -> Bool {
        if metadata.byteCount == 0 { return false }
        var splice = JSONEditor()
        do { try splice.load(metadata) } catch { return false }
        return splice.member(envelope, of: splice.root).flatMap { splice.member(source, of: $0) } != nil
    }
}

extension EventID {
    /// The store's id for a CloudEvent that its source and id identify together: both, separated by a space, if that is a valid id of at
    /// most 64 bytes; otherwise a UUIDv8 (RFC 9562) of the first 16 bytes of SHA-256 over the source, a zero byte and the id.
    init(ofCloudEvent id: String, from source: String) {
        let both = "\(source) \(id)"
        if both.utf8.count <= Self.longestBytes, !source.utf8.contains(UInt8(ascii: " ")) {
            do {
                self = try EventID(both)
                return
            } catch {
                // It holds a control character.
            }
        }
        let digest = SHA256Hasher.hash(Array(source.utf8) + [0] + Array(id.utf8)).bytes
        let (high, low) = (digest.lent.load(UInt64.self, at: 0).bigEndian, digest.lent.load(UInt64.self, at: 8).bigEndian)
        self.init(uuid: (high & ~0xf000 | 0x8000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000))
    }
}
