internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// The lines between two marks of an input that an import refused and left out.
///
/// They are noted in rows behind the row of the later mark. The key of each row follows from the key before it, so that a row is added in
/// the same commit as the events that it is about, and none is written anew: a cut takes off the rows that were written with the events
/// behind it, and what these rows said is undone. A row names lines that change sides: the rows that are written with the mark name the
/// lines that were left out, and later rows those of them that were appended after all.
///
/// The rows have the size of a mark. A program that does not know them takes them for marks of other inputs, and those lines for appended
/// ones.
struct LeftOutLines: Hashable, Sendable {
    /// The lines that were not appended since.
    private(set) var remaining: Set<UInt64> = []
    /// The lines that were, each with the last position of the append that it came with.
    private(set) var appended: [UInt64: Position] = [:]

    var isEmpty: Bool { remaining.isEmpty && appended.isEmpty }

    init() {}

    /// Reads the rows behind a mark.
    /// - Parameter rows: the values of such rows, of any mark, by their keys.
    init(behind mark: Digest, in rows: [Digest: [UInt8]]) {
        var key = mark.following
        while let row = rows[key] {
            let position = Position(row.lent.load(UInt64.self, at: 0))
            for line in Self.lines(of: row) {
                appended[line] = remaining.remove(line) == nil ? nil : position
                if appended[line] == nil { remaining.insert(line) }
            }
            key = key.following
        }
    }

    /// In place of the line of a mark, a row has the number of its first line with this bit.
    private static let bit: UInt64 = 1 << 63
    /// A row names lines by the bits of 32 bytes.
    private static let linesMax: UInt64 = 256

    /// Whether a row of the size of a mark is one of these.
    static func isRow(_ value: [UInt8]) -> Bool { value.lent.load(UInt64.self, at: 8) & bit != 0 }

    private static func lines(of value: [UInt8]) -> [UInt64] {
        let first = value.lent.load(UInt64.self, at: 8) & ~bit
        var lines: [UInt64] = []
        for index in 0 ..< linesMax where value[16 + Int(index / 8)] & 1 << (index % 8) != 0 { lines.append(first + index) }
        return lines
    }

    /// The rows to write for these lines behind the row that has a key.
    static func rows(_ lines: some Sequence<UInt64>, behind key: Digest) -> [AttachedRow] {
        var (rows, key): ([AttachedRow], Digest) = ([], key)
        var rest = lines.sorted()[...]
        while let first = rest.first {
            var bits = [UInt8](repeating: 0, count: Int(linesMax / 8))
            while let line = rest.first, line - first < linesMax {
                bits[Int((line - first) / 8)] |= 1 << ((line - first) % 8)
                rest.removeFirst()
            }
            var value = ByteBuffer(capacity: 40)
            value.append(littleEndian: first | bit)
            value.append(bits)
            key = key.following
            rows.append(AttachedRow(.imports, key: key.bytes, value: value.array()))
        }
        return rows
    }
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
