internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

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

    /// Reads the header of a checked block.
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
