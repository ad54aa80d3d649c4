internal import Bytes
internal import CZstd

/// Compresses and decompresses bytes (zstd, RFC 8878).
@safe struct Packing: ~Copyable {
    /// Only a text longer than this is compressed.
    private static let bytesMin = 1_024
    private static let level: Int32 = 3
    /// Contexts, made when they are first needed: each takes much memory.
    private var compressing: OpaquePointer?
    private var decompressing: OpaquePointer?
    private var room = ByteBuffer()

    deinit {
        unsafe ZSTD_freeCCtx(compressing)
        unsafe ZSTD_freeDCtx(decompressing)
    }

    /// The compressed bytes; nil where that saves less than a tenth.
    mutating func pack(_ buffer: borrowing ByteBuffer) -> [UInt8]? {
        let bytes = buffer.bytes
        guard bytes.byteCount > Self.bytesMin else { return nil }
        var code = 0
        room.removeAll()
        if unsafe compressing == nil { unsafe compressing = ZSTD_createCCtx() }
        let count = unsafe room.extend(by: ZSTD_compressBound(bytes.byteCount)) { target, size in
            code = unsafe bytes.withUnsafeBytes {
                unsafe ZSTD_compressCCtx(compressing, target, size, $0.baseAddress, $0.count, Self.level)
            }
            return ZSTD_isError(code) == 0 ? code : 0
        }
        return count > 0 && count <= bytes.byteCount / 10 * 9 ? room.array() : nil
    }

    /// Decompresses to exactly `count` bytes. A frame that claims another size is refused before memory is allocated for it.
    /// - Throws: `SealError.broken`.
    mutating func unpack(_ bytes: [UInt8], count: Int) throws(SealError) -> [UInt8] {
        let packed = bytes.lent
        let said = unsafe packed.withUnsafeBytes { unsafe ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
        guard said == UInt64(count) else { throw .broken("it unpacks to another size than it says") }
        room.removeAll()
        if unsafe decompressing == nil { unsafe decompressing = ZSTD_createDCtx() }
        let got = unsafe room.extend(by: count) { target, size in
            let code = unsafe packed.withUnsafeBytes {
                unsafe ZSTD_decompressDCtx(decompressing, target, size, $0.baseAddress, $0.count)
            }
            return ZSTD_isError(code) == 0 ? code : 0
        }
        guard got == count else { throw .broken("it can't be unpacked") }
        return room.array()
    }
}
