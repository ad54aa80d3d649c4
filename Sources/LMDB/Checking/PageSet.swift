/// A set of page numbers, one bit for each page of the file.
struct PageSet {
    private var words: [UInt64]

    /// - Parameter last: the largest number that it takes.
    init(through last: UInt64) { words = [UInt64](repeating: 0, count: Int(last / 64) + 1) }

    /// False where the page was in the set.
    mutating func insert(_ page: UInt64) -> Bool {
        let bit: UInt64 = 1 << (page % 64)
        let word = Int(page / 64)
        if words[word] & bit != 0 { return false }
        words[word] |= bit
        return true
    }

    /// Numbers beyond the last are in no set.
    func contains(_ page: UInt64) -> Bool {
        page / 64 < UInt64(words.count) && words[Int(page / 64)] & 1 << (page % 64) != 0
    }

    var count: UInt64 { words.reduce(0) { $0 + UInt64($1.nonzeroBitCount) } }
}
