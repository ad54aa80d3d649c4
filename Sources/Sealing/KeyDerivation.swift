internal import Bytes
internal import Crypto

/// HKDF-SHA256 (RFC 5869) of one block, made of HMAC-SHA256 (RFC 2104) over the library's hash. The library's own HKDF and HMAC look up
/// generic types at each call, and HKDF makes arrays of padded keys, which takes four times as long as the hashing. A key is derived for
/// each envelope, and a code is made for each block and row.
@safe enum KeyDerivation {
    private static let blockBytes = SHA256.blockByteCount
    private static let digestBytes = SHA256.byteCount

    /// - Parameters:
    ///   - salt: at most 64 bytes.
    ///   - info: says what the key is for.
    static func derive(_ key: SymmetricKey, salt: RawSpan, info: RawSpan) -> SymmetricKey {
        precondition(salt.byteCount <= blockBytes, "a salt of at most one block")
        return unsafe withUnsafeTemporaryAllocation(byteCount: blockBytes + 2 * digestBytes, alignment: 8) { room in
            unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
            defer { unsafe wipe(room) }
            let block = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<blockBytes])
            let extracted = unsafe UnsafeMutableRawBufferPointer(rebasing: room[blockBytes ..< blockBytes + digestBytes])
            let expanded = unsafe UnsafeMutableRawBufferPointer(rebasing: room[(blockBytes + digestBytes)...])
            unsafe salt.withUnsafeBytes { salt in
                unsafe key.withUnsafeBytes { key in
                    unsafe authenticate(under: salt, block, to: extracted) { hasher in unsafe hasher.update(bufferPointer: key) }
                }
            }
            unsafe info.withUnsafeBytes { info in
                unsafe authenticate(under: UnsafeRawBufferPointer(extracted), block, to: expanded) { hasher in
                    unsafe hasher.update(bufferPointer: info)
                    unsafe withUnsafeBytes(of: 1 as UInt8) { unsafe hasher.update(bufferPointer: $0) }
                }
            }
            return unsafe SymmetricKey(data: UnsafeRawBufferPointer(expanded))
        }
    }

    /// Writes the HMAC of the bytes that `feed` hashes.
    /// - Parameter block: room for the padded key.
    private static func authenticate(
        under key: UnsafeRawBufferPointer, _ block: UnsafeMutableRawBufferPointer, to code: UnsafeMutableRawBufferPointer,
        _ feed: (inout SHA256) -> Void
    ) {
        var (inner, outer) = unsafe states(under: key, block)
        feed(&inner)
        unsafe inner.finalize().withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
        unsafe outer.finalize().withUnsafeBytes { unsafe code.copyMemory(from: $0) }
    }

    /// The two hash states of HMAC after the padded key.
    fileprivate static func states(of key: SymmetricKey) -> (inner: SHA256, outer: SHA256) {
        unsafe withUnsafeTemporaryAllocation(byteCount: blockBytes, alignment: 8) { block in
            defer { unsafe wipe(block) }
            return unsafe key.withUnsafeBytes { unsafe states(under: $0, block) }
        }
    }

    private static func states(
        under key: UnsafeRawBufferPointer, _ block: UnsafeMutableRawBufferPointer
    ) -> (inner: SHA256, outer: SHA256) {
        precondition(key.count <= blockBytes, "a key of at most one block")
        unsafe block.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe block.copyMemory(from: key)
        for index in 0 ..< blockBytes { unsafe block[index] ^= 0x36 }
        var (inner, outer) = (SHA256(), SHA256())
        unsafe inner.update(bufferPointer: UnsafeRawBufferPointer(block))
        for index in 0 ..< blockBytes { unsafe block[index] ^= 0x36 ^ 0x5c }
        unsafe outer.update(bufferPointer: UnsafeRawBufferPointer(block))
        return (inner, outer)
    }

    /// Overwrites secrets. The function is never inlined, so that the compiler can't see that its stores are never read.
    @inline(never)
    private static func wipe(_ room: UnsafeMutableRawBufferPointer) { unsafe room.initializeMemory(as: UInt8.self, repeating: 0) }
}

/// HMAC-SHA256 (RFC 2104) under a key of at most 64 bytes. The key is processed once, which costs as much as hashing a short text.
struct KeyedHash: Sendable {
    private let inner, outer: SHA256

    init(_ key: SecretKey) { (inner, outer) = KeyDerivation.states(of: key.symmetric) }

    func code(_ feed: (inout SHA256) -> Void) -> SHA256.Digest {
        var (inner, outer) = (inner, outer)
        feed(&inner)
        unsafe inner.finalize().withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
        return outer.finalize()
    }
}
