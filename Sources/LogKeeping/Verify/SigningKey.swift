internal import Bytes
public import EventModel
internal import FoundationEssentials
internal import Hashing

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
