internal import Bytes
package import EventModel
package import Hashing
internal import LMDB

/// A frame of a cluster log: what one commit adds to the log of every node. Integers are little-endian.
///
///     0   u32  "evc" and the format, 1
///     4   u32  epoch
///     8   u64  number: 1, 2, 3 …
///     16  u64  the last position with it
///     24  u64  bytes of the rows
///     32  u64  bytes of the blocks
///     40  32   link: SHA-256(the link of the frame before, 32 zero bytes for the first || the 40 bytes before || rows || blocks)
///     72       rows, then blocks of the log as they lie there (`BlockLayout`), one after the other
///
/// A row: u8 length, table, u16 length, key, u32 length of the value and one more, 0 where the row is removed, value. The tables are those
/// whose rows are the cluster's (`SharedRows`).
package struct ClusterFrame: ~Escapable {
    static let magic: UInt32 = 0x01_63_76_65
    package static let headerBytes = 72
    static let linkedBytes = 40
    /// A frame holds what a commit does, and a commit has its limit.
    package static let bytesMax = 512 << 20

    package let end: FrameEnd
    package let last: Checkpoint
    let rows: RawSpan
    let blocks: RawSpan

    /// Checks that `bytes` are the frame that follows `end`.
    /// - Throws: `FrameDamage`.
    @_lifetime(copy bytes)
    package init(checking bytes: RawSpan, after end: FrameEnd) throws {
        let number = end.number + 1
        guard bytes.byteCount >= Self.headerBytes else { throw FrameDamage("it is shorter than its header") }
        let magic = bytes.load(UInt32.self, at: 0)
        guard magic == Self.magic else {
            throw FrameDamage(magic & 0xff_ff_ff == Self.magic & 0xff_ff_ff ? "its format is newer than this program's" : "it is none")
        }
        guard bytes.load(UInt64.self, at: 8) == number else { throw FrameDamage("its number is \(bytes.load(UInt64.self, at: 8))") }
        let (rowsBytes, blocksBytes) = (bytes.load(UInt64.self, at: 24), bytes.load(UInt64.self, at: 32))
        let body = UInt64(bytes.byteCount - Self.headerBytes)
        guard rowsBytes <= body, blocksBytes == body - rowsBytes else { throw FrameDamage("its parts do not have its size") }
        let rest = bytes.slice(Self.headerBytes, bytes.byteCount - Self.headerBytes)
        let link = Self.link(after: end, bytes.slice(0, Self.linkedBytes), rest)
        guard link.bytes.lent.equals(bytes.slice(Self.linkedBytes, 32)) else { throw FrameDamage("it does not follow the one before it") }
        self.end = FrameEnd(number: number, link: link.bytes)
        last = Checkpoint(epoch: Epoch(bytes.load(UInt32.self, at: 4)), position: Position(bytes.load(UInt64.self, at: 16)))
        rows = rest.slice(0, Int(rowsBytes))
        blocks = rest.slice(Int(rowsBytes), Int(blocksBytes))
    }

    private static func link(after end: FrameEnd, _ header: RawSpan, _ body: RawSpan) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(end.link)
        hasher.update(header)
        hasher.update(body)
        return hasher.finalize()
    }

    /// Encodes the frame that follows `end`.
    static func encoded(after end: FrameEnd, _ last: Checkpoint, rows: RawSpan, blocks: RawSpan) -> NewFrame {
        var bytes = ByteBuffer(capacity: headerBytes + rows.byteCount + blocks.byteCount)
        bytes.append(littleEndian: magic)
        bytes.append(littleEndian: last.epoch.rawValue)
        bytes.append(littleEndian: end.number + 1)
        bytes.append(littleEndian: last.position.rawValue)
        bytes.append(littleEndian: UInt64(rows.byteCount))
        bytes.append(littleEndian: UInt64(blocks.byteCount))
        var hasher = SHA256Hasher()
        hasher.update(end.link)
        hasher.update(bytes.bytes)
        hasher.update(rows)
        hasher.update(blocks)
        let link = hasher.finalize().bytes
        bytes.append(link)
        bytes.append(rows)
        bytes.append(blocks)
        return NewFrame(end: FrameEnd(number: end.number + 1, link: link), last: last, bytes: bytes.array())
    }
}

extension NewFrame {
    /// - Throws: `EvstoreError.appendTooLarge` where no node would take it in.
    func checkSize() throws {
        if bytes.count <= ClusterFrame.bytesMax { return }
        throw EvstoreError.appendTooLarge(
            reason: "a frame of a cluster log has at most \(ClusterFrame.bytesMax) bytes, and this one \(bytes.count)")
    }
}

extension ClusterFrame {
    /// What a frame says of itself, without a look at the rest.
    package struct Head: Sendable {
        package let epoch: Epoch
        package let end: FrameEnd
        package let last: Position

        /// Nil where the bytes are no head of a frame.
        package init?(_ bytes: [UInt8]) {
            let text = bytes.lent
            guard text.byteCount >= headerBytes, text.load(UInt32.self, at: 0) == magic else { return nil }
            epoch = Epoch(text.load(UInt32.self, at: 4))
            end = FrameEnd(number: text.load(UInt64.self, at: 8), link: [UInt8](copying: text.slice(linkedBytes, 32)))
            last = Position(text.load(UInt64.self, at: 16))
        }
    }

    /// Whether a frame has rows, which a file ahead of the log does not hold.
    static func hasRows(_ bytes: [UInt8]) -> Bool { bytes.count < headerBytes || bytes.lent.load(UInt64.self, at: 24) > 0 }

    /// The last position of a frame, and the link of its last block where it has blocks, without a look at the frame before it; nil where the
    /// bytes are no frame.
    package static func blockEnd(of bytes: [UInt8]) -> (last: Position, link: Digest?)? {
        let text = bytes.lent
        guard text.byteCount >= headerBytes, text.load(UInt32.self, at: 0) == magic else { return nil }
        let (rowsBytes, blocksBytes) = (text.load(UInt64.self, at: 24), text.load(UInt64.self, at: 32))
        guard rowsBytes <= UInt64(bytesMax), blocksBytes <= UInt64(bytesMax),
            UInt64(text.byteCount) == UInt64(headerBytes) + rowsBytes + blocksBytes
        else { return nil }
        var offset = headerBytes + Int(rowsBytes)
        var link: Digest?
        while offset + BlockLayout.headerBytes <= text.byteCount {
            link = Digest([UInt8](copying: text.slice(offset + BlockLayout.Header.link, BlockLayout.Header.linkBytes)))
            offset += max(Int(text.load(UInt32.self, at: offset + BlockLayout.Header.bytes)), 1)
        }
        return (Position(text.load(UInt64.self, at: 16)), link)
    }
}

/// What is wrong with a frame.
package struct FrameDamage: Error {
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}
