internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// The rows of one definition whose keys have equal upper bits in their hashes.
///
/// When memory is short, the partition is frozen: rows in memory continue to be folded, while operations on other keys are written to a
/// file, in order, and folded later. Rows in memory and rows in the file therefore share no key.
final class RowPartition: @unchecked Sendable {
    // Sound to share: the build lets one thread at a time use a partition.
    private let shape: EventShape?
    private let generation: Generation
    private let number: Int
    private var memory: FoldedRows
    private var spill: SpillFile?
    private var level = 0

    /// - Parameter shape: the shape that every row must fit; nil if rows are not checked.
    init(_ fold: any Fold, keeping shape: EventShape?, of generation: Generation, number: Int) {
        (self.shape, self.generation, self.number) = (shape, generation, number)
        memory = FoldedRows(fold)
    }

    var bytes: Int { memory.rows.bytes }

    var isFrozen: Bool {
        get { memory.isFrozen }
        set { memory.isFrozen = newValue }
    }

    var hasSpilled: Bool { spill != nil }

    func takeRejections() -> [Rejection] {
        defer { memory.rejections.removeAll() }
        return memory.rejections
    }

    func apply(_ operations: RawSpan, _ offsets: borrowing UniqueArray<UInt32>, _ range: Range<Int>) throws {
        memory.apply(operations, offsets, range)
        for index in 0 ..< memory.aside.count {
            let offset = Int(memory.aside[index])
            try put(aside: operations.slice(offset, Operation.size(operations, at: offset)))
        }
    }

    private func put(aside operation: RawSpan) throws {
        if spill == nil {
            spill = try SpillFile(in: generation.directory, named: "spill-\(number)-\(level)", isSealed: generation.rows.isSealed)
            level += 1
        }
        try spill?.append(operation)
    }

    /// Removes the rows from memory and returns them as a sorted run.
    /// - Throws: `EvstoreError.invalidRow` if a row does not fit its shape.
    func takeRun(of projection: String, toFile: Bool) throws -> SortedRun {
        // The file need not be sealed, since its values are already sealed one by one if necessary.
        let file = toFile ? try SpillFile(in: generation.directory, named: "run-\(number)-\(level)", isSealed: false) : nil
        var run = SortedRun(of: generation.rows, file: file)
        level += 1
        var json = ByteBuffer()
        for entry in memory.rows.sorted() {
            json.removeAll()
            guard memory.rows.render(entry, memory.fold, into: &json) else { continue }
            if let reason = shape?.violation(json.bytes) {
                let key = memory.rows.withKey(entry) { String(utf8: $0) ?? "" }
                throw EvstoreError.invalidRow(projection: projection, key: key, reason: reason)
            }
            try memory.rows.withKey(entry) { key in try run.append(key: key, text: json) }
        }
        try run.finish()
        memory.rows = RowStore()
        return run
    }

    /// Folds the operations that were set aside into the empty partition. Operations that again exceed the memory limit are set aside anew.
    func foldSpilled(memory bytesMax: Int) throws {
        guard var file = spill.take() else { return }
        try file.flush()
        isFrozen = false
        var reader = file.reader()
        while try reader.fill(4) {
            let size = Operation.size(reader.slice(0, 4))
            guard try reader.fill(size) else { return }
            if !memory.apply(reader.slice(0, size)) { try put(aside: reader.slice(0, size)) }
            reader.skip(size)
            if !isFrozen, bytes > bytesMax { isFrozen = true }
        }
    }
}
