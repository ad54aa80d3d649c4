internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

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
    /// All lines that were left out with the mark.
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

    /// The rows to write for these lines behind the row that has a key.
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

/// A line that an earlier import left out.
struct LeftOutLine: Sendable {
    /// Where that is noted.
    struct Place: Hashable, Sendable {
        /// The hash of the mark behind the line.
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
