internal import Bytes
package import EventLog
public import EventModel
internal import FoundationEssentials
internal import Hashing
internal import JSONText
internal import LMDB
internal import Migration
internal import Platform

/// A signed statement of the end of a store's log, its versions, definitions and keys. A head that is kept elsewhere shows later whether
/// any of these was changed, left out or inserted. A head may name the head before it, so that a missing one in a series is noticed.
///
/// One JSON object: `evstore` "head", `format` 2, `store` (hex), `epoch`, `position`, `link` (hex: the hash chain's end at that position),
/// `content` (hex: as `backup` prints it), `time`, `key` (hex: the public key), `signature` (hex: Ed25519 over "evstore head 2", a line
/// feed, and the RFC 8785 form of the object without its signature), and the members below, but no others. All digests are SHA-256, as 64
/// lower-case hexadecimal digits.
///
///     versions     {"floor", "live", "top", "fixed", "files"}: the store's numbers; the version up to which nothing may be changed any
///                  more, because events were born there or it is released; the digests of the version files from 1 on
///     definitions  [{"name", "since", "digest"}]: of each definition's canonical JSON
///     keys         null, or of a sealed store {"generation", "digest", "entries": [{"kind", "id", "digest"}]}: the file `keys`
///     forgotten    null, or of a sealed store {"count", "digest"}: how many rows the ledger has, and a digest over them
///     previous     null, or the digest of the head before: of its RFC 8785 form, the signature included, without a line's end
///
/// Format 1 lacks the latter; it can be read and is no longer written.
public struct SignedHead: Hashable, Sendable {
    /// 2; or 1 if an older program has signed the head, which then covers only the log.
    public let format: Int
    /// The store's id.
    public let store: String
    public let epoch: Epoch
    public let position: Position
    /// The end of the hash chain at that position, as hexadecimal digits.
    public let link: String
    /// The digest of all events up to that position, as `backup` prints it.
    public let content: String
    /// When the head was signed, by the signer's clock.
    public let time: Timestamp
    /// The public half of the key that has signed the head.
    public let key: PublicKey
    /// The `digest` of the head before this one in its series; nil where this one begins a series.
    public let previous: String?
    /// Nil in format 1.
    let state: SignedState?
    /// The head as one line of JSON, in its RFC 8785 form.
    public let line: String

    /// SHA-256 of `line`, as hexadecimal digits: the next head of the series refers to this one by it.
    public var digest: String { SHA256Hasher.hash(line).hex }

    static let bytesMax = 1 << 20
    static let formatKnown = 2

    /// Signs the end of a store's log, and its versions, definitions and keys.
    /// - Throws: `EvstoreError.usage` where the head would be too large.
    init(
        _ end: LogEnd, of storeID: StoreID, _ state: SignedState, after previous: SignedHead?, by key: SigningKey
    ) throws(EvstoreError) {
        (format, store, epoch, position) = (Self.formatKnown, storeID.description, end.last.epoch, end.last.position)
        (link, content, time, self.key) = (end.link.hex, end.content.hex, .now, key.publicKey)
        (self.state, self.previous) = (state, previous?.digest)
        var fields = JSONRow()
        fields.set("evstore", "head")
        fields.set("format", UInt64(format))
        fields.set("store", store)
        fields.set("epoch", UInt64(epoch.rawValue))
        fields.set("position", position.rawValue)
        fields.set("link", self.link)
        fields.set("content", self.content)
        fields.set("time", time.description)
        fields.set("key", self.key.description)
        state.set(in: &fields)
        fields.set("previous", self.previous)
        let signature = try key.signature(of: Self.signed(fields.value, format))
        fields.set("signature", hex(signature))
        line = try Self.canonical(fields.value)
        // `init(parsing:)` refuses a longer line.
        guard line.utf8.count <= Self.bytesMax else { throw .usage("the head would have more than \(Self.bytesMax) bytes") }
    }

