internal import Bytes
internal import EventModel
internal import Hashing

/// A sequence of operations: what prepared events do to rows, in the order of the log.
///
/// Format of an operation, little-endian: total size (u32), size of the key (u16), rule (u16), XXH3-64 of the key (u64), position (u64),
/// number of the operation within its event (u32), folds that may run (u64, one bit each), key, then the fold's own data.
struct OperationBuffer: ~Copyable {
    /// The bytes appended between `begin` and `endKey` are the key; those between `endKey` and `end` are the fold's own data.
    var bytes = ByteBuffer(capacity: 1 << 16)
    private var start = 0
    private var keyStart = 0
    private var ordinal: UInt32 = 0
    /// A longer key is a fold error.
    let keyBytesMax: Int

    init(keyBytesMax: Int) { self.keyBytesMax = keyBytesMax }

    /// Marks the next operation as the first of an event.
    mutating func beginEvent() { ordinal = 0 }

    mutating func removeAll() { bytes.removeAll() }

    /// Removes everything after the first `count` bytes.
    mutating func truncate(to count: Int) { bytes.truncate(to: count) }

    /// Begins an operation; the caller then appends the key to `bytes`.
    mutating func begin(rule: Int, mask: UInt64, position: Position) {
        start = bytes.count
        // The sizes and the hash are filled in when they are known.
        bytes.append(littleEndian: UInt128(UInt16(rule)) << 48)
        bytes.append(littleEndian: UInt128(position.rawValue) | UInt128(ordinal) << 64 | UInt128(UInt32(truncatingIfNeeded: mask)) << 96)
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: mask >> 32))
        keyStart = bytes.count
    }

    /// Ends the key, which consists of everything since `begin`.
    mutating func endKey() throws(FoldError) {
        let count = bytes.count - keyStart
        guard count > 0 else { throw FoldError("the key is empty") }
        guard count <= keyBytesMax else { throw FoldError("the key has \(count) bytes; \(keyBytesMax) are the most") }
        let hash = checksum(bytes.slice(keyStart, count))
        bytes.store(littleEndian: UInt16(count), at: start + 4)
        bytes.store(littleEndian: hash, at: start + 8)
    }

    mutating func end() {
        bytes.store(littleEndian: UInt32(bytes.count - start), at: start)
        ordinal += 1
    }
}

/// The locations of an operation's fields.
enum Operation {
    static let headerBytes = 36

    static func size(_ operation: RawSpan, at offset: Int = 0) -> Int { Int(operation.load(UInt32.self, at: offset)) }
    static func hash(_ operation: RawSpan, at offset: Int = 0) -> UInt64 { operation.load(UInt64.self, at: offset + 8) }
    static func keyCount(_ operation: RawSpan, at offset: Int = 0) -> Int { Int(operation.load(UInt16.self, at: offset + 4)) }

    @_lifetime(copy operation)
    static func key(_ operation: RawSpan, at offset: Int = 0) -> RawSpan {
        operation.slice(offset + headerBytes, keyCount(operation, at: offset))
    }

    static func rule(_ operation: RawSpan) -> Int { Int(operation.load(UInt16.self, at: 6)) }
    static func position(_ operation: RawSpan) -> Position { Position(operation.load(UInt64.self, at: 16)) }
    static func ordinal(_ operation: RawSpan) -> UInt32 { operation.load(UInt32.self, at: 24) }
    static func mask(_ operation: RawSpan) -> UInt64 { operation.load(UInt64.self, at: 28) }
    /// The offset of the fold's own data.
    static func bodyStart(_ operation: RawSpan) -> Int { headerBytes + keyCount(operation) }
}
