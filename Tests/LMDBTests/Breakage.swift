import Foundation

/// A way to break one rule of a file's structure and none that is looked at before.
struct Breakage: CustomStringConvertible, Sendable {
    let rule: Int
    let what: String
    let apply: @Sendable (inout Pages) throws -> Void

    var description: String { "\(rule): \(what)" }

    static let all: [Breakage] = [
        Breakage(rule: 1, what: "a page and a half") { $0.bytes.removeLast($0.bytes.count - 6_000) },
        Breakage(rule: 2, what: "another page size") { $0.set(8_192 as UInt32, at: 4_096 + 40) },
        Breakage(rule: 3, what: "a commit too late") { $0.set($0.value(UInt64.self, $0.meta + 144) + 2, at: $0.meta + 144) },
        Breakage(rule: 4, what: "a flag of the main tree") { $0.set(4 as UInt16, at: $0.main + 4) },
        Breakage(rule: 5, what: "a last page outside") { $0.set(1 << 40 as UInt64, at: $0.meta + 136) },
        Breakage(rule: 6, what: "a root without a depth") { $0.set(0 as UInt16, at: $0.main + 6) },
        Breakage(rule: 7, what: "a root outside") { $0.set(1 << 60 as UInt64, at: $0.table("b") + 40) },
        Breakage(rule: 7, what: "a meta page as a root") { $0.set(1 as UInt64, at: $0.table("b") + 40) },
        Breakage(rule: 8, what: "another page's number") { $0.set(3 as UInt64, at: $0.leaf(of: "b")) },
        Breakage(rule: 9, what: "the flag of a page under way") { $0.set(0x12 as UInt16, at: $0.leaf(of: "b") + 10) },
        Breakage(rule: 10, what: "free room beyond the page") { $0.set(60_000 as UInt16, at: $0.leaf(of: "b") + 14) },
        Breakage(rule: 11, what: "a leaf without nodes") { $0.set(16 as UInt16, at: $0.leaf(of: "b") + 12) },
        Breakage(rule: 12, what: "a node at an odd place") {
            $0.set($0.value(UInt16.self, $0.leaf(of: "b") + 16) + 1, at: $0.leaf(of: "b") + 16)
        },
        Breakage(rule: 12, what: "a node that ends outside") { $0.set(9_999 as UInt16, at: $0.node($0.leaf(of: "b"), 1)) },
        Breakage(rule: 13, what: "two nodes at one place") {
            $0.set($0.value(UInt16.self, $0.leaf(of: "b") + 16), at: $0.leaf(of: "b") + 18)
        },
        Breakage(rule: 14, what: "an integer of seven bytes") { $0.set(7 as UInt16, at: $0.node($0.leaf(of: "b"), 1) + 6) },
        Breakage(rule: 15, what: "keys that fall") { pages in
            let leaf = pages.leaf(of: "b")
            let (first, second) = (pages.value(UInt16.self, leaf + 16), pages.value(UInt16.self, leaf + 18))
            pages.set(second, at: leaf + 16)
            pages.set(first, at: leaf + 18)
        },
        Breakage(rule: 15, what: "a key beyond its branch") { pages in
            let leaf = pages.leaf(of: "b")
            pages.set(UInt64.max, at: pages.node(leaf, pages.count(leaf) - 1) + 8)
        },
        Breakage(rule: 16, what: "a depth too much") { $0.set($0.value(UInt16.self, $0.table("b") + 6) + 1, at: $0.table("b") + 6) },
        Breakage(rule: 17, what: "a value that is a table") { $0.set(4 as UInt16, at: $0.node($0.leaf(of: "b"), 1) + 4) },
        Breakage(rule: 17, what: "a table that has doubles") { $0.set(6 as UInt16, at: $0.node($0.root($0.main), 0) + 4) },
        Breakage(rule: 18, what: "a node of half a page") { pages in
            let leaf = pages.leaf(of: "b")
            let key = pages.value(UInt64.self, pages.node(leaf, 0) + 8)
            pages.set(18 as UInt16, at: leaf + 12)
            for offset in [14, 16] { pages.set(UInt16(4_096 - 2_116), at: leaf + offset) }
            let node = pages.node(leaf, 0)
            for (offset, value) in [2_100, 0, 0, 8].enumerated() { pages.set(UInt16(value), at: node + 2 * offset) }
            pages.set(key, at: node + 8)
        },
        Breakage(rule: 19, what: "a run that is too long") { $0.set(UInt32.max, at: $0.run(of: "b") + 12) },
        Breakage(rule: 19, what: "a run that is too short") { $0.set(1 as UInt32, at: $0.run(of: "b") + 12) },
        Breakage(rule: 20, what: "data of two gigabytes") { $0.set(0x8000 as UInt16, at: $0.bigNode(of: "b") + 2) },
        Breakage(rule: 21, what: "a table that nobody knows") { $0.set(UInt8(ascii: "z"), at: $0.node($0.root($0.main), 1) + 8) },
        Breakage(rule: 21, what: "keys of another kind") { $0.set(0 as UInt16, at: $0.table("b") + 4) },
        Breakage(rule: 22, what: "a table that is a value") { $0.set(0 as UInt16, at: $0.node($0.root($0.main), 0) + 4) },
        Breakage(rule: 23, what: "an entry too much") { $0.set($0.value(UInt64.self, $0.table("b") + 32) + 1, at: $0.table("b") + 32) },
        Breakage(rule: 24, what: "pages of no commit") { $0.set(0 as UInt64, at: $0.node($0.leaf($0.free), 0) + 8) },
        Breakage(rule: 24, what: "more free pages than data") { $0.set(UInt64.max, at: $0.node($0.leaf($0.free), 0) + 16) },
        Breakage(rule: 25, what: "two ways to one page") { pages in
            let root = pages.root(pages.table("b"))
            pages.set(pages.value(UInt32.self, pages.node(root, 0)), at: pages.node(root, 1))
        },
    ]
}

