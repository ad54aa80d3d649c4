internal import Bytes
package import Platform

/// Reads what can still be reached of a commit with damaged pages: the entries of sound leaves below sound branches. A page is checked by
/// rules 7 to 14 and 16 to 20 of `StructuralCheck` before any part of it is used, and visited once; a page that breaks a rule is left out,
/// with everything below it.
package struct TreeRemains {
    /// Where an entry's value lies in the file.
    package struct Value: Hashable, Sendable {
        package let offset: Int
        package let count: Int
    }

    package typealias Visit = (_ table: String, _ key: RawSpan, _ value: Value) throws -> Void

    package let commit: MetaPage
    private let file: File
    private let pages: UInt64
    private let pageBytes: Int
    private var seen: PageSet
    private var free: PageSet
    /// The trees that lack a part: names of tables, "main" or "free".
    package private(set) var broken: Set<String> = []
    /// For each table with integer keys, the key ranges of the leaves that are left: within a range no key is missing.
    package private(set) var leaves: [String: [ClosedRange<UInt64>]] = [:]

    /// The commits of the file's meta pages, the newest first: none where both pages are damaged, else one or two.
    package static func commits(in file: File) throws(StorageError) -> [MetaPage] {
        var found: [MetaPage] = []
        if let first = try meta(0, of: file, at: 0) { found.append(first) }
        let sizes = found.first.map { [$0.pageBytes] } ?? [4_096, 512, 1_024, 2_048, 8_192, 16_384, 32_768]
        for size in sizes where found.first?.pageBytes ?? size == size {
            guard let second = try meta(1, of: file, at: size), second.pageBytes == size else { continue }
            found.append(second)
            break
        }
        return found.sorted { $0.transaction > $1.transaction }
    }

    private static func meta(_ number: UInt64, of file: File, at offset: Int) throws(StorageError) -> MetaPage? {
        do throws(StorageError) { return try MetaPage(number, of: file, at: offset) } catch {
            if error.isDamage { return nil }
            throw error
        }
    }

    package init(_ commit: MetaPage, of file: File) throws(StorageError) {
        (self.commit, self.file, pageBytes) = (commit, file, commit.pageBytes)
        // A number from a damaged meta page must not decide the size of an allocation.
        pages = min(commit.lastPage == .max ? .max : commit.lastPage + 1, UInt64(try file.status().bytes / commit.pageBytes))
        seen = PageSet()
        free = PageSet()
    }

    /// Lends every entry that can be reached, of each table in the order of its keys.
    /// - Parameter tables: the tables that may exist, and whether their keys are integers.
    package mutating func walk(_ tables: [String: Bool], _ visit: Visit) throws {
        let record = commit.bytes
        let main = TreeRecord(record.lent.slice(MetaPage.mainRecord, TreeRecord.size))
        let free = TreeRecord(record.lent.slice(MetaPage.freeRecord, TreeRecord.size))
        try walk(Tree(record: free, name: "free", hasIntegerKeys: true)) { remains, page, node, _ in try remains.takeFree(page, node) }
        try walk(Tree(record: main, name: "main", hasIntegerKeys: false)) { remains, page, node, _ in
            guard node.flags == PageView.subData, node.dataBytes == TreeRecord.size, let name = String(utf8: page.key(node)),
                let isInteger = tables[name]
            else {
                remains.broken.insert("main")
                return
            }
            let table = TreeRecord(page.bytes.slice(node.data, TreeRecord.size))
            try remains.walk(Tree(record: table, name: name, hasIntegerKeys: isInteger)) { remains, page, node, number in
                guard node.flags & PageView.subData == 0, let value = try remains.value(node, of: number) else {
                    remains.broken.insert(name)
                    return
                }
                try visit(name, page.key(node), value)
            }
        }
    }

    /// Whether no tree of the commit leads to the page at an offset of the file: the free list names it, or it lies beyond the last page.
    package func isFree(_ offset: Int) -> Bool {
        let page = UInt64(offset / pageBytes)
        return page > commit.lastPage || free.contains(page)
    }

    // MARK: Trees

    private typealias Entry = (inout TreeRemains, borrowing PageView, PageView.Node, UInt64) throws -> Void

    /// The expectations that the pages of one tree are checked against.
    private struct Tree {
        let record: TreeRecord
        let name: String
        let hasIntegerKeys: Bool
    }

    private mutating func walk(_ tree: Tree, _ entry: Entry) throws {
        guard tree.record.depth <= TreeRecord.depthMax else {
            broken.insert(tree.name)
            return
        }
        if !tree.record.isEmpty { try visit(tree.record.root, level: 1, of: tree, entry) }
    }

    /// - Parameter level: 1 for the root.
    private mutating func visit(_ number: UInt64, level: Int, of tree: Tree, _ entry: Entry) throws {
        guard number >= 2, number < pages, seen.insert(number) else {
            broken.insert(tree.name)
            return
        }
        let bytes = try file.read(pageBytes, at: Int(number) * pageBytes)
        guard bytes.count == pageBytes, isSound(bytes, number, level: level, of: tree) else {
            broken.insert(tree.name)
            return
        }
        let page = try PageView(checking: bytes.lent, number: number) { damage(number, tree.name, $0, $1) }
        if tree.hasIntegerKeys, !page.isBranch {
            let (first, last) = (page.key(page.node(0)), page.key(page.node(page.count - 1)))
            let (low, high) = (first.load(UInt64.self, at: 0), last.load(UInt64.self, at: 0))
            if low <= high { leaves[tree.name, default: []].append(low ... high) }
        }
        for index in 0 ..< page.count {
            let node = page.node(index)
            if page.isBranch {
                try visit(node.child, level: level + 1, of: tree, entry)
            } else {
                try entry(&self, page, node, number)
            }
        }
    }

    private func isSound(_ bytes: [UInt8], _ number: UInt64, level: Int, of tree: Tree) -> Bool {
        do throws(StructureDamage) {
            let page = try PageView(checking: bytes.lent, number: number) { damage(number, tree.name, $0, $1) }
            guard page.isBranch ? level < tree.record.depth : level == tree.record.depth else { return false }
            for index in (page.isBranch ? 1 : 0) ..< max(page.count, 1) {
                let count = page.node(index).keyBytes
                guard tree.hasIntegerKeys ? count == 8 : (1 ... PageView.keyBytesMax).contains(count) else { return false }
            }
            return true
        } catch { return false }
    }

    private func damage(_ page: UInt64, _ tree: String, _ rule: Int, _ reason: String) -> StructureDamage {
        StructureDamage(page: page, tree: tree, rule: rule, reason: reason)
    }

    // MARK: Values

    /// Where a node's value lies; nil where its overflow pages are invalid.
    private mutating func value(_ node: PageView.Node, of number: UInt64) throws(StorageError) -> Value? {
        let start = Int(number) * pageBytes + node.data
        if !node.hasBigData { return Value(offset: start, count: node.dataBytes) }
        let bytes = try file.read(8, at: start)
        guard bytes.count == 8, node.dataBytes <= 1 << 30 else { return nil }
        let first = bytes.lent.load(UInt64.self, at: 0)
        guard first >= 2, first < pages else { return nil }
        let header = try file.read(PageView.headerBytes, at: Int(first) * pageBytes)
        let needed = UInt64((PageView.headerBytes - 1 + node.dataBytes) / pageBytes + 1)
        guard header.count == PageView.headerBytes, header.lent.load(UInt64.self, at: 0) == first,
            header.lent.load(UInt16.self, at: 10) == PageView.overflow, needed <= pages - first
        else { return nil }
        // A page that several entries lead to is read only once.
        for page in first ..< first + needed where !seen.insert(page) { return nil }
        return Value(offset: Int(first) * pageBytes + PageView.headerBytes, count: node.dataBytes)
    }

    private mutating func takeFree(_ page: borrowing PageView, _ node: PageView.Node) throws {
        guard node.flags & PageView.subData == 0, let value = try value(node, of: page.bytes.load(UInt64.self, at: 0)) else {
            broken.insert("free")
            return
        }
        let bytes = try file.read(value.count, at: value.offset)
        let count = bytes.count < 8 ? 0 : bytes.lent.load(UInt64.self, at: 0)
        guard bytes.count >= 8, count <= UInt64(bytes.count / 8 - 1) else {
            broken.insert("free")
            return
        }
        for index in 0 ..< Int(count) {
            let number = bytes.lent.load(UInt64.self, at: 8 + 8 * index)
            if number < pages { _ = free.insert(number) }
        }
    }
}