    /// Reads a head and checks that the key which it names has signed it; the caller decides whether that key is trusted.
    /// - Throws: `EvstoreError.signatureInvalid`.
    public init(parsing text: [UInt8]) throws(EvstoreError) {
        func invalid(_ reason: String) -> EvstoreError { .signatureInvalid(reason: reason) }
        guard text.count <= Self.bytesMax else { throw invalid("a signed head has at most \(Self.bytesMax) bytes") }
        let value: JSONValue
        do { value = try JSONValue(parsing: text.lent, limits: JSONLimits(depth: 5, members: 1 << 16, bytes: Self.bytesMax)) } catch {
            throw invalid("it is not JSON: \(error.reason), at byte \(error.offset)")
        }
        let fields = JSONRow(value)
        guard fields.text("evstore") == "head" else { throw invalid("it is not a signed head") }
        guard let format = fields.number("format").flatMap(Int.init(exactly:)), (1 ... Self.formatKnown).contains(format) else {
            throw invalid("it is of a format that this program does not know")
        }
        func malformed() -> EvstoreError { invalid("a member is missing, is one too many, or is not what it should be") }
        guard case .object(let members) = value, members.count == (format == 1 ? 10 : 15), let store = fields.text("store"),
            let link = fields.text("link"), let content = fields.text("content"), let position = fields.number("position"),
            let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)),
            let time = fields.text("time").flatMap({ Timestamp($0) }), let key = fields.text("key").flatMap({ PublicKey(hex: $0) }),
            let signature = fields.text("signature").flatMap({ Bytes.bytes(hex: $0) })
        else { throw malformed() }
        (self.format, self.store, self.link, self.content, self.time, self.key) = (format, store, link, content, time, key)
        (self.epoch, self.position) = (Epoch(epoch), Position(position))
        state = format == 1 ? nil : SignedState(fields)
        previous = fields["previous"]?.digest
        guard format == 1 || state != nil && (previous != nil || fields["previous"] == .null) else { throw malformed() }
        let unsigned = JSONValue.object(members.filter { $0.name != "signature" })
        guard try Ed25519.isValid(signature, of: Self.signed(unsigned, format), by: key.bytes) || !Guard.headSignature.isOn else {
            throw invalid("the signature does not hold: the head, or its signature, was changed")
        }
        line = try Self.canonical(value)
    }

    private static func signed(_ unsigned: JSONValue, _ format: Int) throws(EvstoreError) -> [UInt8] {
        Array("evstore head \(format)\n".utf8) + Array(try canonical(unsigned).utf8)
    }

    private static func canonical(_ value: JSONValue) throws(EvstoreError) -> String {
        do { return String(decoding: try Canonical.bytes(of: Array(value.text.utf8).lent), as: UTF8.self) } catch {
            throw .signatureInvalid(reason: "it has no RFC 8785 form: \(error.reason)")
        }
    }
}

extension SignedHead {
    /// Checks that the trusted key has signed the head.
    /// - Throws: `EvstoreError.signatureInvalid` where another key has signed it.
    func require(_ trusted: PublicKey) throws(EvstoreError) {
        guard key == trusted else {
            throw .signatureInvalid(reason: "it was signed by the key \(key), and the one that is trusted is \(trusted)")
        }
    }

