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
    /// Of the last event that was appended with it; known of those that were read.
    var position = Position.start

    /// A row of the catalogue: the position of the batch's last event (put there by the log), line, hash of the mark before.
    init?(key: [UInt8], value: [UInt8]) {
        guard value.count == 48, let hash = Digest(key), let previous = Digest(Array(value[16...])) else { return nil }
        (self.hash, self.previous) = (hash, previous)
        position = Position(value.lent.load(UInt64.self, at: 0))
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

/// Finds out how much of an input was imported before, by the marks that earlier imports left at lines of it.
///
/// A mark is known by what the input says up to its line, so one that is met covers every line before it. Marks name the one
/// before them in their input: only those that follow one which was met may cover what is read now, and no more than that
/// has to be held back.
struct ImportMarks {
    private var all: [Digest: ImportMark] = [:]
    private var following: [Digest: [ImportMark]] = [:]
    /// Where marks stand, of whatever input; sorted.
    private var markedLines: [UInt64] = []
    private var hasher = SHA256Hasher()
    /// The last line that was passed.
    private var line: UInt64 = 0
    /// Marks that follow one which was met, at lines that were not read yet.
    private(set) var ahead: [ImportMark] = []
    /// Nobody asks for hashes where no mark is looked for and none is left.
    private let leavesSome: Bool

    private var isIdle: Bool { all.isEmpty && !leavesSome }

    init(leavesSome: Bool) { self.leavesSome = leavesSome }

    /// Looks for these from here on; `tail` is the last mark that stands at a line which was passed.
    mutating func look(for marks: [ImportMark], after tail: Digest) {
        all = Dictionary(marks.map { ($0.hash, $0) }) { first, _ in first }
        following = Dictionary(grouping: marks, by: \.previous)
        markedLines = Set(marks.lazy.map(\.line)).sorted()
        ahead = Array(Set(ahead + following[tail, default: []]).filter { $0.line > line })
    }

    /// Whether a mark is among those that are looked for.
    func contains(_ hash: Digest) -> Bool { all[hash] != nil }

    /// The last line that a mark may yet be met at; 0 where there is none.
    var horizon: UInt64 { ahead.lazy.map(\.line).max() ?? 0 }

    /// Goes on over a chunk; returns how many of its first lines are covered by a mark, and the last one that was met.
    mutating func pass(_ chunk: LineChunk) -> (covered: Int, met: Digest?) {
        line = chunk.lastLine
        if isIdle { return (0, nil) }
        var (hashed, covered) = (0, 0)
        var met: Digest?
        while let marked = nextMarkedLine(in: chunk, after: hashed) {
            let count = Int(marked - chunk.firstLine) + 1
            hash(chunk, from: hashed, to: count)
            hashed = count
            guard let mark = all[current], mark.line == marked else { continue }
            (covered, met) = (count, mark.hash)
            ahead += following[mark.hash, default: []]
        }
        hash(chunk, from: hashed, to: chunk.ends.count)
        ahead.removeAll { $0.line <= chunk.lastLine }
        return (covered, met)
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

    /// The nearest line of a chunk, behind its first ones, at which a mark stands.
    private func nextMarkedLine(in chunk: LineChunk, after count: Int) -> UInt64? {
        let first = chunk.firstLine + UInt64(count)
        var (low, high) = (0, markedLines.count)
        while low < high {
            let middle = (low + high) / 2
            if markedLines[middle] < first { low = middle + 1 } else { high = middle }
        }
        return low < markedLines.count && markedLines[low] <= chunk.lastLine ? markedLines[low] : nil
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
