internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Platform

/// `log/ahead` as programs before format 9 of a store wrote it: LMDB committed appends without syncing, in one **round** after another. At
/// the beginning of a round everything was synced, and that commit was kept: its meta page is in the header. This program writes no rounds;
/// it ends one that an older program has left, and a salvage reads it. After a power cut the log goes back to the round's commit and
/// applies its blocks again.
///
/// Integers are little-endian. There are two headers, at 0 and 4,096; the round's number modulo 2 selects one.
///
///     0    u32  magic: "evw" and the format, 1
///     4    u32  0 where LMDB holds everything durably, 1 where a round is running, 2 where its end has failed
///     8    u64  round
///     16   16   store id
///     32   u64  XXH3-64 of the machine's boot id
///     40   152  the meta page of the commit that the round goes back to (`MetaPage`); zeros if no round is running
///     192  u64  XXH3-64 of the bytes before
///
/// Entries follow from 8,192, each at a multiple of 4,096:
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
/// 3. The first page that holds no such entry ends the round. A valid entry beyond it means damage, except in a node.
package enum OlderRound {
    package struct Header: Hashable {
        package static let bytes = 200
        private static let magic: UInt32 = 0x01_77_76_65
        private static let roundMax: UInt64 = 1 << 62

        package var round: UInt64
        package var storeID: StoreID
        var boot: UInt64
        /// The commit to go back to; nil where no round is running.
        package var base: MetaPage?
        /// Whether the round's end has failed: what LMDB has written since may be lost, although it can still be read.
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

        /// Reads a header of any store; nil where the bytes are not one, for example a torn one.
        package init?(salvaging bytes: [UInt8]) throws {
            let row = bytes.lent
            guard bytes.count == Self.bytes, row.load(UInt32.self, at: 0) == Self.magic,
                checksum(row.slice(0, Self.bytes - 8)) == row.load(UInt64.self, at: Self.bytes - 8),
                let storeID = StoreID(Array(bytes[16 ..< 32]))
            else { return nil }
            (round, self.storeID) = (row.load(UInt64.self, at: 8), storeID)
            // Higher numbers are invalid: there would be no next round.
            if round > Self.roundMax { return nil }
            boot = row.load(UInt64.self, at: 32)
            let state = row.load(UInt32.self, at: 4)
            if state == 0 { return }
            hasFailed = state == 2
            let page = Array(bytes[40 ..< 40 + MetaPage.size])
            base = try MetaPage(page, number: row.load(UInt64.self, at: 40), in: WriteAhead.fileName)
        }
    }

    /// The header that counts; nil where the file has none, as always in a store that older programs can't open.
    static func header(of file: File, _ storeID: StoreID, at store: String) throws -> Header? {
        let bytes = try file.read(WriteAhead.pageBytes + Header.bytes)
        let found = try [0, WriteAhead.pageBytes].compactMap { try Header(salvaging: Array(bytes.dropFirst($0).prefix(Header.bytes))) }
        guard let newest = found.filter({ $0.storeID == storeID }).max(by: { $0.round < $1.round }),
            try !Manifest.identity(at: store).goesAhead
        else { return nil }
        return newest
    }

    /// Goes back to the commit with which the round began, and applies the round's blocks. No process may have the log open. After an
    /// interruption it begins again from the start.
    /// - Returns: false where no round is running; the caller overwrites the headers.
    static func apply(
        _ file: File, _ store: String, _ identity: StoreIdentity, _ keys: StoreKeys?, _ options: Options
    ) throws -> Bool {
        guard var running = try header(of: file, identity.id, at: store), let base = running.base else { return false }
        // Pages that were not synced may be torn; those of the commit with which the round began must not be.
        if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, asOf: base) }
        // Order: the header of this round is made durable, whatever failed before, and only then its base is restored.
        running.hasFailed = false
        try file.write(running.row, at: Int(running.round & 1) * WriteAhead.pageBytes)
        try file.sync()
        if Guard.baseRestore.isOn { try base.restore(to: File(store + "/log/data.mdb", .write)) }
        let entries = try file.read(WriteAhead.fileBytes - WriteAhead.entriesStart, at: WriteAhead.entriesStart)
        let round = running.round
        try AheadRecovery.change(store, identity, keys, options) { transaction, access in
            let isNode = try StateRows.node(transaction.reads, access.tables) != nil
            var recovered = RecoveredBlocks(try BlockIntake(transaction.reads, access, isOfThisEpoch: true), isNode: isNode, store)
            var offset = 0
            while let entry = RoundEntry(whole: entries.lent, at: offset), entry.round == round {
                let blocks = entries.lent.slice(offset + RoundEntry.headerBytes, entry.blocksBytes)
                if try !recovered.add(blocks, through: entry.last, &transaction) { return }
                offset += entry.pagesBytes
            }
            if isNode { return }
            // An unfinished commit is the last one: nothing was written after it.
            for offset in stride(from: offset, to: entries.count, by: WriteAhead.pageBytes) {
                if let entry = RoundEntry(whole: entries.lent, at: offset), entry.round == round {
                    try recovered.requireNothing(from: entry.first)
                }
            }
        }
        return true
    }

    /// The header of a complete entry.
    package struct RoundEntry {
        private static let magic: UInt32 = 0x01_65_76_65
        package static let headerBytes = 32
        private static let frameBytes = 40
        package let blocksBytes: Int
        package let round: UInt64
        let first, last: Position

        /// Reads the header of the entry at an offset; nil where there is none, or its checksum is wrong.
        package init?(whole bytes: RawSpan, at offset: Int) {
            let rest = bytes.byteCount - offset
            guard rest >= Self.frameBytes, bytes.load(UInt32.self, at: offset) == Self.magic else { return nil }
            (blocksBytes, round) = (Int(bytes.load(UInt32.self, at: offset + 4)), bytes.load(UInt64.self, at: offset + 8))
            (first, last) = (Position(bytes.load(UInt64.self, at: offset + 16)), Position(bytes.load(UInt64.self, at: offset + 24)))
            guard blocksBytes <= WriteAhead.blocksBytesMax, first > .start, first <= last, last <= .largest else { return nil }
            let end = Self.headerBytes + blocksBytes
            guard blocksBytes + Self.frameBytes <= rest,
                checksum(bytes.slice(offset, end)) == bytes.load(UInt64.self, at: offset + end)
            else { return nil }
        }

        package var pagesBytes: Int {
            (blocksBytes + Self.frameBytes + WriteAhead.pageBytes - 1) / WriteAhead.pageBytes * WriteAhead.pageBytes
        }
    }
}
