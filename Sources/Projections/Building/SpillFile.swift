internal import Bytes
internal import EventModel
internal import Platform
internal import Sealing

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
        while piece.count < count, number < pieces.sizes.count {
            let envelope = try file.read(pieces.sizes[number], at: nextPiece)
            nextPiece += envelope.count
            piece += try pieces.open(envelope, number)
            number += 1
        }
    }
}

/// The pieces of a spilled file, each sealed under a key that exists only in memory.
struct SpilledPieces: Sendable {
    private let sealer = ValueSealer.ephemeral()
    private(set) var sizes: [Int] = []

    mutating func seal(_ piece: inout ByteBuffer) throws(EvstoreError) {
        var envelope = ByteBuffer(capacity: piece.count + ValueSealer.addedBytes)
        do throws(SealError) { try sealer.seal(piece.bytes, Self.place(sizes.count).lent, into: &envelope) } catch {
            throw .misuse("what is spilled can't be sealed: \(error.reason)")
        }
        sizes.append(envelope.count)
        piece = envelope
    }

    func open(_ envelope: [UInt8], _ number: Int) throws(EvstoreError) -> [UInt8] {
        var piece = ByteBuffer(capacity: envelope.count)
        do throws(SealError) { try sealer.open(envelope.lent, Self.place(number).lent, into: &piece) } catch {
            throw .ioFailure(doing: "reading what was spilled", reason: "it is not what was written")
        }
        return piece.array()
    }

    private static func place(_ number: Int) -> [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
}
