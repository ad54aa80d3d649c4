internal import Bytes
internal import LMDB
internal import Platform

/// Temporary storage for bytes that do not fit into memory: written once from beginning to end, then read in the same order.
struct SpillFile: ~Copyable {
    private let file: File
    private var pending = ByteBuffer()
    private var written = 0
    /// Nil if the log's events are not sealed.
    private var pieces: SpilledPieces?

    /// The write buffer is small, since every partition may have a file; files are read one after another.
    static let writtenBytes = 1 << 16
    static let readBytes = 1 << 20

    /// Opens the file and removes its name immediately, so that nothing remains of it whatever happens.
    init(in directory: String, named name: String, isSealed: Bool) throws(StorageError) {
        self.init(file: try Self.unnamed(directory + "/" + name), isSealed ? SpilledPieces() : nil)
    }

    private init(file: File, _ pieces: SpilledPieces?) { (self.file, self.pieces) = (file, pieces) }

    private static func unnamed(_ path: String) throws(StorageError) -> File {
        try Directory.remove(path)
        let file = try File(path, .createNew)
        try Directory.remove(path)
        return file
    }

    mutating func append(_ bytes: RawSpan) throws {
        pending.append(bytes)
        if pending.count >= Self.writtenBytes { try flush() }
    }

    mutating func flush() throws {
        if pending.count == 0 { return }
        try pieces?.seal(&pending)
        try file.write(pending.array(), at: written)
        written += pending.count
        pending.removeAll()
    }

    /// Starts reading; all bytes must have been flushed.
    func reader() -> SpillReader { SpillReader(file, written, pieces) }
}

/// Reads a spilled file record by record.
struct SpillReader {
    private let file: File?
    private let total: Int
    private var piece: [UInt8]
    private var offset = 0
    /// The offset of the next piece in the file, and its number if pieces are sealed.
    private var (nextPiece, number) = (0, 0)
    private let pieces: SpilledPieces?

    init(_ file: File, _ total: Int, _ pieces: SpilledPieces?) { (self.file, self.total, piece, self.pieces) = (file, total, [], pieces) }

    /// Reads bytes that are already in memory.
    init(_ bytes: [UInt8]) { (file, total, piece, pieces) = (nil, 0, bytes, nil) }

    /// Makes the next `count` bytes available. Returns false if there are not that many.
    mutating func fill(_ count: Int) throws -> Bool {
        if piece.count - offset < count { try refill(count) }
        return piece.count - offset >= count
    }

    /// Lends some of the next bytes, which `fill` has made available.
    @_lifetime(borrow self)
    func slice(_ start: Int, _ count: Int) -> RawSpan { piece.lent.slice(offset + start, count) }

    mutating func skip(_ count: Int) { offset += count }

    private mutating func refill(_ count: Int) throws {
        guard let file, nextPiece < total else { return }
        piece = Array(piece[offset...])
        offset = 0
        guard let pieces else {
            let more = try file.read(max(SpillFile.readBytes, count), at: nextPiece)
            nextPiece += more.count
            piece += more
            return
        }
        while piece.count < count, number < pieces.count {
            let envelope = try file.read(pieces.size(number), at: nextPiece)
            nextPiece += envelope.count
            piece += try pieces.open(envelope, number)
            number += 1
        }
    }
}
