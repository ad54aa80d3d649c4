internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Platform

/// `log/ahead`: blocks that are durable before LMDB has made them so; in a node of a cluster log, whose blocks PostgreSQL has, they are
/// written and not synced. A commit that goes through it needs one sync of a few
/// pages that are on the disk already, where LMDB needs two; LMDB then commits without syncing, in one **round** after
/// another. A round begins with everything synced and keeps that commit: its meta page is in the header, and its pages are
/// not used again, because every process that adds to the round holds a pin at or below it. After a power cut the log goes
/// back to that commit and applies the round's blocks again (`AheadRecovery`).
///
/// Integers are little-endian; the two headers lie at 0 and 4,096, the round's number modulo 2 says which.
///
///     0    u32  magic: "evw" and the format, 1
///     4    u32  0 where LMDB holds everything durably, 1 where a round is running, 2 where its end has failed: nothing is
///               written any more until all have closed the store and it was recovered
///     8    u64  round
///     16   16   store id
///     32   u64  XXH3-64 of the machine's boot id
///     40   152  the meta page of the commit that the round goes back to (`MetaPage`); zeros where none is running
///     192  u64  XXH3-64 of the bytes before
///
/// Entries follow from 8,192, each at a multiple of 4,096, so that no write touches what was acknowledged before it:
///
///     0    u32  magic: "eve" and the format, 1
///     4    u32  bytes of the blocks
///     8    u64  round
///     16   u64  first position
///     24   u64  last position
///     32        blocks, one after the other
///     end  u64  XXH3-64 of the bytes before
///
/// 1. The header with a right checksum and the higher round counts; without any, no round is running.
/// 2. An entry counts if its round is the header's, its checksum is right, and its first position follows the one before.
/// 3. The first page that holds no such entry ends the round. An entry beyond it that is right in itself means damage, but in a node.
package enum WriteAhead {
    package static let fileName = "/log/ahead"
    package static let pageBytes = 4_096
    package static let entriesStart = 2 * pageBytes
    package static let fileBytes = entriesStart + 1_024 * pageBytes
    /// For larger commits LMDB's second sync does not matter.
    static let blocksBytesMax = 1 << 20
    package static let frameBytes = 40

    package struct Header: Hashable {
        package static let bytes = 200
        private static let magic: UInt32 = 0x01_77_76_65
        private static let roundMax: UInt64 = 1 << 62
        static let bootDigest = checksum(Array(ProcessIdentity.boot.utf8).lent)

        package var round: UInt64
        package var storeID: StoreID
        var boot = Header.bootDigest
        /// The commit to go back to; nil where no round is running.
        package var base: MetaPage?
        /// Whether its end has failed: what LMDB has written since may be lost, although it can still be read.
        var hasFailed = false

        var row: [UInt8] {
            var row = ByteBuffer(capacity: Self.bytes)
            row.append(littleEndian: Self.magic)
            row.append(littleEndian: UInt32(base == nil ? 0 : hasFailed ? 2 : 1))
            row.append(littleEndian: round)
            row.append(storeID.bytes)
            row.append(littleEndian: boot)
            if let base { row.append(base.bytes) } else { row.append(zeros: MetaPage.size) }
            let sum = checksum(row.bytes)
            row.append(littleEndian: sum)
            return row.array()
        }

        init(round: UInt64, storeID: StoreID, base: MetaPage?) { (self.round, self.storeID, self.base) = (round, storeID, base) }

        /// Nil where the bytes are no header of this store, such as one that was torn.
        init?(_ bytes: [UInt8], of storeID: StoreID) throws {
            try self.init(salvaging: bytes)
            if self.storeID != storeID { return nil }
        }

        /// The same for any store.
        package init?(salvaging bytes: [UInt8]) throws {
            let row = bytes.lent
            guard bytes.count == Self.bytes, row.load(UInt32.self, at: 0) == Self.magic,
                checksum(row.slice(0, Self.bytes - 8)) == row.load(UInt64.self, at: Self.bytes - 8),
                let storeID = StoreID(Array(bytes[16 ..< 32]))
            else { return nil }
            (round, self.storeID) = (row.load(UInt64.self, at: 8), storeID)
            // More than could be ended: the next one could not be counted.
            if round > Self.roundMax { return nil }
            boot = row.load(UInt64.self, at: 32)
            let state = row.load(UInt32.self, at: 4)
            if state == 0 { return }
            hasFailed = state == 2
            let page = Array(bytes[40 ..< 40 + MetaPage.size])
            base = try MetaPage(page, number: row.load(UInt64.self, at: 40), in: WriteAhead.fileName)
        }
    }

    /// Both headers, and what lies between them.
    static let headersBytes = pageBytes + Header.bytes

    /// The header that counts; nil where the file has none.
    static func header(of file: File, _ storeID: StoreID) throws -> Header? { try header(in: file.read(headersBytes), storeID) }

    /// The one that counts of a file that begins with these bytes.
    static func header(in bytes: [UInt8], _ storeID: StoreID) throws -> Header? {
        let found = try [0, pageBytes].compactMap { try Header(Array(bytes.dropFirst($0).prefix(Header.bytes)), of: storeID) }
        return found.max { $0.round < $1.round }
    }

    /// Writes a header durably; also where the file has it already, since after a failed sync a file reads as if it were on the disk.
    static func write(_ header: Header, to file: File) throws {
        try file.write(header.row, at: place(of: header.round))
        try file.sync()
    }

    /// Marks a round as ended. Where that may not have reached the disk, a recovery could still go back to where the round began: then
    /// nothing may be written any more, and the header says so to every process.
    static func end(_ running: Header, in file: File) throws {
        do { try write(Header(round: running.round + 1, storeID: running.storeID, base: nil), to: file) } catch {
            var failed = running
            failed.hasFailed = true
            try file.write([UInt8](repeating: 0, count: Header.bytes), at: place(of: running.round + 1))
            try file.write(failed.row, at: place(of: running.round))
            throw error
        }
    }

    private static func place(of round: UInt64) -> Int { Int(round & 1) * pageBytes }

    /// The header of an entry.
    package struct Frame {
        private static let magic: UInt32 = 0x01_65_76_65
        package static let headerBytes = 32
        package let blocksBytes: Int
        let first, last: Position

        /// Nil where no entry of this round lies here. The checksum is not looked at.
        init?(_ bytes: RawSpan, round: UInt64) {
            guard bytes.byteCount >= Self.headerBytes, bytes.load(UInt32.self, at: 0) == Self.magic,
                bytes.load(UInt64.self, at: 8) == round
            else { return nil }
            blocksBytes = Int(bytes.load(UInt32.self, at: 4))
            (first, last) = (Position(bytes.load(UInt64.self, at: 16)), Position(bytes.load(UInt64.self, at: 24)))
            guard blocksBytes <= WriteAhead.blocksBytesMax, first > .start, first <= last, last <= .largest else { return nil }
        }

        /// A whole entry of any round; nil where none lies here.
        package static func salvaged(_ bytes: RawSpan) -> (frame: Frame, round: UInt64)? {
            guard bytes.byteCount >= headerBytes else { return nil }
            let round = bytes.load(UInt64.self, at: 8)
            guard let frame = Frame(bytes, round: round), frame.blocksBytes + WriteAhead.frameBytes <= bytes.byteCount else { return nil }
            let end = headerBytes + frame.blocksBytes
            return checksum(bytes.slice(0, end)) == bytes.load(UInt64.self, at: end) ? (frame, round) : nil
        }

        /// How far it is to the next entry.
        package var pagesBytes: Int { Self.pagesBytes(ofBlocks: blocksBytes) }

        static func pagesBytes(ofBlocks bytes: Int) -> Int { (bytes + frameBytes + pageBytes - 1) / pageBytes * pageBytes }

        /// Begins an entry; the blocks follow, then `end`.
        static func begin(_ buffer: inout ByteBuffer, round: UInt64, first: Position, last: Position, blocksBytes: Int) {
            buffer.removeAll()
            buffer.append(littleEndian: magic)
            buffer.append(littleEndian: UInt32(blocksBytes))
            buffer.append(littleEndian: round)
            buffer.append(littleEndian: first.rawValue)
            buffer.append(littleEndian: last.rawValue)
        }

        static func end(_ buffer: inout ByteBuffer) {
            let sum = checksum(buffer.bytes)
            buffer.append(littleEndian: sum)
            // A page that is written in part would be read first where the system has it no more.
            let rest = buffer.count % pageBytes
            if rest > 0 { buffer.append(zeros: pageBytes - rest) }
        }
    }
}
