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
    // Sound to share: a partition is worked on by one thread at a time, which the build sees to.
    private let fold: any Fold
    private let shape: EventShape?
    private let directory: String
    private let number: Int
    private var rows = RowStore()
    private var workspace = FoldWorkspace()
    private var spill: SpillFile?
    private var level = 0
    private(set) var rejections: [Rejection] = []
    var isFrozen = false

    init(_ definition: Definition, _ fold: any Fold, directory: String, number: Int) {
        (self.fold, shape, self.directory, self.number) = (fold, definition.rowShape, directory, number)
    }

    var bytes: Int { rows.bytes }

    var hasSpilled: Bool { spill != nil }

    func takeRejections() -> [Rejection] {
        defer { rejections.removeAll() }
        return rejections
    }

    /// Does the operations that begin at `offsets`, in this order.
    func apply(_ operations: RawSpan, _ offsets: ArraySlice<UInt32>) throws {
        guard isFrozen else { return Self.apply(operations, offsets, to: &rows, fold, &workspace, &rejections) }
        for offset in offsets { try apply(operations.slice(Int(offset), Operation.size(operations, at: Int(offset)))) }
    }

    /// The loop that a build spends its time in, on values that it has for itself.
    private static func apply(
        _ operations: RawSpan, _ offsets: ArraySlice<UInt32>, to rows: inout RowStore, _ fold: any Fold,
        _ workspace: inout FoldWorkspace, _ rejections: inout [Rejection]
    ) {
        for offset in offsets {
            let operation = operations.slice(Int(offset), Operation.size(operations, at: Int(offset)))
            let (key, hash) = (operation.slice(Operation.headerBytes, Operation.keyCount(operation)), Operation.hash(operation))
            let found = rows.find(key, hash: hash)
            let entry = found < 0 ? rows.insert(key, hash: hash) : found
            do throws(FoldError) { try rows.apply(operation, to: entry, fold, &workspace) } catch {
                rejections.append(Rejection(operation, error))
            }
        }
    }

    private func apply(_ operation: RawSpan) throws {
        let key = operation.slice(Operation.headerBytes, Operation.keyCount(operation))
        let hash = Operation.hash(operation)
        var entry = rows.find(key, hash: hash)
        if entry < 0 {
            if isFrozen { return try put(aside: operation) }
            entry = rows.insert(key, hash: hash)
        }
        do throws(FoldError) { try rows.apply(operation, to: entry, fold, &workspace) } catch {
            rejections.append(Rejection(operation, error))
        }
    }

    private func put(aside operation: RawSpan) throws(LMDBError) {
        if spill == nil {
            spill = try SpillFile(in: directory, named: "spill-\(number)-\(level)")
            level += 1
        }
        try spill?.append(operation)
    }

    /// Gives up the rows in memory as a run.
    /// - Throws: `EvstoreError.verificationFailed` where a row does not keep its shape.
    func takeRun(of projection: String, toFile: Bool) throws -> SortedRun {
        var run = SortedRun(file: toFile ? try SpillFile(in: directory, named: "run-\(number)-\(level)") : nil)
        level += 1
        var json = ByteBuffer()
        for entry in rows.sorted() {
            json.removeAll()
            guard rows.render(entry, fold, into: &json) else { continue }
            if let reason = shape?.violation(json.bytes) {
                let key = rows.withKey(entry) { String(utf8: $0) ?? "" }
                throw EvstoreError.verificationFailed(reason: "the row \(quoted(key)) of \(projection) does not keep its shape: \(reason)")
            }
            try rows.withKey(entry) { key in try run.append(key: key, value: json) }
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
        var operation = ByteBuffer()
        while true {
            operation.removeAll()
            guard try reader.peek(4, into: &operation) else { return }
            let size = Operation.size(operation.bytes)
            operation.removeAll()
            guard try reader.peek(size, into: &operation) else { return }
            reader.skip(size)
            try Self.with(operation) { try apply($0) }
            if !isFrozen, rows.bytes > memory { isFrozen = true }
        }
    }

    private static func with(_ buffer: borrowing ByteBuffer, _ body: (RawSpan) throws -> Void) rethrows { try body(buffer.bytes) }
}
