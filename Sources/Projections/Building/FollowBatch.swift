internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// The state that following one definition reuses for each batch. Used by one thread at a time.
final class FollowBatch {
    private let evolving: VersionedLog
    private let fold: any Fold
    private let preparer: EventPreparer
    private let indexes: RowIndexes
    private var row: FollowedRow

    init(_ evolving: VersionedLog, _ evolution: SchemaSnapshot, _ definition: Definition) throws(EvstoreError) {
        self.evolving = evolving
        fold = try definition.makeFold(TagCodes(evolving.log))
        indexes = definition.indexes
        row = FollowedRow(fold, definition.indexes)
        preparer = try EventPreparer(evolving.log, evolution.history, [definition], at: definition.version)
    }

    /// Consumes the next events in one transaction. Returns the generation's new header.
    func run(_ generation: Generation, _ turn: WriteTurn, through target: Position) throws(EvstoreError) -> GenerationHeader {
        try converting("following with \(generation.directory)", at: generation.directory) {
            try generation.write(turn) { transaction in
                // LMDB may run the transaction again with a larger map.
                preparer.removeAll()
                var header = try generation.header(transaction.reads)
                let now = try evolving.log.read { reader in
                    try Follower.check(header.checkpoint, reader)
                    return reader.last
                }
                let start = header.checkpoint.position
                let end = min(target, now.position, start.plus(size(for: start, before: target)))
                if start < end {
                    try evolving.log.scan(after: start, in: now.epoch, through: end) { block, reader in
                        try preparer.prepare(block, reader)
                        return true
                    }
                    let rejections = try Self.fold(preparer.outputs[0], &row, generation, &header, &transaction)
                    for row in try QuarantineRow.rows(rejections, evolving.log) where try generation.put(row, &transaction) {
                        header.quarantined += 1
                    }
                    header.checkpoint.position = end
                }
                header.checkpoint.epoch = now.epoch
                try generation.put(header, &transaction)
                return header
            }
        }
    }

    /// Drops everything that was read from the log and from read models; compiled folds and paths are kept.
    func removeEvents() {
        preparer.removeEvents()
        row = FollowedRow(fold, indexes)
    }

    /// The number of events in one commit: large if the generation is far behind, since each commit writes every page with one of its rows.
    private func size(for start: Position, before target: Position) -> UInt64 {
        let size = UInt64(evolving.options.followBatchEvents)
        return target.events(after: start) / 4 > size ? size.times(16) : size
    }

    /// Folds the prepared operations row by row in key order: each row is written once, and walking over a tree is faster than searching.
    private static func fold(
        _ prepared: borrowing PreparedOperations, _ row: inout FollowedRow, _ generation: Generation,
        _ header: inout GenerationHeader, _ transaction: inout WriteTransaction
    ) throws -> [Rejection] {
        var sums = FollowSums(digest: SetDigest(header.digest), rejections: prepared.rejections)
        var count = Int64(header.rows)
        try prepared.forEachRow { operations in
            count += try row.take(operations, generation, transaction.reads, &sums)
            try row.folding.write(operations.key, generation, &transaction)
        }
        guard let rows = UInt64(exactly: count) else { throw generation.note.damaged("its header counts fewer rows than there were") }
        (header.digest, header.rows) = (sums.digest.digest, rows)
        return sums.rejections
    }
}

private struct FollowSums {
    /// The digest of all rows of the read model.
    var digest: SetDigest
    var rejections: [Rejection]
}

/// The row that a batch is processing.
private struct FollowedRow: ~Copyable {
    fileprivate var folding: RowFolding
    /// The row's previous text, if rows are sealed.
    private var opened = ByteBuffer()

    init(_ fold: any Fold, _ indexes: RowIndexes) { folding = RowFolding(fold, indexes) }

