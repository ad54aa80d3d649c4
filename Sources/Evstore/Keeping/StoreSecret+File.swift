internal import Bytes
public import EventModel
internal import FoundationEssentials
internal import Platform

extension StoreSecret {
    private static let keyBytes = 32
    private static let passphraseBytes = 8 ... 1_024
    private static let fileBytesMax = 4_096

    /// Reads a key from a file that the user or root owns and nobody else can read (0600): 32 random bytes, or 64 hexadecimal digits. Symbolic
    /// links are refused.
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Parameters:
    ///   - path: the path of the key's file, which an error names.
    ///   - store: the path of the store that the key opens. The file must not lie in the store's directory: a copy of that directory would
    ///     contain both. Nil leaves this check out.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func key(file path: String, apartFrom store: String? = nil) throws(EvstoreError) -> StoreSecret {
        try check(path, apartFrom: store)
        return try key(bytes(of: path, .secret), named: path)
    }

    /// Reads a passphrase of 8 to 1,024 bytes from the first line of a file that the user or root owns and nobody else can read (0600).
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func passphrase(file path: String, apartFrom store: String? = nil) throws(EvstoreError) -> StoreSecret {
        try check(path, apartFrom: store)
        return try passphrase(bytes(of: path, .secret), named: path)
    }

    /// Reads the credential that systemd hands to this service under the name `evstore-key` or `evstore-passphrase` (`LoadCredential=` and
    /// similar); nil where there is none.
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func credential() throws(EvstoreError) -> StoreSecret? {
        guard let directory = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty else { return nil }
        let (key, passphrase) = ("\(directory)/evstore-key", "\(directory)/evstore-passphrase")
        if FileManager.default.fileExists(atPath: key) { return try Self.key(bytes(of: key, .granted), named: key) }
        guard FileManager.default.fileExists(atPath: passphrase) else { return nil }
        return try Self.passphrase(bytes(of: passphrase, .granted), named: passphrase)
    }

    private static func bytes(of path: String, _ access: SecureFile.Access) throws(EvstoreError) -> [UInt8] {
        do { return try SecureFile.read(path, access, bytesMax: fileBytesMax) } catch { throw .keyUnusable(path: path, reason: "\(error)") }
    }

    private static func key(_ bytes: [UInt8], named path: String) throws(EvstoreError) -> StoreSecret {
        .key(try keyBytes(bytes, named: path))
    }

    private static func keyBytes(_ bytes: [UInt8], named path: String) throws(EvstoreError) -> [UInt8] {
        if bytes.count == keyBytes {
            // Among files of 32 random bytes, one in 10^13 is text.
            if bytes.allSatisfy({ (0x20 ... 0x7e).contains($0) || (0x09 ... 0x0d).contains($0) }) {
                throw .keyUnusable(
                    path: path,
                    reason: "it holds 32 bytes of text, which are no random ones: a passphrase is not read as a key. A store that"
                        + " was made with it is opened by its 64 hexadecimal digits (xxd -p -c 64)")
            }
            return bytes
        }
        let digits = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard digits.count == 2 * keyBytes, let text = String(utf8: Array(digits).lent), let key = Bytes.bytes(hex: text) else {
            throw .keyUnusable(path: path, reason: "it holds neither 32 bytes nor 64 hexadecimal digits")
        }
        return key
    }

    private static func passphrase(_ bytes: [UInt8], named path: String) throws(EvstoreError) -> StoreSecret {
        let line = Array(bytes.prefix { $0 != UInt8(ascii: "\n") })
        guard passphraseBytes.contains(line.count) else {
            throw .keyUnusable(path: path, reason: "its first line has \(line.count) bytes, and a passphrase has 8 to 1,024")
        }
        return .passphrase(line)
    }

    private static func check(_ path: String, apartFrom store: String?) throws(EvstoreError) {
        if let store, TargetPath.isInside(path, store) {
            throw .keyUnusable(path: path, reason: "it lies in the directory of the store that it opens")
        }
    }
}
