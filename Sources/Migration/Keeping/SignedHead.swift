internal import Bytes
internal import EventLog
public import EventModel
internal import Hashing
internal import JSONText
internal import LMDB

/// The log's end, signed: kept elsewhere, it shows later that nothing up to there was changed, left out or put in.
///
/// One JSON object: `evstore` "head", `format` 1, `store` (hex), `epoch`, `position`, `link` (hex: the hash chain's end at that
/// position), `content` (hex: as `backup` prints it), `time`, `key` (hex: the public key), `signature` (hex: Ed25519 over
/// "evstore head 1", a line feed, and the RFC 8785 form of the object without its signature). No member more or less.
public struct SignedHead: Hashable, Sendable {
    /// The store's id.
    public let store: String
    public let epoch: Epoch
    public let position: Position
    /// The end of the hash chain at that position, as hexadecimal digits.
    public let link: String
    /// The digest of all events up to there, as `backup` prints it.
    public let content: String
    /// When it was signed, by the clock of who signed it.
    public let time: Timestamp
    public let key: PublicKey
    /// The head as one line of JSON, in its RFC 8785 form.
    public let line: String

    static let bytesMax = 4_096

    init(_ walk: LogWalk, link: Digest, content: Digest, at time: Timestamp, by key: SigningKey) throws(EvstoreError) {
        (store, epoch, position) = (walk.store.description, walk.end.epoch, walk.end.position)
        (self.link, self.content, self.time, self.key) = (link.hex, content.hex, time, key.publicKey)
        let members = Self.members(store: store, epoch, position, link: self.link, content: self.content, time, self.key)
        line = try Self.canonical(members, key.signature(of: Self.signed(members)))
    }

    /// Reads a head and checks its signature; that it is the key of somebody who is trusted is another matter.
    /// - Throws: `EvstoreError.signatureInvalid`.
    public init(parsing text: [UInt8]) throws(EvstoreError) {
        func invalid(_ reason: String) -> EvstoreError { .signatureInvalid(reason: reason) }
        guard text.count <= Self.bytesMax else { throw invalid("a signed head has at most \(Self.bytesMax) bytes") }
        let value: JSONValue
        do { value = try JSONValue(parsing: text.lent, limits: JSONLimits(depth: 2, members: 32, bytes: Self.bytesMax)) } catch {
            throw invalid("it is not JSON: \(error.reason), at byte \(error.offset)")
        }
        let fields = Fields(value)
        guard fields.text("evstore") == "head" else { throw invalid("it is not a signed head") }
        guard fields.number("format") == 1 else { throw invalid("it is of a format that this program does not know") }
        guard case .object(let members) = value, members.count == 10, let store = fields.text("store"), let link = fields.text("link"),
            let content = fields.text("content"), let position = fields.number("position"),
            let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)),
            let time = fields.text("time").flatMap({ Timestamp($0) }), let key = fields.text("key").flatMap({ PublicKey(hex: $0) }),
            let signature = fields.text("signature").flatMap({ Bytes.bytes(hex: $0) })
        else { throw invalid("a member is missing, is one too many, or is not what it should be") }
        (self.store, self.link, self.content, self.time, self.key) = (store, link, content, time, key)
        (self.epoch, self.position) = (Epoch(epoch), Position(position))
        let known = Self.members(store: store, self.epoch, self.position, link: link, content: content, time, key)
        guard try Ed25519.isValid(signature, of: Self.signed(known), by: key.bytes) || !Guard.headSignature.isOn else {
            throw invalid("the signature does not hold: the head, or its signature, was changed")
        }
        line = try Self.canonical(known, signature)
    }

    private static func members(
        store: String, _ epoch: Epoch, _ position: Position, link: String, content: String, _ time: Timestamp, _ key: PublicKey
    ) -> [JSONValue.Member] {
        var fields = Fields()
        fields.set("evstore", "head")
        fields.set("format", 1)
        fields.set("store", store)
        fields.set("epoch", UInt64(epoch.rawValue))
        fields.set("position", position.rawValue)
        fields.set("link", link)
        fields.set("content", content)
        fields.set("time", time.description)
        fields.set("key", key.description)
        guard case .object(let members) = fields.value else { return [] }
        return members
    }

    /// What is signed.
    private static func signed(_ members: [JSONValue.Member]) throws(EvstoreError) -> [UInt8] {
        Array("evstore head 1\n".utf8) + Array(try canonical(members, nil).utf8)
    }

    private static func canonical(_ members: [JSONValue.Member], _ signature: [UInt8]?) throws(EvstoreError) -> String {
        let all = members + (signature.map { [.init(name: "signature", value: .string(hex($0)))] } ?? [])
        do {
            return String(decoding: try Canonical.bytes(of: Array(JSONValue.object(all).text.utf8).lent), as: UTF8.self)
        } catch { throw .misuse("a head is no JSON: \(error.reason)") }
    }
}
