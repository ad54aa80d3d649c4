internal import Bytes

/// A set of page numbers, one bit for each page of the file.
struct PageSet {
    /// The bits by parts of the file, by the part's number; only for parts with a page in the set, since a file may be longer than all
    /// memory and hold nothing.
    private var parts: [UInt64: [UInt64]] = [:]
    private static let wordsPerPart = 512
    private static let pagesPerPart = UInt64(wordsPerPart * 64)
    private static let empty = [UInt64](repeating: 0, count: wordsPerPart)

    /// False where the page was in the set already.
    mutating func insert(_ page: UInt64) -> Bool {
        let (word, bit) = Self.place(page)
        let before = parts[page / Self.pagesPerPart, default: Self.empty][word]
        if before & bit != 0 { return false }
        parts[page / Self.pagesPerPart, default: Self.empty][word] |= bit
        return true
    }

    func contains(_ page: UInt64) -> Bool {
        let (word, bit) = Self.place(page)
        return parts[page / Self.pagesPerPart].map { $0[word] & bit != 0 } ?? false
    }

    private static func place(_ page: UInt64) -> (word: Int, bit: UInt64) { (Int(page % pagesPerPart / 64), 1 << (page % 64)) }

    var count: UInt64 { parts.values.sum { $0.sum { UInt64($0.nonzeroBitCount) } } }
}
