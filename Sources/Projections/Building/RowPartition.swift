internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import SchemaEvolution

/// The rows of one definition whose keys have the same upper bits of their hash.
///
/// When memory is short it is frozen: rows that are in it go on being folded, operations on other keys are put
/// into a file, in order, and folded afterwards. So the rows in memory and those in the file share no key.
final class RowPartition: @unchecked Sendable {
    // Sound to share: the build lets one thread at a time use a partition.
    private let fold: any Fold
    private let shape: EventShape?
    private let generation: Generation
    private let number: Int
    private var rows = RowStore()
    private var workspace = FoldWorkspace()
    private var spill: SpillFile?
    private var level = 0
    private var rejections: [Rejection] = []
    private var aside = Slots<UInt32>()
    var isFrozen = false

    /// - Parameter shape: the shape that each row has to keep; nil where it is not checked.
    init(_ fold: any Fold, keeping shape: EventShape?, of generation: Generation, number: Int) {
        (self.fold, self.shape, self.generation, self.number) = (fold, shape, generation, number)
    }

    var bytes: Int { rows.bytes }

    var hasSpilled: Bool { spill != nil }

    func takeRejections() -> [Rejection] {
        defer { rejections.removeAll() }
        return rejections
    }

    /// Applies the operations that begin at some of the offsets, in this order.
    func apply(_ operations: RawSpan, _ offsets: borrowing Slots<UInt32>, _ range: Range<Int>) throws {
        aside.removeAll()
        Self.apply(operations, offsets, range, makingRows: !isFrozen, to: &rows, fold, &workspace, &rejections, &aside)
        for index in 0 ..< aside.count {
            let offset = Int(aside[index])
            try put(aside: operations.slice(offset, Operation.size(operations, at: offset)))
        }
    }

    /// Operations whose rows are looked up together.
    private static let groupSize = 32

    /// The inner loop of a build, on values that no other thread refers to.
    ///
    /// - Parameter aside: gets those whose row is not in memory and may not be made there.
    private static func apply(
        _ operations: RawSpan, _ offsets: borrowing Slots<UInt32>, _ range: Range<Int>, makingRows: Bool, to rows: inout RowStore,
        _ fold: any Fold, _ workspace: inout FoldWorkspace, _ rejections: inout [Rejection], _ aside: inout Slots<UInt32>
    ) {
        var start = range.lowerBound
        while start < range.upperBound {
            let group = start ..< min(start + groupSize, range.upperBound)
            workspace.touched &+= rows.touch(operations, offsets, group, &workspace.places)
            for index in group {
                let offset = Int(offsets[index])
                let operation = operations.slice(offset, Operation.size(operations, at: offset))
                if !apply(operation, makingRows: makingRows, to: &rows, fold, &workspace, &rejections) { aside.append(offsets[index]) }
            }
            start = group.upperBound
        }
    }

    /// False where its row is not in memory and may not be made there.
    @inline(__always)
    private static func apply(
        _ operation: RawSpan, makingRows: Bool, to rows: inout RowStore, _ fold: any Fold, _ workspace: inout FoldWorkspace,
        _ rejections: inout [Rejection]
    ) -> Bool {
        let (key, hash) = (operation.slice(Operation.headerBytes, Operation.keyCount(operation)), Operation.hash(operation))
        var entry = rows.find(key, hash: hash)
        if entry < 0 {
            guard makingRows else { return false }
            entry = rows.insert(key, hash: hash)
        }
        do throws(FoldError) { try rows.apply(operation, to: entry, fold, &workspace) } catch {
            rejections.append(Rejection(operation, error))
        }
        return true
    }

    private func put(aside operation: RawSpan) throws {
        if spill == nil {
            spill = try SpillFile(in: generation.directory, named: "spill-\(number)-\(level)", isSealed: generation.rows.isSealed)
            level += 1
        }
        try spill?.append(operation)
    }

    /// Removes the rows from memory and returns them as a sorted run.
    /// - Throws: `EvstoreError.invalidRow` where a row does not keep its shape.
    func takeRun(of projection: String, toFile: Bool) throws -> SortedRun {
        // Its values are sealed already where they have to be, one by one.
        let file = toFile ? try SpillFile(in: generation.directory, named: "run-\(number)-\(level)", isSealed: false) : nil
        var run = SortedRun(of: generation.rows, file: file)
        level += 1
        var json = ByteBuffer()
        for entry in rows.sorted() {
            json.removeAll()
            guard rows.render(entry, fold, into: &json) else { continue }
            if let reason = shape?.violation(json.bytes) {
                let key = rows.withKey(entry) { String(utf8: $0) ?? "" }
                throw EvstoreError.invalidRow(projection: projection, key: key, reason: reason)
            }
            try rows.withKey(entry) { key in try run.append(key: key, text: json) }
        }
        try run.finish()
        rows = RowStore()
        return run
    }

    /// Folds what was put aside into the empty partition; what again does not fit into `memory` bytes is put aside anew.
    func foldSpilled(memory: Int) throws {
        guard var file = spill.take() else { return }
        try file.flush()
        isFrozen = false
        var reader = file.reader()
        while try reader.fill(4) {
            let size = Operation.size(reader.slice(0, 4))
            guard try reader.fill(size) else { return }
            if !Self.apply(reader.slice(0, size), makingRows: !isFrozen, to: &rows, fold, &workspace, &rejections) {
                try put(aside: reader.slice(0, size))
            }
            reader.skip(size)
            if !isFrozen, rows.bytes > memory { isFrozen = true }
        }
    }
}