    /// Compares the log with the head; no findings where every byte up to the head's position is unchanged since it was signed.
    ///
    /// A link is the hash of everything before it, beginning with the store's id: if the chain is valid and the link is equal, every byte
    /// is equal. Nothing shows which events a cut below the signed position has discarded.
    /// - Parameter walk: the walk of the whole log, without findings, that asked for the link at this head's position.
    package func findings(_ walk: LogWalk) -> [Finding] {
        func finding(_ id: String, at place: Position? = nil, _ message: String, _ advice: Advice) -> [Finding] {
            [Finding(id: id, position: place, message: message, advice: advice)]
        }
        let keep: Advice = "keep these files as they are; restore a backup beside them and compare: \(.restore)"
        let signed = "position \(position) of epoch \(epoch), signed \(time)"
        guard store == walk.store.description else {
            return finding(
                "STORE101", "the signed head is of the store \(store), and this one is \(walk.store): another store stands here",
                "name the head of this store, or find out who put it here")
        }
        guard epoch <= walk.end.epoch || !Guard.headEpoch.isOn else {
            return finding(
                "STORE105", "the log is at epoch \(walk.end.epoch), and \(signed), is of a later one: an older copy was put back",
                keep)
        }
        if let cut = walk.cuts.filter({ $0.epoch > epoch }).min(by: { $0.position < $1.position }), cut.position < position {
            return finding(
                "STORE104", at: cut.position,
                "the log was cut at position \(cut.position) (epoch \(cut.epoch)) since \(signed); what was signed can't be shown any more",
                "if the cut or the restore was yours (\(.journal)), say so: \(.acceptSigned)")
        }
        guard position <= walk.end.position else {
            return finding(
                "STORE102", at: walk.end.position,
                "the log ends at position \(walk.end.position), and \(signed), is gone: its end was taken off, or an older copy put back",
                keep)
        }
        guard walk.linkAsked?.hex == link || !Guard.headLink.isOn else {
            return finding(
                "STORE103", at: position,
                "the log up to position \(position) is not what was signed \(time): an event was altered, left out, put in or moved",
                keep)
        }
        return []
    }

    /// Compares versions, definitions, keys and ledger with the head; later additions are reported as a note.
    func findings(_ now: SignedState, _ ledger: [ForgottenLedger.Entry]) -> [Finding] {
        guard let state, Guard.headState.isOn else { return [] }
        return state.findings(now, ledger, signed: time.description)
    }

    /// The ids of findings that the store's owner may have caused by a cut, a restore or a replay: only the signer can judge them.
    package static let acceptable: Set<String> = ["STORE104", "STORE108"]
}

extension SignedHead {
    package static let seriesBytesMax = 64 << 20

    /// Reads heads, a line each, in the order in which they were signed; a single one may take several lines.
    /// - Throws: `EvstoreError.signatureInvalid`, which names the line.
    public static func series(parsing text: [UInt8]) throws(EvstoreError) -> [SignedHead] {
        let space = Array(" \t\r".utf8)
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
            .map { (number: $0.offset + 1, text: Array($0.element)) }.filter { !$0.text.allSatisfy(space.contains) }
        let endsInLine = lines.first?.text.last { !space.contains($0) } == UInt8(ascii: "}")
        guard lines.count > 1, endsInLine else { return [try SignedHead(parsing: text)] }
        var heads: [SignedHead] = []
        for line in lines {
            do { heads.append(try SignedHead(parsing: line.text)) } catch {
                guard case .signatureInvalid(let reason) = error else { throw error }
                throw .signatureInvalid(reason: "line \(line.number): \(reason)")
            }
        }
        return heads
    }

    /// Checks a series: each head except the first names the head before it, so that none can be left out, exchanged or inserted unnoticed.
    /// Missing heads at the end can't be noticed here: keep the newest head's position elsewhere.
    static func findings(ofSeries heads: [SignedHead]) -> [Finding] {
        var findings: [Finding] = []
        for (index, (before, head)) in zip(heads, heads.dropFirst()).enumerated()
        where Guard.headSeries.isOn && head.previous != before.digest {
            let place = "head \(index + 2) of the series, of position \(head.position) and signed \(head.time),"
            let what = head.previous == nil ? "names none before it" : "does not name the one before it here"
            findings.append(
                Finding(
                    id: "STORE111", position: head.position, message: "\(place) \(what): one was left out, exchanged or put in",
                    fix: head.previous.map { "look for the head that it names: the SHA-256 of that line is \($0)" }
                        ?? "a series is one file: put what was begun anew into another"))
        }
        if heads.count > 1, let previous = heads.first?.previous {
            findings.append(
                Finding(
                    id: "STORE113", severity: .note,
                    message: "the series does not begin here: its first head names one before it, whose line's SHA-256 is \(previous)"))
        }
        return findings
    }
}

