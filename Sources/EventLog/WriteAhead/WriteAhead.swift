internal import Bytes
package import EventModel
internal import Hashing
internal import Platform

/// `log/ahead`: the events that are **ahead**, the newest ones of the log, which are durable before LMDB has them. A commit through it
/// needs one sync of a few pages that are allocated on the disk already; LMDB needs two syncs. Readers see these events behind LMDB's
/// blocks (`AheadBlocks`). A checkpoint moves them into LMDB, and the next entry is written at the front again. In a node of a cluster log,
/// whose blocks are in PostgreSQL, entries are written and not synced.
///
/// Integers are little-endian. The header, at 0:
///
///     0    u32  magic: "evw" and the format, 2
///     4    u32  0 where LMDB holds everything durably, 1 where entries may follow
///     8    16   store id
///     24   u64  XXH3-64 of the machine's boot id
///     32   u64  XXH3-64 of the bytes before
///
/// Entries follow from 8,192, each at a multiple of 4,096, so that no write touches what was acknowledged before it:
///
///     0    u32  magic: "eve" and the format, 2
///     4    u32  bytes of the blocks
///     8    u64  the store's tag
///     16   u64  first position
///     24   u64  last position
///     32   u32  epoch
///     36   u32  1 in a node, else 0
///     40   u64  pass: the number of LMDB's newest transaction when the first entry of the front was written
///     48   48   in a node: u64 number of the frame, u64 its last position, 32 bytes link; else zeros
///     96        blocks, one after the other
///     end  u64  XXH3-64 of the bytes before
///
/// 1. From the front, an entry counts if its checksum, its tag and its epoch are right, its pass is that of the first one, and its
/// positions follow those of the entry before. Entries whose events LMDB has are skipped; the first one that LMDB lacks follows LMDB's last
/// block.
/// 2. The first page that holds no such entry ends what is ahead: an entry of an earlier pass, or an unfinished one. A complete entry of
/// the pass beyond it with later positions means damage, except in a node.
///
/// Stores of formats before 9 have rounds instead (`OlderRound`).
package enum WriteAhead {
    package static let fileName = "/log/ahead"
    package static let pageBytes = 4_096
    package static let entriesStart = 2 * pageBytes
    package static let fileBytes = entriesStart + 1_024 * pageBytes
    /// For larger commits the cost of LMDB's second sync does not matter.
    static let blocksBytesMax = 1 << 20
    /// The most blocks in all entries together.
    static let blocksMax = 4_096

    package struct Header: Hashable {
        package static let bytes = 40
        private static let magic: UInt32 = 0x02_77_76_65
        static let bootDigest = checksum(Array(ProcessIdentity.boot.utf8).lent)

        package var storeID: StoreID
        /// Whether entries may follow.
        package var isOpen: Bool
        var boot = Header.bootDigest

        init(_ storeID: StoreID, isOpen: Bool) { (self.storeID, self.isOpen) = (storeID, isOpen) }

        /// Nil where the bytes are not a header, for example a torn one or an older program's.
        package init?(_ bytes: [UInt8]) {
            let row = bytes.lent
            guard bytes.count == Self.bytes, row.load(UInt32.self, at: 0) == Self.magic,
                checksum(row.slice(0, Self.bytes - 8)) == row.load(UInt64.self, at: Self.bytes - 8),
                let storeID = StoreID(Array(bytes[8 ..< 24]))
            else { return nil }
            (self.storeID, isOpen, boot) = (storeID, row.load(UInt32.self, at: 4) != 0, row.load(UInt64.self, at: 24))
        }

        /// Writes the header durably, even if the file has it already: after a failed sync, a file reads as if its bytes were on the disk.
        func write(to file: File) throws(StorageError) {
            var row = ByteBuffer(capacity: Self.bytes)
            row.append(littleEndian: Self.magic)
            row.append(littleEndian: isOpen ? 1 : 0 as UInt32)
            row.append(storeID.bytes)
            row.append(littleEndian: boot)
            let sum = checksum(row.bytes)
            row.append(littleEndian: sum)
            try file.write(row.array())
            try file.sync()
        }
    }

    package struct Entry {
        private static let magic: UInt32 = 0x02_65_76_65
        package static let headerBytes = 96
        static let noteStart = 48
        static let noteBytes = 48
        package let blocksBytes: Int
        package let first, last: Position
        package let epoch: Epoch
        package let storeTag: UInt64
        let pass: UInt64
        let isOfNode: Bool

        /// Nil where no entry begins here. The checksum is not checked.
        package init?(_ bytes: RawSpan) {
            guard bytes.byteCount >= Self.headerBytes, bytes.load(UInt32.self, at: 0) == Self.magic else { return nil }
            (blocksBytes, storeTag) = (Int(bytes.load(UInt32.self, at: 4)), bytes.load(UInt64.self, at: 8))
            (first, last) = (Position(bytes.load(UInt64.self, at: 16)), Position(bytes.load(UInt64.self, at: 24)))
            (epoch, isOfNode) = (Epoch(bytes.load(UInt32.self, at: 32)), bytes.load(UInt32.self, at: 36) != 0)
            pass = bytes.load(UInt64.self, at: 40)
            guard blocksBytes <= WriteAhead.blocksBytesMax, first > .start, first <= last, last <= .largest else { return nil }
        }

        /// Reads the header of a complete entry; nil where there is none, or its checksum is wrong.
        package init?(whole bytes: RawSpan) {
            guard let entry = Entry(bytes), entry.byteCount <= bytes.byteCount else { return nil }
            let end = entry.byteCount - 8
            guard checksum(bytes.slice(0, end)) == bytes.load(UInt64.self, at: end) else { return nil }
            self = entry
        }

        var byteCount: Int { Self.headerBytes + blocksBytes + 8 }

        package var pagesBytes: Int { Self.pagesBytes(ofBlocks: blocksBytes) }

        static func pagesBytes(ofBlocks bytes: Int) -> Int { (headerBytes + bytes + 8 + pageBytes - 1) / pageBytes * pageBytes }

        /// The fields of the header, except those that follow from the blocks.
        struct Head {
            var epoch: Epoch
            var positions: ClosedRange<Position>
            var storeTag: UInt64
            var pass: UInt64
            /// For a node, names the frame that the entry was made from (`AheadBlocks.note`); else empty.
            var note: [UInt8]
        }

        static func encode(_ blocks: BlockBatch, _ head: Head, into buffer: inout ByteBuffer) {
            buffer.removeAll()
            buffer.append(littleEndian: magic)
            buffer.append(littleEndian: UInt32(blocks.byteCount))
            buffer.append(littleEndian: head.storeTag)
            buffer.append(littleEndian: head.positions.lowerBound.rawValue)
            buffer.append(littleEndian: head.positions.upperBound.rawValue)
            buffer.append(littleEndian: head.epoch.rawValue)
            buffer.append(littleEndian: head.note.isEmpty ? 0 : 1 as UInt32)
            buffer.append(littleEndian: head.pass)
            if head.note.isEmpty { buffer.append(zeros: noteBytes) } else { buffer.append(head.note) }
            blocks.lend { buffer.append($0) }
            let sum = checksum(buffer.bytes)
            buffer.append(littleEndian: sum)
            // Padded to whole pages: before the system writes a part of a page that it has not cached, it reads that page.
            let rest = buffer.count % pageBytes
            if rest > 0 { buffer.append(zeros: pageBytes - rest) }
        }
    }

    /// Goes through the entries from the front, by rules 1 and 2: for readers, for the process that takes the writer's turn, and after a
    /// power cut.
    struct Walk {
        let storeTag: UInt64
        let epoch: Epoch
        private(set) var offset = WriteAhead.entriesStart
        /// The pass of the entries so far; nil before the first one.
        private(set) var pass: UInt64?
        /// Whether an entry was found that the log lacked.
        private var hasMetNew = false

        init(_ storeTag: UInt64, _ epoch: Epoch) { (self.storeTag, self.epoch) = (storeTag, epoch) }

        /// Goes on after entries that the log has.
        init(_ storeTag: UInt64, _ epoch: Epoch, behind place: (offset: Int, pass: UInt64)) {
            (self.storeTag, self.epoch, offset, pass, hasMetNew) = (storeTag, epoch, place.offset, place.pass, true)
        }

        /// Where the next entry is to be written; nil at the front, where a pass begins.
        var place: (offset: Int, pass: UInt64)? { pass.map { (offset, $0) } }

        /// The relation of the entry at `offset` to a log.
        enum Step { case known, new, end }

        /// - Parameter last: the log's end.
        func step(_ entry: Entry, after last: Position) -> Step {
            if !isOfThis(entry) { return .end }
            if entry.first == last.next { return .new }
            return !hasMetNew && entry.last <= last ? .known : .end
        }

        /// Whether an entry belongs to this pass, wherever it lies.
        func isOfThis(_ entry: Entry) -> Bool {
            entry.epoch == epoch && entry.storeTag == storeTag && (pass == nil || pass == entry.pass)
        }

        mutating func go(past entry: Entry, _ step: Step) {
            if step == .new { hasMetNew = true }
            (offset, pass) = (offset + entry.pagesBytes, entry.pass)
        }
    }
}
