internal import Bytes

/// A branch or leaf page whose nodes lie within it and do not overlap.
struct PageView: ~Escapable {
    static let headerBytes = 16
    static let nodeBytes = 8
    static let keyBytesMax = 511
    /// Flags of a page and of a node.
    static let branch: UInt16 = 1
    static let leaf: UInt16 = 2
    static let overflow: UInt16 = 4
    static let bigData: UInt16 = 1
    static let subData: UInt16 = 2

    let bytes: RawSpan
    let isBranch: Bool
    let count: Int

    /// Checks rules 8 to 13.
    @_lifetime(copy bytes)
    init(checking bytes: RawSpan, number: UInt64, _ damaged: (Int, String) -> StructureDamage) throws(StructureDamage) {
        self.bytes = bytes
        let found = bytes.load(UInt64.self, at: 0)
        guard found == number else { throw damaged(8, "it has the number \(found)") }
        let flags = bytes.load(UInt16.self, at: 10)
        guard flags == Self.branch || flags == Self.leaf else { throw damaged(9, "its flags are \(flags), neither branch nor leaf") }
        isBranch = flags == Self.branch
        let lower = Int(bytes.load(UInt16.self, at: 12))
        let upper = Int(bytes.load(UInt16.self, at: 14))
        guard lower >= Self.headerBytes, lower % 2 == 0, lower <= upper, upper <= bytes.byteCount else {
            throw damaged(10, "its free room goes from \(lower) to \(upper)")
        }
        count = (lower - Self.headerBytes) / 2
        guard count > 0 else { throw damaged(11, "it has no nodes") }
        var places: [Range<Int>] = []
        places.reserveCapacity(count)
        for index in 0 ..< count {
            let start = offset(index)
            guard start % 2 == 0, start >= upper, start <= bytes.byteCount - Self.nodeBytes else {
                throw damaged(12, "node \(index) begins at \(start)")
            }
            let size = node(index).bytes
            guard size <= bytes.byteCount - start else { throw damaged(12, "node \(index) ends outside") }
            places.append(start ..< start + size)
        }
        places.sort { $0.lowerBound < $1.lowerBound }
        var end = upper
        for place in places {
            guard place.lowerBound == end else { throw damaged(13, "the nodes do not lie side by side at \(end)") }
            end = place.upperBound
        }
        guard end == bytes.byteCount else { throw damaged(13, "nothing lies behind \(end)") }
    }

    /// The fields of a node: two halves of a child's number or of the data's size, flags, the key's size, then key and data.
    struct Node {
        let offset: Int
        let low, high, flags: UInt16
        let keyBytes: Int
        let isBranch: Bool

        var child: UInt64 { UInt64(low) | UInt64(high) << 16 | UInt64(flags) << 32 }
        var dataBytes: Int { Int(low) | Int(high) << 16 }
        var hasBigData: Bool { flags & PageView.bigData != 0 }
        var data: Int { offset + PageView.nodeBytes + keyBytes }
        /// The size without the byte that makes it even.
        var sizeInline: Int { PageView.nodeBytes + keyBytes + dataBytes }

        var bytes: Int {
            let data = isBranch ? 0 : hasBigData ? 8 : dataBytes
            return (PageView.nodeBytes + keyBytes + data + 1) / 2 * 2
        }
    }

    private func offset(_ index: Int) -> Int { Int(bytes.load(UInt16.self, at: Self.headerBytes + 2 * index)) }

    func node(_ index: Int) -> Node {
        let start = offset(index)
        return Node(
            offset: start, low: bytes.load(UInt16.self, at: start), high: bytes.load(UInt16.self, at: start + 2),
            flags: bytes.load(UInt16.self, at: start + 4), keyBytes: Int(bytes.load(UInt16.self, at: start + 6)), isBranch: isBranch)
    }

    @_lifetime(copy self)
    func key(_ node: Node) -> RawSpan { bytes.slice(node.offset + Self.nodeBytes, node.keyBytes) }
}

/// LMDB's record of a tree, in a meta page and as the value of a table's name. 48 bytes: 0 u32 pad · 4 u16 flags ·
/// 6 u16 depth · 8 u64 branch pages · 16 u64 leaf pages · 24 u64 overflow pages · 32 u64 entries · 40 u64 root.
struct TreeRecord {
    static let size = 48
    /// The keys are 64-bit integers.
    static let integerKeys: UInt16 = 8
    /// The root of a tree without entries.
    static let noRoot = UInt64.max
    static let depthMax = 32

    let pad: UInt32
    let flags: UInt16
    let depth: Int
    let branchPages, leafPages, overflowPages, entries, root: UInt64

    init(_ bytes: RawSpan) {
        pad = bytes.load(UInt32.self, at: 0)
        flags = bytes.load(UInt16.self, at: 4)
        depth = Int(bytes.load(UInt16.self, at: 6))
        branchPages = bytes.load(UInt64.self, at: 8)
        leafPages = bytes.load(UInt64.self, at: 16)
        overflowPages = bytes.load(UInt64.self, at: 24)
        entries = bytes.load(UInt64.self, at: 32)
        root = bytes.load(UInt64.self, at: 40)
    }

    var isEmpty: Bool { root == Self.noRoot }
    var saysNothing: Bool { depth == 0 && branchPages == 0 && leafPages == 0 && overflowPages == 0 && entries == 0 }
}

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