/// An Ed25519 key that signs heads. Keep it away from the store: anybody who has both can rewrite the store and sign that.
public struct SigningKey: Sendable, CustomStringConvertible {
    private let seed: [UInt8]
    public let publicKey: PublicKey

    /// Reads the output of `openssl genpkey -algorithm ed25519` (PKCS#8, PEM), or 64 hexadecimal digits.
    /// - Parameter name: the key's name in errors, such as the path of its file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(parsing text: [UInt8], named name: String = "the key") throws(EvstoreError) {
        let prefix: [UInt8] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]
        let seed = try KeyText.bytes(text, label: "PRIVATE KEY", prefix: prefix, name)
        if seed.allSatisfy({ $0 == 0 }) { throw .keyUnusable(path: name, reason: "it holds 32 bytes of 0, which everybody knows") }
        guard let key = Ed25519.publicKey(ofSeed: seed) else { throw .keyUnusable(path: name, reason: "it is no Ed25519 key") }
        (self.seed, publicKey) = (seed, PublicKey(bytes: key))
    }

    func signature(of bytes: [UInt8]) throws(EvstoreError) -> [UInt8] {
        guard let signature = Ed25519.signature(of: bytes, seed: seed) else { throw .misuse("a checked key can't sign") }
        return signature
    }

    /// The public key: the secret key is never printed.
    public var description: String { publicKey.description }
}

/// The public half of a `SigningKey`: it proves which key has made a signature.
public struct PublicKey: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Nil unless the text is 64 hexadecimal digits.
    init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text), bytes.count == Ed25519.keyBytes else { return nil }
        self.bytes = bytes
    }

    /// Reads the output of `openssl pkey -pubout` (PEM), or 64 hexadecimal digits.
    /// - Parameter name: the key's name in errors, such as the path of its file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(parsing text: [UInt8], named name: String = "the key") throws(EvstoreError) {
        let prefix: [UInt8] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0]
        bytes = try KeyText.bytes(text, label: "PUBLIC KEY", prefix: prefix, name)
    }

    /// 64 hexadecimal digits.
    public var description: String { hex(bytes) }
}

/// The two text forms of a key of 32 bytes: PEM and hexadecimal digits.
private enum KeyText {
    /// - Parameter prefix: the bytes before the key in its DER form, which are always the same.
    static func bytes(_ text: [UInt8], label: String, prefix: [UInt8], _ name: String) throws(EvstoreError) -> [UInt8] {
        func unusable(_ reason: String) -> EvstoreError { .keyUnusable(path: name, reason: reason) }
        guard let text = String(utf8: text.lent) else { throw unusable("it is no text") }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.filter { !$0.isEmpty }
        if lines.count == 1, let key = Bytes.bytes(hex: lines[0].filter { !$0.isWhitespace }), key.count == Ed25519.keyBytes { return key }
        guard let first = lines.first, let last = lines.last, first.hasPrefix("-----BEGIN ") else {
            throw unusable("it is neither PEM nor 64 hexadecimal digits")
        }
        guard first.hasPrefix("-----BEGIN \(label)-----"), last.hasPrefix("-----END \(label)-----") else {
            throw unusable("it is not a \(label.lowercased()), but \(quoted(String(first)))")
        }
        let der = Data(base64Encoded: lines.dropFirst().dropLast().joined().filter { !$0.isWhitespace })
        guard let der, der.count == prefix.count + Ed25519.keyBytes, Array(der.prefix(prefix.count)) == prefix else {
            throw unusable("it is not an Ed25519 key as openssl writes it")
        }
        return Array(der.suffix(Ed25519.keyBytes))
    }
}