/// The bytes of a file of pages of 4 KiB, and where to find what in them.
struct Pages {
    var bytes: [UInt8]

    init(_ path: String) throws { bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

    func value<T: FixedWidthInteger>(_ type: T.Type, _ offset: Int) -> T {
        (0 ..< T.bitWidth / 8).reduce(0) { $0 | T(truncatingIfNeeded: bytes[offset + $1]) << T(8 * $1) }
    }

    mutating func set<T: FixedWidthInteger>(_ value: T, at offset: Int) {
        for index in 0 ..< T.bitWidth / 8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> T(8 * index)) }
    }

    /// The newer meta page.
    var meta: Int { value(UInt64.self, 144) > value(UInt64.self, 4_096 + 144) ? 0 : 4_096 }
    var free: Int { meta + 40 }
    var main: Int { meta + 88 }

    func root(_ record: Int) -> Int { Int(value(UInt64.self, record + 40)) * 4_096 }
    func count(_ page: Int) -> Int { (Int(value(UInt16.self, page + 12)) - 16) / 2 }
    func node(_ page: Int, _ index: Int) -> Int { page + Int(value(UInt16.self, page + 16 + 2 * index)) }

    /// The record of a table, which lies behind its name of one byte.
    func table(_ name: String) -> Int { node(root(main), name == "a" ? 0 : 1) + 8 + 1 }

    func leaf(of name: String) -> Int { leaf(table(name)) }

    /// The first leaf of a tree.
    func leaf(_ record: Int) -> Int {
        var page = root(record)
        while value(UInt16.self, page + 10) == 1 { page = Int(value(UInt32.self, node(page, 0))) * 4_096 }
        return page
    }

    /// The first leaf's first node whose data has pages of its own.
    func bigNode(of name: String) -> Int {
        let leaf = leaf(of: name)
        return (0 ..< count(leaf)).map { node(leaf, $0) }.first { value(UInt16.self, $0 + 4) == 1 } ?? 0
    }

    func run(of name: String) -> Int { Int(value(UInt64.self, bigNode(of: name) + 16)) * 4_096 }
}
