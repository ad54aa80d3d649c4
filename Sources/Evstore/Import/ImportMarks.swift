internal import Bytes
internal import EventModel
internal import Hashing

/// How far an input had been imported: the hash of everything up to the end of a line, and the mark before it.
struct ImportMark: Hashable, Sendable {
    /// SHA-256 over the input up to and with this line.
    var hash: Digest
    var line: UInt64
    /// The hash of the mark before it in the same input; zero for the first.
    var previous: Digest

    /// A row of the catalogue: the position of the batch's last event (put there by the log), line, hash of the mark before.
    init?(key: [UInt8], value: [UInt8]) {
        guard value.count == 48, let hash = Digest(key), let previous = Digest(Array(value[16...])) else { return nil }
        (self.hash, self.previous) = (hash, previous)
        line = value.lent.load(UInt64.self, at: 8)
    }

    init(hash: Digest, line: UInt64, previous: Digest) { (self.hash, self.line, self.previous) = (hash, line, previous) }

    /// The whole row's value, which the log makes itself where the mark goes with an append.
    func value(at position: Position) -> [UInt8] {
        var bytes = ByteBuffer(capacity: 48)
        bytes.append(littleEndian: position.rawValue)
        bytes.append(value)
        return bytes.array()
    }

    /// The row's value without the position.
    var value: [UInt8] {
        var bytes = ByteBuffer(capacity: 40)
        bytes.append(littleEndian: line)
        bytes.append(previous.bytes)
        return bytes.array()
    }
}

/// Finds out how much of an input was imported before: follows the marks that earlier imports of the same input left.
///
/// Marks form chains, each leading from one to the next, so that no more than one batch has to be held back
/// to know whether its lines are new.
struct ImportMarks {
    private let following: [Digest: [ImportMark]]
    private var hasher = SHA256Hasher()
    /// The last mark that this input has passed.
    private(set) var last = ImportMark(hash: .zero, line: 0, previous: .zero)

    /// Nobody asks for hashes where no mark is looked for and none is left.
    private let isIdle: Bool

    init(_ marks: [ImportMark], leavesSome: Bool = true) {
        following = Dictionary(grouping: marks, by: \.previous)
        isIdle = marks.isEmpty && !leavesSome
    }

    /// The last line that a mark after the one passed could be at; nil where there is none.
    var horizon: UInt64? { following[last.hash]?.lazy.map(\.line).max() }

    /// Goes on over a chunk; returns how many of its first lines are covered by a mark.
    mutating func pass(_ chunk: LineChunk) -> Int {
        if isIdle { return 0 }
        var (hashed, covered) = (0, 0)
        while let line = nextMarkedLine(in: chunk, after: hashed) {
            let count = Int(line - chunk.firstLine) + 1
            hash(chunk, from: hashed, to: count)
            hashed = count
            let reached = current
            if let mark = following[last.hash]?.first(where: { $0.line == line && $0.hash == reached }) {
                (last, covered) = (mark, count)
            }
        }
        hash(chunk, from: hashed, to: chunk.ends.count)
        return covered
    }

    /// The hash of what has been passed.
    var current: Digest {
        if isIdle { return .zero }
        let copy = hasher
        return copy.finalize()
    }

    /// Goes on over the first lines of a chunk; returns the hash behind `line`.
    mutating func hash(_ chunk: LineChunk, through line: UInt64) -> Digest {
        hash(chunk, from: 0, to: Int(line + 1 - chunk.firstLine))
        return current
    }

    /// Takes a mark that this run has left.
    mutating func leave(_ mark: ImportMark) { last = mark }

    /// The nearest line of a chunk, behind its first ones, that a mark after the last one passed stands at.
    private func nextMarkedLine(in chunk: LineChunk, after count: Int) -> UInt64? {
        let first = chunk.firstLine + UInt64(count)
        return following[last.hash]?.lazy.map(\.line).filter { $0 >= first && $0 <= chunk.lastLine }.min()
    }

    private mutating func hash(_ chunk: LineChunk, from start: Int, to end: Int) {
        hasher.update(chunk.text.buffer, chunk.start(of: start) ..< chunk.start(of: end))
    }
}

extension SHA256Hasher {
    fileprivate mutating func update(_ text: borrowing ByteBuffer, _ range: Range<Int>) {
        update(text.slice(range.lowerBound, range.count))
    }
}
