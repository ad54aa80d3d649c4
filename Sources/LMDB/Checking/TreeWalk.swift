internal import Bytes

/// Walks one tree from its root down and counts its pages and entries.
struct TreeWalk {
    enum Kind: Equatable { case main, free, table(String) }

    private let kind: Kind
    private let record: TreeRecord
    private let hasIntegerKeys: Bool
    private let isSound: StructuralCheck.RowCheck?
    private var branchPages: UInt64 = 0
    private var leafPages: UInt64 = 0
    private var overflowPages: UInt64 = 0
    private var entries: UInt64 = 0

    private init(_ record: TreeRecord, _ kind: Kind, _ rows: [String: StructuralCheck.RowCheck]) {
        (self.record, self.kind, hasIntegerKeys) = (record, kind, record.flags == TreeRecord.integerKeys)
        isSound = if case .table(let name) = kind { rows[name] } else { nil }
    }

    /// Checks the tree of a record that lies in the meta page, or in the given page.
    static func check(_ record: TreeRecord, _ kind: Kind, from page: UInt64? = nil, _ check: inout StructuralCheck) throws {
        var walk = TreeWalk(record, kind, check.rows)
        let page = page ?? check.meta.transaction & 1
        guard record.depth <= TreeRecord.depthMax, record.isEmpty == (record.depth == 0), !record.isEmpty || record.saysNothing else {
            throw walk.damaged(page, 6, "the tree has the depth \(record.depth) and the root \(record.root)")
        }
        if !record.isEmpty { try walk.visit(record.root, from: page, level: 1, within: Bounds(), &check) }
        let found = [walk.branchPages, walk.leafPages, walk.overflowPages, walk.entries]
        let noted = [record.branchPages, record.leafPages, record.overflowPages, record.entries]
        guard found == noted else {
            throw walk.damaged(page, 23, "branch, leaf and overflow pages and entries are \(found) and noted as \(noted)")
        }
        check.report.branchPages += walk.branchPages
        check.report.leafPages += walk.leafPages
        check.report.overflowPages += walk.overflowPages
        if case .table(let name) = kind { check.report.entries[name] = walk.entries }
    }

    private func damaged(_ page: UInt64, _ rule: Int, _ reason: String) -> StructureDamage {
        let tree =
            switch kind {
            case .main: "main"
            case .free: "free"
            case .table(let name): name
            }
        return StructureDamage(page: page, tree: tree, rule: rule, reason: reason)
    }

    /// The bounds of a page's keys: nil is no bound.
    private struct Bounds {
        var from: [UInt8]?
        var below: [UInt8]?
    }

    private mutating func visit(
        _ number: UInt64, from parent: UInt64, level: Int, within bounds: Bounds, _ check: inout StructuralCheck
    ) throws {
        try take(number, from: parent, &check)
        let bytes = try check.read(check.pageBytes, ofPage: number)
        let page = try PageView(checking: bytes.lent, number: number) { damaged(number, $0, $1) }
        guard page.isBranch ? level < record.depth : level == record.depth else {
            throw damaged(number, 16, "it is a \(page.isBranch ? "branch" : "leaf") at level \(level) of \(record.depth)")
        }
        try checkKeys(page, number, bounds)
        if page.isBranch {
            branchPages += 1
            guard page.count > 1 || kind == .free else { throw damaged(number, 11, "a branch has one node") }
            for index in 0 ..< page.count {
                var inner = bounds
                if index > 0 { inner.from = [UInt8](copying: page.key(page.node(index))) }
                if index + 1 < page.count { inner.below = [UInt8](copying: page.key(page.node(index + 1))) }
                try visit(page.node(index).child, from: number, level: level + 1, within: inner, &check)
            }
        } else {
            leafPages += 1
            entries += UInt64(page.count)
            for index in 0 ..< page.count { try checkEntry(page, page.node(index), number, &check) }
        }
    }

    private func take(_ number: UInt64, from parent: UInt64, _ check: inout StructuralCheck) throws {
        guard number >= 2, number <= check.lastPage else { throw damaged(parent, 7, "it leads to page \(number) of \(check.lastPage + 1)") }
        guard check.seen.insert(number) else { throw damaged(parent, 25, "it leads to page \(number), where something else has led") }
    }

    /// Checks rules 14 and 15.
    private func checkKeys(_ page: PageView, _ number: UInt64, _ bounds: Bounds) throws {
        // The first node of a branch leads to everything below the key of the second.
        let first = page.isBranch ? 1 : 0
        for index in first ..< max(page.count, first) {
            let node = page.node(index)
            guard hasIntegerKeys ? node.keyBytes == 8 : (1 ... PageView.keyBytesMax).contains(node.keyBytes) else {
                throw damaged(number, 14, "the key of node \(index) has \(node.keyBytes) bytes")
            }
            if index > first, !isBelow(page.key(page.node(index - 1)), page.key(node)) {
                throw damaged(number, 15, "the key of node \(index) is not above the one before it")
            }
        }
        guard page.count > first else { return }
        if let from = bounds.from, isBelow(page.key(page.node(first)), from.lent) {
            throw damaged(number, 15, "a key is below those that belong here")
        }
        if let below = bounds.below, !isBelow(page.key(page.node(page.count - 1)), below.lent) {
            throw damaged(number, 15, "a key is above those that belong here")
        }
    }

