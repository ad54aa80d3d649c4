internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import System

/// Looks for blocks in a file by what they say of themselves, at every second byte, where LMDB puts a value. What was found to be
/// one is not looked into: an event may hold a block's bytes.
struct BlockHunt {
    private static let windowBytes = 4 << 20
    /// What an append may have, in a block of its own.
    private static let blockBytesMax = 64 << 20 + 65_536
    /// "ev" four times, and one in each of the four places.
    private static let marks: UInt64 = 0x7665_7665_7665_7665
    private static let ones: UInt64 = 0x0001_0001_0001_0001

    private let file: File
    private let kind: FoundBlock.File
    private let size: Int
    private let pageBytes: Int
    private(set) var blocks: [FoundBlock] = []
    /// What was summed up for nothing. A file that is made to keep a hunt busy is looked through for blocks of the usual size
    /// alone in the end.
    private var wasted = 0

    init(_ file: File, _ kind: FoundBlock.File, pageBytes: Int) throws(StorageError) {
        (self.file, self.kind, self.pageBytes) = (file, kind, pageBytes)
        size = try file.status().bytes
    }

    var fileBytes: UInt64 { UInt64(size) }

    /// - Parameters:
    ///   - range: where blocks may begin; nil is anywhere.
    ///   - progress: gets how many bytes were looked through; what it throws ends the hunt.
    mutating func run(in range: Range<Int>? = nil, _ progress: (UInt64) throws -> Void) throws {
        var next = range?.lowerBound ?? 0
        let size = min(self.size, range?.upperBound ?? .max)
        while next < size {
            // Holes hold no blocks, and a file may be made of little else.
            guard let data = try file.data(from: next), data < size else { break }
            next = data
            try progress(UInt64(next))
            let start = next
            next += min(Self.windowBytes, size - next)
            // A beginning that lies across is whole in one of the two windows.
            let window = try file.read(next - start + 8, at: start)
            var offset = start
            while offset < next, offset - start + 8 <= window.count {
                let word = window.lent.load(UInt64.self, at: offset - start) ^ Self.marks
                var step = 8
                // A place of the word is zero, or comes after one that is.
                if (word &- Self.ones) & ~word & (Self.ones << 15) != 0 {
                    for lane in stride(from: 0, to: 8, by: 2) where offset - start + lane + 4 <= window.count {
                        let magic = window.lent.load(UInt32.self, at: offset - start + lane)
                        guard BlockLayout.entryBytes(of: magic) != nil, let count = try take(at: offset + lane, window, start) else {
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

    /// Takes the block at an offset; returns its bytes, nil where none is.
    private mutating func take(at offset: Int, _ window: [UInt8], _ start: Int) throws -> Int? {
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

    /// How long a header says its block is; nil where no header of a block would say what it does.
    private func claimed(_ header: RawSpan, at offset: Int) -> Int? {
        let count = Int(header.load(UInt32.self, at: BlockLayout.Header.bytes))
        let offsets = Int(header.load(UInt32.self, at: BlockLayout.Header.offsets))
        let first = header.load(UInt64.self, at: BlockLayout.Header.first)
        let most = wasted / 16 > size ? BlockLayout.bytesMax : Self.blockBytesMax
        guard (BlockLayout.headerBytes + BlockLayout.checksumBytes ... most).contains(count), count <= size - offset,
            header.load(UInt32.self, at: BlockLayout.Header.flags) & ~BlockLayout.Mark.known == 0,
            header.load(UInt32.self, at: BlockLayout.Header.count) > 0,
            (BlockLayout.headerBytes ..< count).contains(offsets), (1 ... BlockLayout.positionMax).contains(first)
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

    /// Whether it begins a run of pages, or is the data of a node whose key is its first position.
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
