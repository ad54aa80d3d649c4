internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// The blocks after a log's end, in pieces for one transaction each. A piece ends with an append, so that no reader sees half of one, and
/// all of its blocks have one epoch.
struct BlockPieces {
    struct Piece: Sendable {
        var bytes: [UInt8]
        let epoch: Epoch
        var last: Position
    }

    /// How many bytes a piece must have before it may end.
    static let bytesWanted = 16 << 20

    private let bytesWanted: Int
    private let store: StoreID
    /// Blocks up to here are skipped.
    private let own: Position
    private let last: Position
    private var frames: FrameReader
    private var read: Position
    private var body: [UInt8] = []
    private var offset = 0

    init(_ newer: NewerBackup, behind own: Position, of store: StoreID, atOnce bytesWanted: Int = Self.bytesWanted) {
        self.bytesWanted = bytesWanted
        (self.store, self.own, last, read) = (store, own, newer.end.last.position, newer.blocks.start)
        frames = FrameReader(FileSequence(newer.blocks.files).read, after: newer.blocks.after)
    }

    /// - Throws: `BackupDamage`; `EvstoreError.corruptBlock`.
    mutating func next() throws -> Piece? {
        var piece: Piece?
        while read < last {
            if offset == body.count {
                let (kind, next) = try frames.next()
                (body, offset) = (kind == .blocks ? next : [], 0)
                continue
            }
            guard let (end, size) = try add(to: &piece) else { break }
            (read, offset) = (end, offset + size)
        }
        return piece
    }

    /// Adds the next block; nil where it does not belong to this piece.
    private func add(to piece: inout Piece?) throws -> (end: Position, size: Int)? {
        let block = try BlockView(next: body.lent.slice(offset, body.count - offset), at: read.next, of: store)
        if block.last > own {
            if let begun = piece, block.epoch != begun.epoch || begun.bytes.count >= bytesWanted && !block.record(0).continuesAppend {
                return nil
            }
            if piece == nil { piece = Piece(bytes: [], epoch: block.epoch, last: block.last) }
            piece?.bytes += [UInt8](copying: block.bytes)
            piece?.last = block.last
        }
        return (block.last, block.bytes.byteCount)
    }
}
