internal import Bytes
internal import CLMDB
package import Platform

/// Walks every page that a commit leads to, without LMDB, which trusts every number that it reads and ends the process at an invalid page.
/// This walk maps nothing, and uses no number of the file before it is checked.
///
/// A file is sound where it keeps all of these rules. Offsets are bytes of a page, little-endian; the source is LMDB 0.9's `mdb.c`.
/// 1. It holds two pages or more.
/// 2. Both meta pages are valid (`MetaPage`), with one page size.
/// 3. They describe two commits that follow each other, each in the page of its parity.
/// 4. The fixed address is 0; the free list's flags are integer keys alone, the main tree's none.
/// 5. The last page lies in the file.
/// 6. A tree has at most 32 levels; without a root it has nothing else.
/// 7. A page that something leads to has a number from 2 to the last.
/// 8. 0 u64: the page's own number.
/// 9. 10 u16 flags: 1 branch, 2 leaf, 4 overflow, and nothing beside it.
/// 10. 12 u16 lower, 14 u16 upper: 16 <= lower <= upper <= the page's size, lower even.
/// 11. There is a node; in a branch there are two, except in the free list.
/// 12. 16 …lower, u16 each: nodes begin at even offsets from upper on and end in the page.
/// 13. They lie side by side up to the page's end.
/// 14. Keys have 1 to 511 bytes, 8 where they are integers; a branch's first is not looked at.
/// 15. They rise, and lie between the keys of the branch that leads to them.
/// 16. All leaves lie at the tree's depth.
/// 17. A node's flags are those of its place: none, 1 for data of its own pages, 2 for a table in the main tree.
/// 18. A node that holds its data is small enough to.
/// 19. Data of its own pages: the first has its number, flags 4, 12 u32 pages; enough for the data, all in the file.
/// 20. Data has at most 1 GiB.
/// 21. A table is one that is expected, with a record of 48 bytes and the flags that it was made with.
/// 22. The main tree holds nothing but tables.
/// 23. Entries and pages are as many as the tree's record says.
/// 24. An entry of the free list: a commit, up to this one; a count, and as many pages, falling.
/// 25. Nothing leads to a page twice.
/// 26. A row passes the check that the caller gives for its table.
package struct StructuralCheck {
    /// Whether a key and its value belong together.
    package typealias RowCheck = @Sendable (RawSpan, RawSpan) -> Bool
    /// The number of the rule that a row breaks whose check fails.
    package static let rowRule = 26

    let file: File
    let meta: MetaPage
    let pageBytes: Int
    let tables: [String: Bool]
    let rows: [String: RowCheck]
    var seen: PageSet
    var report: StructureReport

    var lastPage: UInt64 { meta.lastPage }

    /// Walks everything once: time and reads grow with the number of pages, memory by a bit for each page that is reached.
    /// - Parameters:
    ///   - meta: the meta page of the commit to check; nil means the newest commit, for which both meta pages are checked.
    ///   - tables: the tables that may exist, and whether their keys are integers.
    ///   - rows: the checks of rows, by table.
    /// - Throws: `StructureDamage`; `StorageError` where a meta page is invalid or the file can't be read.
    package static func run(
        _ file: File, asOf meta: MetaPage? = nil, tables: [String: Bool], rows: [String: RowCheck] = [:]
    ) throws -> StructureReport {
        let meta = try meta ?? newest(of: file)
        let pages = UInt64(try file.status().bytes / meta.pageBytes)
        guard meta.lastPage >= 1, meta.lastPage < pages else {
            throw damaged(meta, 5, "the last page is \(meta.lastPage) and the file has \(pages) pages: its end is missing")
        }
        var check = StructuralCheck(file, meta, tables, rows)
        try check.walk()
        return check.report
    }

    /// Runs the check while other processes may write: damage counts only if the file has not changed meanwhile.
    package static func runBeside(_ file: File, tables: [String: Bool], rows: [String: RowCheck] = [:]) throws {
        for _ in 0 ..< besideMax {
            let before = try file.status().changed
            do {
                _ = try run(file, tables: tables, rows: rows)
                return
            } catch { if try file.status().changed == before { throw error } }
        }
    }

    private static let besideMax = 8

    private init(_ file: File, _ meta: MetaPage, _ tables: [String: Bool], _ rows: [String: RowCheck]) {
        (self.file, self.meta, self.tables, self.rows, pageBytes) = (file, meta, tables, rows, meta.pageBytes)
        seen = PageSet()
        report = StructureReport(transaction: meta.transaction)
    }

    private mutating func walk() throws {
        let bytes = meta.bytes
        let record = bytes.lent
        let free = TreeRecord(record.slice(MetaPage.freeRecord, TreeRecord.size))
        let main = TreeRecord(record.slice(MetaPage.mainRecord, TreeRecord.size))
        guard record.load(UInt64.self, at: MetaPage.address) == 0, free.flags == TreeRecord.integerKeys, main.flags == 0, main.pad == 0
        else { throw Self.damaged(meta, 4, "the flags of its trees are \(free.flags) and \(main.flags)") }
        for page in 0 ... 1 as ClosedRange<UInt64> { _ = seen.insert(page) }
        try TreeWalk.check(main, .main, &self)
        try TreeWalk.check(free, .free, &self)
        report.lostPages = lastPage + 1 - seen.count
    }

    private static func newest(of file: File) throws -> MetaPage {
        let size = try file.status().bytes
        let first = try MetaPage.first(of: file)
        guard size >= 2 * first.pageBytes else { throw damaged(first, 1, "the file has \(size) bytes, less than two pages") }
        let second = try MetaPage.second(of: file, after: first)
        guard first.pageBytes == second.pageBytes else { throw damaged(second, 2, "the two meta pages differ in page size") }
        let (older, newer) = (min(first.transaction, second.transaction), max(first.transaction, second.transaction))
        // Both meta pages of a new file are without a commit.
        guard newer == 0 || newer - older == 1 && first.transaction % 2 == 0 else {
            throw damaged(first, 3, "the meta pages tell of the commits \(first.transaction) and \(second.transaction)")
        }
        return first.transaction > second.transaction ? first : second
    }

    private static func damaged(_ meta: MetaPage, _ rule: Int, _ reason: String) -> StructureDamage {
        StructureDamage(page: meta.transaction & 1, tree: "meta", rule: rule, reason: reason)
    }
}

