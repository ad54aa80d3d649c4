internal import Bytes
internal import LMDB

/// Bytes that do not fit into memory: written once from the beginning to the end, then read the same way.
struct SpillFile: ~Copyable {
    private let file: File
    private var pending = ByteBuffer()
    private(set) var count = 0

    /// What is written at once is small, since every partition may have a file; files are read one after the other.
    static let writtenBytes = 1 << 16
    static let readBytes = 1 << 20

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
        if pending.count >= Self.writtenBytes { try flush() }
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

    /// Has the next `count` bytes at hand; false where there are not so many.
    mutating func fill(_ count: Int) throws(LMDBError) -> Bool {
        if piece.count - offset < count { try refill(count) }
        return piece.count - offset >= count
    }

    /// Lends some of the next bytes, which `fill` has made sure of.
    @_lifetime(borrow self)
    func slice(_ start: Int, _ count: Int) -> RawSpan { piece.lent.slice(offset + start, count) }

    mutating func skip(_ count: Int) { offset += count }

    private mutating func refill(_ count: Int) throws(LMDBError) {
        guard let file, nextPiece < total else { return }
        let more = try file.read(max(SpillFile.readBytes, count), at: nextPiece)
        nextPiece += more.count
        piece = Array(piece[offset...]) + more
        offset = 0
    }
}
