internal import Bytes
internal import EventLog
package import EventModel
package import Hashing
internal import LMDB

/// A frame of a cluster log: what one commit adds to the log of every node. Integers are little-endian.
///
///     0   u32  "evc" and the format, 1
///     4   u32  epoch
///     8   u64  number: 1, 2, 3 …
///     16  u64  the log's last position after it
///     24  u64  bytes of the rows
///     32  u64  bytes of the blocks
///     40  32   link: SHA-256(the link of the frame before, 32 zero bytes for the first || the 40 bytes before || rows || blocks)
///     72       rows, then blocks in the form of the log (`BlockLayout`), one after the other
///
/// A row: u8 length, table, u16 length, key, u32 length of the value plus one, or 0 where the row is removed, value. The tables are those
/// whose rows all nodes share (`SharedRows`).
package struct ClusterFrame: ~Escapable {
    static let format = 1
    static let magic: UInt32 = 0x63_76_65 | UInt32(format) << 24
    package static let headerBytes = 72
    static let linkedBytes = 40
    /// A limit, since a frame holds one commit, and commits are limited.
    package static let bytesMax = 512 << 20

    package let end: ClusterLogEnd
    package let last: Checkpoint
    let rows: RawSpan
    let blocks: RawSpan

    /// Checks that `bytes` are the frame that follows `end`.
    /// - Throws: `FrameDamage`.
    @_lifetime(copy bytes)
    package init(checking bytes: RawSpan, after end: ClusterLogEnd) throws {
        let head = try Head(checking: bytes)
        guard head.end.number == end.number.plus(1) else { throw FrameDamage("its number is \(head.end.number)") }
        guard head.byteCount == bytes.byteCount else { throw FrameDamage("its parts do not have its size") }
        let rest = bytes.slice(Self.headerBytes, bytes.byteCount - Self.headerBytes)
        let link = Self.link(after: end, bytes.slice(0, Self.linkedBytes), rest)
        guard link.bytes == head.end.link else { throw FrameDamage("it does not follow the one before it") }
        self.end = head.end
        last = Checkpoint(epoch: head.epoch, position: head.last)
        rows = rest.slice(0, head.rowsBytes)
        blocks = rest.slice(head.rowsBytes, head.blocksBytes)
    }

    private static func link(after end: ClusterLogEnd, _ header: RawSpan, _ body: RawSpan) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(end.link)
        hasher.update(header)
        hasher.update(body)
        return hasher.finalize()
    }

    /// Encodes the frame that follows `end`.
    package static func encoded(after end: ClusterLogEnd, _ last: Checkpoint, rows: RawSpan, blocks: RawSpan) -> NewClusterFrame {
        var bytes = ByteBuffer(capacity: headerBytes + rows.byteCount + blocks.byteCount)
        bytes.append(littleEndian: magic)
        bytes.append(littleEndian: last.epoch.rawValue)
        bytes.append(littleEndian: end.number + 1)
        bytes.append(littleEndian: last.position.rawValue)
        bytes.append(littleEndian: UInt64(rows.byteCount))
        bytes.append(littleEndian: UInt64(blocks.byteCount))
        bytes.append(Digest.zero.bytes)
        bytes.append(rows)
        bytes.append(blocks)
        let link = Self.link(
            after: end, bytes.bytes.slice(0, linkedBytes), bytes.bytes.slice(headerBytes, bytes.count - headerBytes))
        link.store(in: &bytes, at: linkedBytes)
        return NewClusterFrame(end: ClusterLogEnd(number: end.number + 1, link: link.bytes), last: last, bytes: bytes.array())
    }
}

extension NewClusterFrame {
    /// - Throws: `EvstoreError.appendTooLarge` where no node would accept the frame.
    package func checkSize() throws {
        if bytes.count <= ClusterFrame.bytesMax { return }
        throw EvstoreError.appendTooLarge(
            reason: "a frame of a cluster log has at most \(ClusterFrame.bytesMax) bytes, and this one \(bytes.count)")
    }
}

extension ClusterFrame {
    /// The header of a frame, checked alone: its numbers are possible ones.
    package struct Head: Sendable {
        package let epoch: Epoch
        package let end: ClusterLogEnd
        package let last: Position
        let rowsBytes, blocksBytes: Int
        package var byteCount: Int { headerBytes + rowsBytes + blocksBytes }

        /// - Throws: `FrameDamage`.
        init(checking text: RawSpan) throws(FrameDamage) {
            guard text.byteCount >= headerBytes else { throw FrameDamage("it is shorter than its header") }
            let (word, first) = (text.load(UInt32.self, at: 0), magic & 0xff_ff_ff)
            guard word & 0xff_ff_ff == first else { throw FrameDamage("it is not a frame") }
            guard word == magic else { throw FrameDamage("its format is newer than this program's", format: Int(word >> 24)) }
            epoch = Epoch(text.load(UInt32.self, at: 4))
            let (number, end) = (text.load(UInt64.self, at: 8), Position(text.load(UInt64.self, at: 16)))
            guard epoch >= .first, epoch.rawValue < .max, number > 0, number < Position.largest.rawValue, end <= .largest else {
                throw FrameDamage("its header is invalid")
            }
            let (rows, blocks) = (text.load(UInt64.self, at: 24), text.load(UInt64.self, at: 32))
            guard rows.plus(blocks) <= UInt64(bytesMax) else { throw FrameDamage("it is larger than a frame may be") }
            (rowsBytes, blocksBytes) = (Int(rows), Int(blocks))
            self.end = ClusterLogEnd(number: number, link: [UInt8](copying: text.slice(linkedBytes, 32)))
            last = end
        }

        /// Nil where the bytes do not begin with the header of a frame.
        package init?(_ bytes: [UInt8]) {
            do { try self.init(checking: bytes.lent) } catch { return nil }
        }
    }

