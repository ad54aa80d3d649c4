internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// The progress of an import: the hash of the input's bytes up to the end of a line, and the mark before.
struct ImportMark: Hashable, Sendable {
    /// SHA-256 over the input up to the end of this line.
    var hash: Digest
    var line: UInt64
    /// The hash of the mark before it in the same input; zero for the first.
    var previous: Digest
    /// The position of the last event that was appended with it; known of marks that were read from the store.
    var position = Position.start
    /// The lines behind the mark before it that were refused; none are known of a mark that an earlier program has written.
    var leftOut = LeftOutLines()

    /// The size of a row: the position of the batch's last event (the log fills it in), the line, and the hash of the mark before.
    static let rowBytes = 48

    init?(hash: Digest, value: [UInt8]) {
        guard value.count == Self.rowBytes, let previous = Digest(Array(value[16...])) else { return nil }
        (self.hash, self.previous) = (hash, previous)
        position = Position(value.lent.load(UInt64.self, at: 0))
        line = value.lent.load(UInt64.self, at: 8)
    }

    init(hash: Digest, line: UInt64, previous: Digest) { (self.hash, self.line, self.previous) = (hash, line, previous) }

    /// The row, without the position.
    var row: AttachedRow {
        var value = ByteBuffer(capacity: 40)
        value.append(littleEndian: line)
        value.append(previous.bytes)
        return AttachedRow(.imports, key: hash.bytes, value: value.array())
    }

    /// The marks in the rows of the catalogue, each with the lines that were left out before it; nil where a row is malformed.
    static func all(in rows: [(key: [UInt8], value: [UInt8])]) -> [ImportMark]? {
        var (marks, others): ([ImportMark], [Digest: [UInt8]]) = ([], [:])
        for row in rows {
            guard let key = Digest(row.key), let mark = ImportMark(hash: key, value: row.value) else { return nil }
            if LeftOutLines.isRow(row.value) { others[key] = row.value } else { marks.append(mark) }
        }
        if others.isEmpty { return marks }
        for index in marks.indices { marks[index].leftOut = LeftOutLines(behind: marks[index], in: others) }
        return marks
    }
}

/// Finds how many lines of an input were imported before, by the marks that earlier imports wrote.
///
/// A mark holds the hash of its input up to a line: where it matches, it covers every line before it. A mark names the one before it in its
/// input, so only marks that follow a matching one can cover the next lines, and only these lines have to wait.
struct ImportMarks {
    private var all: [Digest: ImportMark] = [:]
    private var following: [Digest: [ImportMark]] = [:]
    /// The lines of all marks, of any input; ascending.
    private var markedLines: [UInt64] = []
    private var hasher = SHA256Hasher()
    /// The last line that was read, and has come whole for certain.
    private var line: UInt64 = 0
    private var matchedLine: UInt64 = 0
    /// Marks that follow a matching one, at lines that were not read yet; none once the lines that were read differ from theirs.
    var ahead: [ImportMark] = []
    /// Whether this import writes marks. If it does not and the store has none, nothing is hashed.
    private let writesMarks: Bool

    private var isIdle: Bool { all.isEmpty && !writesMarks }

    init(writesMarks: Bool) { self.writesMarks = writesMarks }

    /// Searches for these marks from here on.
    /// - Parameter lastMark: the hash of the last mark at a line that was read.
    mutating func search(for marks: [ImportMark], after lastMark: Digest) {
        all = Dictionary(marks.map { ($0.hash, $0) }) { first, _ in first }
        following = Dictionary(grouping: marks, by: \.previous)
        markedLines = Set(marks.lazy.map(\.line)).sorted()
        ahead = Set((ahead + following[lastMark, default: []]).map(\.hash)).compactMap { all[$0] }.filter { $0.line > line }
    }

    /// The last line at which a mark may still match; 0 where there is none.
    var horizon: UInt64 { ahead.lazy.map(\.line).max() ?? 0 }

    /// Reads a chunk; returns how many of its first lines a mark covers, the last mark that matches, and the lines up to there that the
    /// matching marks leave out, which may be lines before the chunk.
    mutating func pass(_ chunk: LineChunk) -> (covered: Int, matched: ImportMark?, leftOut: [UInt64: LeftOutLine]) {
        line = chunk.lastWholeLine
        if isIdle { return (0, nil, [:]) }
        var (hashed, covered) = (0, 0)
        var matched: ImportMark?
        var leftOut: [UInt64: LeftOutLine] = [:]
        while let marked = nextMarkedLine(in: chunk, after: hashed) {
            let count = Int(marked - chunk.firstLine) + 1
            hash(chunk, from: hashed, to: count)
            hashed = count
            guard let mark = all[current], mark.line == marked else { continue }
            leftOut.merge(self.leftOut(by: mark, isOfBeginning: false)) { $1 }
            (covered, matched, matchedLine) = (count, mark, marked)
            ahead += following[mark.hash, default: []]
        }
        hash(chunk, from: hashed, to: chunk.ends.count)
        // Where the last line is open, a mark may be behind the rest of it.
        ahead.removeAll { $0.line <= max(line, matchedLine) }
        return (covered, matched, leftOut)
    }