    /// Folds the operations on a row. Returns the change of the number of rows.
    mutating func take(
        _ operations: borrowing RowOperations, _ generation: Generation, _ transaction: borrowing ReadTransaction,
        _ sums: inout FollowSums
    ) throws -> Int64 {
        folding.isIndexed = generation.indexes != nil
        let found = try generation.rows.find(operations.key, transaction)
        guard let found, generation.rows.isSealed else { return try folding.take(operations, on: found, &sums) }
        opened.removeAll()
        try generation.rows.open(found, operations.key, into: &opened)
        return try Self.take(operations, on: opened, &folding, &sums)
    }

    private static func take(
        _ operations: borrowing RowOperations, on old: borrowing ByteBuffer, _ folding: inout RowFolding, _ sums: inout FollowSums
    ) throws -> Int64 {
        try folding.take(operations, on: old.bytes, &sums)
    }
}

/// Folds operations into a row and writes its new text.
private struct RowFolding: ~Copyable {
    private let fold: any Fold
    private let indexes: RowIndexes
    private var workspace = FoldWorkspace()
    private var state = ByteBuffer()
    private var json = ByteBuffer()
    private var isChanged = false
    /// Whether the generation has index entries on disk.
    var isIndexed = false
    private var entries: [RowIndexes.Entry] = []

    init(_ fold: any Fold, _ indexes: RowIndexes) { (self.fold, self.indexes) = (fold, indexes) }

    /// - Parameter old: the row's text; nil if there is no row.
    mutating func take(_ operations: borrowing RowOperations, on old: RawSpan?, _ sums: inout FollowSums) throws -> Int64 {
        state.removeAll()
        if let old { try fold.open(old, into: &state, &workspace) }
        isChanged = Self.take(operations, fold, &sums.rejections, &state, &workspace)
        json.removeAll()
        Self.render(state, fold, into: &json)
        if let old {
            if json.count > 0, old.equals(json.bytes) { isChanged = false }
            if isChanged { sums.digest.remove(key: operations.key, value: old) }
        } else if json.count == 0 {
            isChanged = false
        }
        if !isChanged { return 0 }
        if isIndexed { entries = if let old { indexes.entries(operations.key, old) } else { [] } }
        if json.count > 0 { sums.digest.insert(key: operations.key, value: json.bytes) }
        return (json.count > 0 ? 1 : 0) - (old == nil ? 0 : 1)
    }

    private static func take(
        _ operations: borrowing RowOperations, _ fold: any Fold, _ rejections: inout [Rejection], _ state: inout ByteBuffer,
        _ workspace: inout FoldWorkspace
    ) -> Bool {
        var isChanged = false
        for offset in operations.offsets {
            let operation = operations.bytes.slice(offset, Operation.size(operations.bytes, at: offset))
            do throws(FoldError) {
                switch try fold.apply(operation, to: state.bytes, &workspace) {
                case .unchanged: continue
                case .changed: swap(&state, &workspace.output)
                case .deleted: state.removeAll()
                }
                isChanged = true
            } catch { rejections.append(Rejection(operation, error)) }
        }
        return isChanged
    }

    private static func render(_ state: borrowing ByteBuffer, _ fold: any Fold, into json: inout ByteBuffer) {
        if state.count > 0 { fold.render(state.bytes, into: &json) }
    }

    /// Writes the row if it has changed, or deletes it if it was removed.
    func write(_ key: RawSpan, _ generation: Generation, _ transaction: inout WriteTransaction) throws {
        if !isChanged { return }
        if json.count > 0 {
            try generation.rows.put(key, json.bytes, &transaction)
        } else {
            try generation.rows.delete(key, &transaction)
        }
        guard let table = generation.indexes else { return }
        let now = json.count > 0 ? indexes.entries(key, json.bytes) : []
        for entry in entries where !now.contains(entry) {
            // An older program has written some numbers in another form.
            guard try table.delete(entry.key.lent, &transaction) else {
                throw generation.damaged("the index \(indexes.list[Int(entry.key[0])].name) lacks the entry of a row")
            }
        }
        for entry in now where !entries.contains(entry) { try table.put(entry.key.lent, entry.text.lent, &transaction) }
    }
}
