internal import Bytes
internal import EventModel
internal import Hashing
internal import JSONText

/// What the store keeps of a CloudEvent (CloudEvents 1.0.2, JSON format) beside the event: `source`, `id`, and each attribute that an
/// event has no place for lie in the member `cloudevents` of its metadata, and an export writes them where they were.
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
    /// The member of metadata.
    static let envelope = MemberName("cloudevents")
    /// Extension attributes in which an export says what else the event's line would.
    static let ofExports = ["position", "revision", "born"].map(MemberName.init)
    /// What an export says of the event itself, whatever its envelope has.
    static let reserved =
        [specversion, id, source, type, subject, time, dataschema, datacontenttype, data, dataBase64, metadata] + ofExports

    static let contentType = "application/json"

    /// The version that a `dataschema` of a store names, `urn:evstore:<store>/v<version>`; nil for a URI of anybody else.
    static func version(ofSchema text: String) -> SchemaVersion? {
        guard text.hasPrefix("urn:evstore:"), let last = text.split(separator: "/").last, last.first == "v" else { return nil }
        return UInt32(last.dropFirst()).map { SchemaVersion($0) }
    }

    /// Whether an event's metadata has the source of a CloudEvent.
    static func isNamed(in metadata: RawSpan) -> Bool {
        if metadata.byteCount == 0 { return false }
        var splice = JSONEditor()
        do { try splice.load(metadata) } catch { return false }
        return splice.member(envelope, of: splice.root).flatMap { splice.member(source, of: $0) } != nil
    }
}

extension EventID {
    /// The id in a store of the event that a source and an id name together: both, with a space between them, where an id can hold that;
    /// else a UUIDv8 (RFC 9562) of the first 16 bytes of SHA-256 over the source, a zero byte and the id.
    init(ofCloudEvent id: String, from source: String) {
        do {
            if !source.utf8.contains(UInt8(ascii: " ")) {
                self = try EventID("\(source) \(id)")
                return
            }
        } catch {
            // It is too long, or holds a control character.
        }
        let digest = SHA256Hasher.hash(Array(source.utf8) + [0] + Array(id.utf8)).bytes
        let (high, low) = (digest.lent.load(UInt64.self, at: 0).bigEndian, digest.lent.load(UInt64.self, at: 8).bigEndian)
        self.init(uuid: (high & ~0xf000 | 0x8000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000))
    }
}
