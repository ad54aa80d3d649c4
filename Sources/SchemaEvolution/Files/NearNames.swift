internal import EventModel

/// Names among which the nearest one to a given name is found.
struct NearNames {
    private let names: [(text: String, spelling: Spelling)]

    init(_ names: [String]) { self.names = names.map { ($0, Spelling($0.lowercased())) } }

    /// The first name with the smallest edit distance, unless that is more than a third of the given name's length.
    func nearest(to name: String) -> String? {
        let wanted = Spelling(name.lowercased())
        var (best, limit): (String?, Int) = (nil, Spelling.limit(of: name))
        for (text, spelling) in names {
            guard let distance = wanted.distance(to: spelling, atMost: limit) else { continue }
            if distance == 0 { return text }
            (best, limit) = (text, distance - 1)
        }
        return best
    }
}

/// The name with the smallest edit distance, unless that is more than a third of the name's length.
package func nearest(to name: String, among names: [String]) -> String? { NearNames(names).nearest(to: name) }

/// Whether a word is so close to `meant`, and so far from all other words, that nothing else can be meant.
func isTypo(_ word: String, of meant: String, among words: [String]) -> Bool {
    let spelling = Spelling(word)
    guard let distance = spelling.distance(to: Spelling(meant), atMost: Spelling.limit(of: word)) else { return false }
    return words.allSatisfy { $0 == meant || spelling.distance(to: Spelling($0), atMost: distance) == nil }
}

/// The beginning of a text, whose edit distance to others is determined.
private struct Spelling {
    private let bytes: [UInt8]
    /// The bytes that occur, modulo 64.
    private var letters: UInt64 = 0

    init(_ text: String) {
        bytes = Array(text.utf8.prefix(64))
        for byte in bytes { letters |= 1 << UInt64(byte & 63) }
    }

    /// The greatest distance of a text that is near to another.
    static func limit(of text: String) -> Int { max(1, text.count / 3) }

    /// The number of insertions, removals, replacements and transpositions that turn one text into the other; nil if it is above a limit.
    func distance(to other: Spelling, atMost limit: Int) -> Int? {
        let (a, b) = (bytes, other.bytes)
        // Each of them changes the length by at most one, and which bytes occur by at most two.
        if abs(a.count - b.count) > limit || (letters ^ other.letters).nonzeroBitCount > 2 * limit { return nil }
        var before: [Int] = []
        var previous = Array(0 ... b.count)
        for row in a.indices {
            var current = [row + 1]
            current.reserveCapacity(b.count + 1)
            for column in b.indices {
                var least = min(previous[column] + (a[row] == b[column] ? 0 : 1), previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, a[row] == b[column - 1], a[row - 1] == b[column] { least = min(least, before[column - 1] + 1) }
                current.append(least)
            }
            (before, previous) = (previous, current)
        }
        return previous[b.count] <= limit ? previous[b.count] : nil
    }
}
