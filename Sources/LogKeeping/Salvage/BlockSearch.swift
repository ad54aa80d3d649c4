internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Searches a file for blocks by their own headers and checksums, at every second byte, where LMDB puts values. The bytes of a block
/// that was found are skipped: an event may hold a block's bytes.
struct BlockSearch {
    private static let windowBytes = 4 << 20
    /// The largest block: an event of the largest size, with its header.
    private static let blockBytesMax = 64 << 20 + 65_536
    /// The first two bytes of a block, "ev", in each 16-bit lane of a word; and a 1 in each lane.
    private static let marks: UInt64 = 0x7665_7665_7665_7665
    private static let ones: UInt64 = 0x0001_0001_0001_0001

    private let file: File
    private let kind: FoundBlock.File
    private let size: Int
    private let pageBytes: Int
    private(set) var blocks: [FoundBlock] = []
    /// How many bytes were checksummed and were no block. Once they exceed 16 times the file's size, only blocks of the usual size are
    /// tried, so that a crafted file can't keep a search busy.
    private var wasted = 0

    init(_ file: File, _ kind: FoundBlock.File, pageBytes: Int) throws(StorageError) {
        (self.file, self.kind, self.pageBytes) = (file, kind, pageBytes)
        size = try file.status().bytes
    }

    var fileBytes: UInt64 { UInt64(size) }

    /// - Parameters:
    ///   - range: offsets at which blocks may begin; nil is the whole file.
    ///   - progress: called with the number of bytes that were searched; an error that it throws ends the search.
    mutating func run(in range: Range<Int>? = nil, _ progress: (UInt64) throws -> Void) throws {
        var next = range?.lowerBound ?? 0
        let size = min(self.size, range?.upperBound ?? .max)
        while next < size {
            // A sparse file has holes, which hold no blocks.
            guard let data = try file.data(from: next), data < size else { break }
            next = data
            try progress(UInt64(next))
            let start = next
            next += min(Self.windowBytes, size - next)
            // Windows overlap by 8 bytes, so that the first bytes of a block that crosses their border are complete in one of them.
            let window = try file.read(next - start + 8, at: start)
            var offset = start
            while offset < next, offset - start + 8 <= window.count {
                let word = window.lent.load(UInt64.self, at: offset - start) ^ Self.marks
                var step = 8
                // True where a lane is zero, which is a match, or follows such a lane.
                if (word &- Self.ones) & ~word & (Self.ones << 15) != 0 {
                    for lane in stride(from: 0, to: 8, by: 2) where offset - start + lane + 4 <= window.count {
                        let magic = window.lent.load(UInt32.self, at: offset - start + lane)
                        guard BlockLayout.entryBytes(of: magic) != nil, let count = try addBlock(at: offset + lane, window, start) else {
                            continue
                        }
                        step = lane + (count + 1) / 2 * 2
                        break
                    }
                }
                offset += step
            }
            next = max(next, offset)
        }
        try progress(UInt64(size))
    }

    /// Adds the block at an offset and returns its size; nil where there is none.
    private mutating func addBlock(at offset: Int, _ window: [UInt8], _ start: Int) throws -> Int? {
        guard size - offset >= BlockLayout.headerBytes + BlockLayout.checksumBytes else { return nil }
        let inside = offset - start
        var header = window.lent.slice(inside, min(BlockLayout.headerBytes, window.count - inside))
        let own = window.count - inside < BlockLayout.headerBytes ? try file.read(BlockLayout.headerBytes, at: offset) : []
        if !own.isEmpty { header = own.lent }
        guard header.byteCount == BlockLayout.headerBytes, let count = claimed(header, at: offset) else { return nil }
        if window.count - inside >= count { return try check(window.lent.slice(inside, count), at: offset) }
        let block = try file.read(count, at: offset)
        return try check(block.lent, at: offset)
    }

