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
    let link: Link
    let file: File
    let offset: Int
    let bytes: Int
    /// Whether LMDB, or an entry of `log/ahead`, would put a block at this offset; else the bytes may be a part of an event.
    let isPlaced: Bool

    var last: Position { first.plus(UInt64(count) - 1) }

    /// 32 bytes without a heap allocation.
    struct Link: Hashable {
        private let a, b, c, d: UInt64

        init(_ bytes: RawSpan) {
            (a, b) = (bytes.load(UInt64.self, at: 0), bytes.load(UInt64.self, at: 8))
            (c, d) = (bytes.load(UInt64.self, at: 16), bytes.load(UInt64.self, at: 24))
        }

        init(_ digest: Digest) { self.init(digest.bytes.lent) }

        var digest: Digest {
            var bytes = ByteBuffer(capacity: 32)
            for word in [a, b, c, d] { bytes.append(littleEndian: word) }
            return Digest(bytes.array()) ?? .zero
        }
    }

    /// Reads the header of a checked block.
    init(_ block: RawSpan, in file: File, at offset: Int, isPlaced: Bool) {
        first = Position(block.load(UInt64.self, at: BlockLayout.Header.first))
        count = block.load(UInt32.self, at: BlockLayout.Header.count)
        epoch = Epoch(block.load(UInt32.self, at: BlockLayout.Header.epoch))
        time = block.load(Int64.self, at: BlockLayout.Header.time)
        tag = block.load(UInt64.self, at: BlockLayout.Header.storeTag)
        link = Link(block.slice(BlockLayout.Header.link, BlockLayout.Header.linkBytes))
        (self.file, self.offset, bytes, self.isPlaced) = (file, offset, block.byteCount, isPlaced)
    }
}