    /// The lines that were left out with a mark, without those that imports of this input have appended since. Where the input only begins
    /// like that of the mark, their events have to be looked for.
    ///
    /// Lines that an earlier matching mark covers are noted there: where two imports have taken lines for new ones, both marks cover them.
    func leftOut(by mark: ImportMark, isOfBeginning: Bool) -> [UInt64: LeftOutLine] {
        var lines: [UInt64: LeftOutLine] = [:]
        for line in mark.leftOut.all where line > matchedLine && line <= mark.line {
            if !isOfBeginning, mark.leftOut.appended.contains(line) { continue }
            lines[line] = LeftOutLine(
                place: .init(mark: mark.hash, isOfBeginning: isOfBeginning), appends: mark.leftOut.appends[line, default: []])
        }
        return lines
    }

    /// The hash of the input up to the last line that was read.
    var current: Digest {
        if isIdle { return .zero }
        let copy = hasher
        return copy.finalize()
    }

    /// Reads the first lines of a chunk; returns the hash up to the end of `line`.
    mutating func hash(_ chunk: LineChunk, through line: UInt64) -> Digest {
        hash(chunk, from: 0, to: Int(line + 1 - chunk.firstLine))
        return current
    }

    /// The first line of a chunk, behind `count` lines, that has a mark.
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

/// The lines between two marks of an input that an import refused and left out.
///
/// They are noted in rows behind the row of the later mark. The key of each row follows from the key before it, so that a row is added in
/// the same commit as the events that it is about, and none is written anew: a cut takes off the rows that were written with the events
/// behind it, and what these rows said is undone. The rows that are written with the mark name the lines that were left out, and later
/// rows those of them that were appended after all.
///
/// The rows have the size of a mark. A program that does not know them takes them for marks of other inputs, and those lines for appended
/// ones.
struct LeftOutLines: Hashable, Sendable {
    private(set) var all: Set<UInt64> = []
    /// Those of them that imports of the input have appended since.
    private(set) var appended: Set<UInt64> = []
    /// The last positions of the appends that lines came with, also where an input ended before the mark and may be another one.
    private(set) var appends: [UInt64: [Position]] = [:]

    init() {}

    /// Reads the rows behind a mark.
    /// - Parameter rows: the values of such rows, of any mark, by their keys.
    init(behind mark: ImportMark, in rows: [Digest: [UInt8]]) {
        var key = mark.hash.following
        while let row = rows[key] {
            let (position, head) = (Position(row.lent.load(UInt64.self, at: 0)), row.lent.load(UInt64.self, at: 8))
            let first = head & ~(Self.rowBit | Self.beginningBit)
            for index in 0 ..< Self.linesMax where row[16 + Int(index / 8)] & 1 << (index % 8) != 0 {
                if position <= mark.position {
                    all.insert(first + index)
                } else {
                    appends[first + index, default: []].append(position)
                    if head & Self.beginningBit == 0 { appended.insert(first + index) }
                }
            }
            key = key.following
        }
    }

    /// In place of the line of a mark, a row has the number of its first line with this bit.
    private static let rowBit: UInt64 = 1 << 63
    /// The row is of an input that ended before the mark.
    private static let beginningBit: UInt64 = 1 << 62
    /// A row names lines by the bits of 32 bytes.
    private static let linesMax: UInt64 = 256

    /// Whether a row of the size of a mark is one of these.
    static func isRow(_ value: [UInt8]) -> Bool { value.lent.load(UInt64.self, at: 8) & rowBit != 0 }

    static func rows(_ lines: some Sequence<UInt64>, behind key: Digest, ofBeginning: Bool = false) -> [AttachedRow] {
        var (rows, key): ([AttachedRow], Digest) = ([], key)
        var rest = lines.sorted()[...]
        while let first = rest.first {
            var bits = [UInt8](repeating: 0, count: Int(linesMax / 8))
            while let line = rest.first, line - first < linesMax {
                bits[Int((line - first) / 8)] |= 1 << ((line - first) % 8)
                rest.removeFirst()
            }
            var value = ByteBuffer(capacity: 40)
            value.append(littleEndian: first | rowBit | (ofBeginning ? beginningBit : 0))
            value.append(bits)
            key = key.following
            rows.append(AttachedRow(.imports, key: key.bytes, value: value.array()))
        }
        return rows
    }
}

struct LeftOutLine: Sendable {
    /// Where that is noted.
    struct Place: Hashable, Sendable {
        var mark: Digest
        /// Whether this input ends before the mark.
        var isOfBeginning: Bool
    }

    /// Nil for a line that no mark notes, and that is refused.
    var place: Place?
    /// The appends that it may have come with since, by their last positions.
    var appends: [Position] = []
}

extension Digest {
    /// The key of the row behind the one with this key. No running hash of an input is equal to it: lines do not end with a zero byte.
    var following: Digest { SHA256Hasher.hash(bytes + [0]) }
}

extension EventStore {
    /// The key of the last row behind a mark, or of the mark itself where there is none.
    func lastRow(behind mark: Digest) throws(EvstoreError) -> Digest {
        try log.reading { reader in
            var key = mark
            while try reader.get(.imports, key.following.bytes) != nil { key = key.following }
            return key
        }
    }
}
