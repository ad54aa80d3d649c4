internal import Bytes
internal import CZstd

/// Makes bytes fewer (zstd, RFC 8878), and exactly those again.
@safe struct Packing: ~Copyable {
    /// Fewer bytes are not worth it.
    private static let bytesMin = 1_024
    private static let level: Int32 = 3
    private let compressing = unsafe ZSTD_createCCtx()
    private let decompressing = unsafe ZSTD_createDCtx()
    private var room = ByteBuffer()

    deinit {
        unsafe ZSTD_freeCCtx(compressing)
        unsafe ZSTD_freeDCtx(decompressing)
    }

    /// The bytes packed; nil where that does not save a tenth of them.
    mutating func pack(_ buffer: borrowing ByteBuffer) -> [UInt8]? {
        let bytes = buffer.bytes
        guard bytes.byteCount > Self.bytesMin else { return nil }
        var code = 0
        room.removeAll()
        let count = unsafe room.extend(by: ZSTD_compressBound(bytes.byteCount)) { target, size in
            code = unsafe bytes.withUnsafeBytes {
                unsafe ZSTD_compressCCtx(compressing, target, size, $0.baseAddress, $0.count, Self.level)
            }
            return ZSTD_isError(code) == 0 ? code : 0
        }
        return count > 0 && count <= bytes.byteCount / 10 * 9 ? room.array() : nil
    }

    /// Unpacks exactly `count` bytes: a frame that says or holds another number is refused before there is room for it.
    mutating func unpack(_ bytes: [UInt8], count: Int) throws(SealError) -> [UInt8] {
        let packed = bytes.lent
        let said = unsafe packed.withUnsafeBytes { unsafe ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
        guard said == UInt64(count) else { throw .broken("it unpacks to another size than it says") }
        room.removeAll()
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