    private func isBelow(_ a: RawSpan, _ b: RawSpan) -> Bool {
        hasIntegerKeys ? a.load(UInt64.self, at: 0) < b.load(UInt64.self, at: 0) : a.compare(b) < 0
    }

    private mutating func checkEntry(_ page: PageView, _ node: PageView.Node, _ number: UInt64, _ check: inout StructuralCheck) throws {
        if kind == .main { return try checkTable(page, node, number, &check) }
        guard node.flags == 0 || node.flags == PageView.bigData else { throw damaged(number, 17, "a node has the flags \(node.flags)") }
        var run: UInt64?
        if node.hasBigData {
            let first = page.bytes.load(UInt64.self, at: node.data)
            try checkRun(first, dataBytes: node.dataBytes, from: number, &check)
            run = first
        } else if node.sizeInline > (check.pageBytes - PageView.headerBytes) / 4 * 2 - 2 {
            throw damaged(number, 18, "a node of \(node.sizeInline) bytes holds its data")
        }
        if kind == .free { try checkFree(page, node, run, number, &check) }
        if let isSound {
            let own = try run.map {
                try check.read(node.dataBytes, ofPage: $0, from: PageView.headerBytes)
            }
            let value = own ?? [UInt8](copying: page.bytes.slice(node.data, node.dataBytes))
            if !isSound(page.key(node), value.lent) { throw damaged(number, StructuralCheck.rowRule, "a row is not as it was written") }
        }
    }

    /// Checks rules 17, 21 and 22, then the table.
    private func checkTable(_ page: PageView, _ node: PageView.Node, _ number: UInt64, _ check: inout StructuralCheck) throws {
        guard node.flags == PageView.subData else {
            throw damaged(number, node.flags & PageView.subData == 0 ? 22 : 17, "a node of the flags \(node.flags) is no table")
        }
        guard let name = String(utf8: page.key(node)), let integers = check.tables[name], node.dataBytes == TreeRecord.size else {
            throw damaged(number, 21, "a table is not one that belongs here")
        }
        let table = TreeRecord(page.bytes.slice(node.data, TreeRecord.size))
        guard table.pad == 0, table.flags == (integers ? TreeRecord.integerKeys : 0) else {
            throw damaged(number, 21, "the table \(name) has the flags \(table.flags)")
        }
        try Self.check(table, .table(name), from: number, &check)
    }

    /// Checks rules 19 and 20.
    private mutating func checkRun(_ first: UInt64, dataBytes: Int, from number: UInt64, _ check: inout StructuralCheck) throws {
        guard dataBytes <= 1 << 30 else { throw damaged(number, 20, "data of \(dataBytes) bytes") }
        try take(first, from: number, &check)
        let header = try check.read(PageView.headerBytes, ofPage: first)
        let pages = UInt64(header.lent.load(UInt32.self, at: 12))
        let needed = UInt64((PageView.headerBytes - 1 + dataBytes) / check.pageBytes + 1)
        guard header.lent.load(UInt64.self, at: 0) == first, header.lent.load(UInt16.self, at: 10) == PageView.overflow, pages >= needed,
            pages <= check.lastPage - first + 1
        else { throw damaged(first, 19, "\(pages) pages hold data of \(dataBytes) bytes") }
        for page in first + 1 ..< first + pages { try take(page, from: first, &check) }
        overflowPages += pages
    }

    /// Checks rules 24 and 25 for the pages that one commit has freed.
    private func checkFree(
        _ page: PageView, _ node: PageView.Node, _ run: UInt64?, _ number: UInt64, _ check: inout StructuralCheck
    ) throws {
        let commit = page.key(node).load(UInt64.self, at: 0)
        let own = try run.map { try check.read(node.dataBytes, ofPage: $0, from: PageView.headerBytes) }
        let bytes = own ?? [UInt8](copying: page.bytes.slice(node.data, node.dataBytes))
        let data = bytes.lent
        guard (1 ... max(check.meta.transaction, 1)).contains(commit), data.byteCount >= 8 else {
            throw damaged(number, 24, "an entry of the commit \(commit) has \(data.byteCount) bytes")
        }
        let count = data.load(UInt64.self, at: 0)
        guard count <= UInt64(data.byteCount / 8 - 1) else { throw damaged(number, 24, "\(count) pages in \(data.byteCount) bytes") }
        var before = UInt64.max
        for index in 0 ..< Int(count) {
            let free = data.load(UInt64.self, at: 8 + 8 * index)
            guard free < before else { throw damaged(number, 24, "the pages of the commit \(commit) do not fall") }
            try take(free, from: number, &check)
            before = free
        }
        check.report.freePages += count
    }
}
