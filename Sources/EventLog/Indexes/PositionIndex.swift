internal import Bytes
internal import EventModel
internal import LMDB

/// An opened index from keys to positions (`TableDescriptor.Index.positions`): an index that not every store has.
///
///     0            u32 epoch, u64 position: how far the table is written
///     1, key       u64 position
///
/// A row of its own says how far the index is written; `indexed` can't say it. Programs that don't know the index move `indexed` and cut
/// the log without it, and a new table is as empty as that of a log in which no event has a key.
struct PositionIndex: Sendable {
    let name: String
    /// The key of an event; nil where the event has none.
    let key: @Sendable (RecordView) -> [UInt8]?
    /// Nil where the store lacks the table and is open for reading only.
    private let rows: RowTable?

    private static let markKey: [UInt8] = [0]

    /// The answer of a lookup.
    enum Answer: Hashable {
        case at(Position)
        case nowhere
        /// The store lacks the index or a part of it: only a scan of the log can answer.
        case unknown
    }

    init(_ name: String, _ rows: RowTable?, _ key: @escaping @Sendable (RecordView) -> [UInt8]?) {
        (self.name, self.rows, self.key) = (name, rows, key)
    }

    /// How far the index is written, and in which epoch; nil where it was never written.
    func mark(_ transaction: borrowing ReadTransaction) throws -> Checkpoint? {
        guard let rows, let row = try rows.get(Self.markKey.lent, transaction) else { return nil }
        guard row.byteCount == 12 else { throw Indexes.damaged(name) }
        return Checkpoint(epoch: Epoch(row.load(UInt32.self, at: 0)), position: Position(row.load(UInt64.self, at: 4)))
    }

    func put(mark: Checkpoint, _ transaction: inout WriteTransaction) throws {
        let row = bytes(mark.epoch.rawValue) + bytes(mark.position.rawValue)
        try rows?.put(Self.markKey.lent, row.lent, &transaction)
    }

    func put(_ key: [UInt8], _ position: UInt64, _ transaction: inout WriteTransaction) throws {
        try rows?.put(([1] + key).lent, bytes(position).lent, &transaction)
    }

    func remove(_ key: [UInt8], _ transaction: inout WriteTransaction) throws { try rows?.delete(([1] + key).lent, &transaction) }

    func removeAll(_ transaction: inout WriteTransaction) throws { try rows?.removeAll(&transaction) }

    /// Looks up a key in the index's table.
    func find(_ key: [UInt8], _ numbers: StateRows.Numbers, _ transaction: borrowing ReadTransaction) throws -> Answer {
        guard let rows, try mark(transaction) == numbers.indexedTo else { return .unknown }
        guard let row = try rows.get(([1] + key).lent, transaction) else { return .nowhere }
        guard row.byteCount == 8 else { throw Indexes.damaged(name) }
        return .at(Position(row.load(UInt64.self, at: 0)))
    }
}

extension PositionIndex: PositionRows {
    func forEachPosition(_ transaction: borrowing ReadTransaction, _ body: (_ key: RawSpan, _ position: UInt64) throws -> Bool) throws {
        try rows?.forEach(from: [1], transaction) { key, row in
            guard row.byteCount == 8 else { throw Indexes.damaged(name) }
            return try body(key.slice(1, key.byteCount - 1), row.load(UInt64.self, at: 0))
        }
    }
}

extension StateRows.Numbers {
    /// How far every complete index is written.
    var indexedTo: Checkpoint { Checkpoint(epoch: epoch, position: indexed) }
}

extension LogSnapshot {
    /// Looks up a key in an index and in the overlay of the entries that its table lacks.
    func find(
        _ key: [UInt8], in index: PositionIndex, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> PositionIndex.Answer {
        let found = try overlay.look(asOf: last, transaction, access) { $0.positions[index.name]?[key] }.answer
        let answer = try found.map { .at(Position($0)) } ?? index.find(key, numbers, transaction)
        if case .at(let position) = answer, position > last { return .nowhere }
        return answer
    }
}