    /// The last position of a frame and, if it has blocks, the link of its last block, read without the frame before it; nil where the
    /// bytes are not a frame.
    package static func blockEnd(of bytes: [UInt8]) -> (last: Position, link: Digest?)? {
        guard let head = Head(bytes), head.byteCount == bytes.count else { return nil }
        let text = bytes.lent
        var offset = headerBytes + head.rowsBytes
        var link: Digest?
        while offset < text.byteCount {
            guard text.byteCount - offset >= BlockLayout.headerBytes else { return nil }
            link = Digest(text.slice(offset + BlockLayout.Header.link, BlockLayout.Header.linkBytes))
            let size = Int(text.load(UInt32.self, at: offset + BlockLayout.Header.bytes))
            guard size >= BlockLayout.headerBytes, size <= text.byteCount - offset else { return nil }
            offset += size
        }
        return (head.last, link)
    }
}

package struct FrameDamage: Error, CustomStringConvertible {
    package let reason: String
    /// The format of a frame that a newer program has written; else nil.
    let format: Int?

    init(_ reason: String, format: Int? = nil) { (self.reason, self.format) = (reason, format) }

    package var description: String { reason }
}

/// A cut in a frame without blocks is the first row, with the name "cut" and the key "shared":
///
///     0   u64  the last position that stays
///     8   u32  the epoch that begins
///     12  32   the link of the last block that is left
///     44       UTF-8, to what and by which node
extension ClusterCut {
    static let name = "cut"
    static let key: [UInt8] = Array("shared".utf8)
    private static let fixedBytes = 44

    var value: [UInt8] { bytes(position.rawValue) + bytes(epoch.rawValue) + link.bytes + Array(note.utf8) }

    /// - Throws: `FrameDamage`.
    init(_ value: RawSpan) throws {
        guard value.byteCount >= Self.fixedBytes, let link = Digest(value.slice(12, 32)),
            let note = String(utf8: value.slice(Self.fixedBytes, value.byteCount - Self.fixedBytes))
        else { throw FrameDamage("its cut is invalid") }
        self.init(at: Position(value.load(UInt64.self, at: 0)), Epoch(value.load(UInt32.self, at: 8)), link: link, note: note)
    }

    /// Checks that this node's log is the one that was to be cut, before anything is changed.
    /// - Throws: `FrameDamage`.
    func check(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws {
        let state = try StateRows.state(transaction, access.tables)
        let last = try Blocks.last(transaction, access)
        guard epoch > state.epoch, epoch.rawValue < .max, position <= last else {
            throw FrameDamage("its cut at position \(position) does not follow epoch \(state.epoch), position \(last)")
        }
        guard try Cut.link(at: position, transaction, access) == link else {
            throw FrameDamage("its cut at position \(position) leaves another log than the other nodes have")
        }
    }

    /// Makes the cut on this node.
    /// - Throws: `FrameDamage` where this node's log is not the one that was to be cut.
    func make(_ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        try check(transaction.reads, access)
        var state = try StateRows.state(transaction.reads, access.tables)
        let (_, indexed) = try Cut.run(to: position, &transaction, access)
        try Epochs.put(epoch, cut: position, link: link, &transaction, access.tables)
        (state.epoch, state.indexed) = (epoch, indexed)
        // Each generation is checked before it is used again: one that has gone beyond the cut is built anew.
        state.generations = [:]
        try StateRows.put(state, &transaction, access.tables)
    }
}

extension ClusterFrame {
    /// The cut that the frame requests; nil where it requests none.
    /// - Throws: `FrameDamage`.
    var cut: ClusterCut? {
        get throws {
            var reading = SharedRows.Reading(rows)
            guard let row = try reading.next(), row.name == ClusterCut.name else { return nil }
            return try ClusterCut(row.value)
        }
    }

    /// Whether bytes that were not checked yet look like a frame that requests a cut.
    package static func mayCut(_ bytes: [UInt8]) -> Bool {
        let first = [UInt8(ClusterCut.name.utf8.count)] + Array(ClusterCut.name.utf8)
        // With rows: the first block of a frame without rows stands in their place.
        return bytes.count > headerBytes && bytes.lent.load(UInt64.self, at: 24) > 0 && bytes.dropFirst(headerBytes).starts(with: first)
    }
}
