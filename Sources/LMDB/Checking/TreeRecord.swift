internal import Bytes

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
