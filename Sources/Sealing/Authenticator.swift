package import Bytes
internal import Crypto
internal import FoundationEssentials

/// Makes codes that prove that bytes were written with a key: HMAC-SHA256 (RFC 2104), truncated to its first 128 bits.
package struct Authenticator: Sendable {
    package static let codeBytes = 16
    private let keyed: KeyedHash

    package init(_ key: SecretKey) { keyed = KeyedHash(key) }

    /// Appends the code of two texts, one after the other. The caller ensures that no two other texts have the same concatenation.
    package func appendCode(of first: RawSpan, _ second: RawSpan, to target: inout ByteBuffer) {
        let (low, high) = code(first, second)
        target.append(littleEndian: low)
        target.append(littleEndian: high)
    }

    /// Compares the codes in constant time.
    package func isCode(_ code: RawSpan, of first: RawSpan, _ second: RawSpan) -> Bool {
        guard code.byteCount == Self.codeBytes else { return false }
        let (low, high) = self.code(first, second)
        return (low ^ code.load(UInt64.self, at: 0)) | (high ^ code.load(UInt64.self, at: 8)) == 0
    }

    package func appendCode(of text: RawSpan, to target: inout ByteBuffer) { appendCode(of: text, text.slice(0, 0), to: &target) }

    package func isCode(_ code: RawSpan, of text: RawSpan) -> Bool { isCode(code, of: text, text.slice(0, 0)) }

    private func code(_ first: RawSpan, _ second: RawSpan) -> (UInt64, UInt64) {
        let code = keyed.code { hasher in
            unsafe first.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) }
            if !second.isEmpty { unsafe second.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) } }
        }
        return unsafe code.withUnsafeBytes { bytes in
            unsafe (
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}

extension KeyRing {
    /// Makes codes for one purpose. Their key is derived from the master key, and so does not change with the data keys.
    package func authenticator(for purpose: String) -> Authenticator {
        Authenticator(key(for: purpose).derived(salt: [], info: file.storeID))
    }
}