    /// The size of a block by its header; nil where the header is out of bounds.
    private func claimed(_ header: RawSpan, at offset: Int) -> Int? {
        let count = Int(header.load(UInt32.self, at: BlockLayout.Header.bytes))
        let offsets = Int(header.load(UInt32.self, at: BlockLayout.Header.offsets))
        let first = header.load(UInt64.self, at: BlockLayout.Header.first)
        let most = wasted / 16 > size ? BlockLayout.bytesMax : Self.blockBytesMax
        guard (BlockLayout.headerBytes + BlockLayout.checksumBytes ... most).contains(count), count <= size - offset,
            header.load(UInt32.self, at: BlockLayout.Header.flags) & ~BlockLayout.Mark.known == 0,
            header.load(UInt32.self, at: BlockLayout.Header.count) > 0,
            (BlockLayout.headerBytes ..< count).contains(offsets), first > 0, first <= Position.largest.rawValue
        else { return nil }
        return count
    }

    private mutating func check(_ bytes: RawSpan, at offset: Int) throws -> Int? {
        guard bytes.byteCount >= BlockLayout.headerBytes else { return nil }
        let first = Position(bytes.load(UInt64.self, at: BlockLayout.Header.first))
        do throws(EvstoreError) {
            _ = try BlockLayout.check(bytes, at: first, storeTag: bytes.load(UInt64.self, at: BlockLayout.Header.storeTag))
        } catch {
            wasted += bytes.byteCount
            return nil
        }
        blocks.append(FoundBlock(bytes, in: kind, at: offset, isPlaced: try isPlaced(first, bytes.byteCount, at: offset)))
        return bytes.byteCount
    }

    /// Whether the block begins a run of overflow pages, or is the value of a node whose key is the block's first position.
    private func isPlaced(_ first: Position, _ count: Int, at offset: Int) throws(StorageError) -> Bool {
        guard kind == .data, offset >= 16 else { return false }
        let before = try file.read(16, at: offset - 16)
        let row = before.lent
        if offset % pageBytes == 16 {
            return row.load(UInt64.self, at: 0) == UInt64(offset / pageBytes) && row.load(UInt16.self, at: 10) == 4
        }
        let size = Int(row.load(UInt16.self, at: 0)) | Int(row.load(UInt16.self, at: 2)) << 16
        return size == count && row.load(UInt16.self, at: 4) == 0 && row.load(UInt16.self, at: 6) == 8
            && row.load(UInt64.self, at: 8) == first.rawValue
    }
}

/// A complete block in a file, whether or not a table leads to it.
struct FoundBlock: Hashable {
    enum File: UInt8 { case data, ahead }

    let first: Position
    let count: UInt32
    let epoch: Epoch
    let time: Int64
    let tag: UInt64
    let link: Digest
    let file: File
    let offset: Int
    let bytes: Int
    /// Whether LMDB, or an entry of `log/ahead`, would put a block at this offset; else the bytes may be a part of an event.
    let isPlaced: Bool

    var last: Position { first.plus(UInt64(count) - 1) }

    init(_ block: RawSpan, in file: File, at offset: Int, isPlaced: Bool) {
        first = Position(block.load(UInt64.self, at: BlockLayout.Header.first))
        count = block.load(UInt32.self, at: BlockLayout.Header.count)
        epoch = Epoch(block.load(UInt32.self, at: BlockLayout.Header.epoch))
        time = block.load(Int64.self, at: BlockLayout.Header.time)
        tag = block.load(UInt64.self, at: BlockLayout.Header.storeTag)
        link = Digest(block.slice(BlockLayout.Header.link, BlockLayout.Header.linkBytes)) ?? .zero
        (self.file, self.offset, bytes, self.isPlaced) = (file, offset, block.byteCount, isPlaced)
    }
}

extension [FoundBlock] {
    /// The first of these blocks, which ascend without overlaps, that ends at a position or after it.
    func first(endingFrom position: Position) -> FoundBlock? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].last < position { low = middle + 1 } else { high = middle }
        }
        return low < count ? self[low] : nil
    }
}