extension Environment {
    /// Checks the pages of the newest commit while other threads and processes go on writing; pins them for that time.
    @discardableResult
    package func checkStructure(tables: [String: Bool], rows: [String: StructuralCheck.RowCheck] = [:]) throws -> StructureReport {
        let file = try File(directory + "/data.mdb", .read)
        while true {
            guard let pin = try pin() else { throw StorageError(lmdb: MDB_READERS_FULL, "checking \(directory)") }
            defer { withExtendedLifetime(pin) {} }
            let number = Int(pin.transaction & 1)
            let meta = try MetaPage(UInt64(number), of: file, at: number * pageBytes)
            // If the commit after the next has overwritten the meta page meanwhile, another one is pinned.
            guard meta.transaction == UInt64(pin.transaction) else { continue }
            return try StructuralCheck.run(file, asOf: meta, tables: tables, rows: rows)
        }
    }
}

extension StructuralCheck {
    /// Reads bytes of a page, or of a run of pages, that is known to lie in the file.
    func read(_ count: Int, ofPage number: UInt64, from offset: Int = 0) throws(StorageError) -> [UInt8] {
        let bytes = try file.read(count, at: Int(number) * pageBytes + offset)
        guard bytes.count == count else { throw StorageError(invalid: "\(file.path) has become shorter while it was looked at") }
        return bytes
    }
}

/// Where the pages of a `data.mdb` break a rule of `StructuralCheck`, and which one.
package struct StructureDamage: Error, Hashable, Sendable, CustomStringConvertible {
    package let page: UInt64
    /// The tree that leads there: a table's name, "main" or "free".
    package let tree: String
    package let rule: Int
    package let reason: String

    package var description: String { "page \(page), in the tree \(tree): \(reason) (rule \(rule))" }
}

package struct StructureReport: Hashable, Sendable {
    package internal(set) var branchPages: UInt64 = 0
    package internal(set) var leafPages: UInt64 = 0
    package internal(set) var overflowPages: UInt64 = 0
    /// Pages of the free list, which later commits reuse.
    package internal(set) var freePages: UInt64 = 0
    /// Pages that nothing leads to: leaked space, and no damage.
    package internal(set) var lostPages: UInt64 = 0
    package internal(set) var entries: [String: UInt64] = [:]
    /// The commit that was walked.
    package internal(set) var transaction: UInt64
}
