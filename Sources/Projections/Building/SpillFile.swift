internal import Bytes
internal import LMDB

/// Bytes that do not fit into memory: written once from the beginning to the end, then read the same way.
struct SpillFile: ~Copyable {
    private let file: File
    private var pending = ByteBuffer(capacity: SpillFile.pieceBytes)
    private(set) var count = 0

    static let pieceBytes = 1 << 20

    /// The file has no name any more once it is open, so that nothing is left of it whatever happens.
    init(in directory: String, named name: String) throws(LMDBError) {
        self.init(file: try Self.unnamed(directory + "/" + name))
    }

    private init(file: File) { self.file = file }

    private static func unnamed(_ path: String) throws(LMDBError) -> File {
        try Directory.remove(path)
        let file = try File(path, .createNew)
        try Directory.remove(path)
        return file
    }

    mutating func append(_ bytes: RawSpan) throws(LMDBError) {
        pending.append(bytes)
        count += bytes.byteCount
        if pending.count >= Self.pieceBytes { try flush() }
    }

    mutating func flush() throws(LMDBError) {
        if pending.count == 0 { return }
        try file.write(pending.array(), at: count - pending.count)
        pending.removeAll()
    }

    /// Begins to read; everything must have been flushed.
    func reader() -> SpillReader { SpillReader(file, count) }
}

/// Reads a spilled file record by record.
struct SpillReader {
    private let file: File?
    private let total: Int
    private var piece: [UInt8]
    private var offset = 0
    private var nextPiece: Int

    init(_ file: File, _ total: Int) { (self.file, self.total, piece, nextPiece) = (file, total, [], 0) }

    /// Reads what is in memory already.
    init(_ bytes: [UInt8]) { (file, total, piece, nextPiece) = (nil, bytes.count, bytes, bytes.count) }

    /// Copies the next `count` bytes, without going past them, to the end of `buffer`; false at the end.
    mutating func peek(_ count: Int, into buffer: inout ByteBuffer) throws(LMDBError) -> Bool {
        if piece.count - offset < count { try refill(count) }
        guard piece.count - offset >= count else { return false }
        buffer.append(piece.lent.slice(offset, count))
        return true
    }

    /// The next `count` bytes; fewer at the end.
    mutating func take(_ count: Int) throws(LMDBError) -> [UInt8] {
        if piece.count - offset < count { try refill(count) }
        let end = min(offset + count, piece.count)
        defer { offset = end }
        return Array(piece[offset ..< end])
    }

    mutating func skip(_ count: Int) { offset += count }

    private mutating func refill(_ count: Int) throws(LMDBError) {
        guard let file, nextPiece < total else { return }
        let more = try file.read(max(SpillFile.pieceBytes, count), at: nextPiece)
        nextPiece += more.count
        piece = Array(piece[offset...]) + more
        offset = 0
    }
}
