internal import Bytes
internal import EventModel
internal import LMDB

/// The rows that a commit's appends write beside their events.
struct AttachedRows {
    private let access: LogAccess
    private var rows: [(catalogue: Catalogue, key: [UInt8], value: [UInt8])] = []
    /// The rows that all nodes of a cluster share, in the form of a frame.
    private(set) var shared: [UInt8] = []

    init(_ access: LogAccess) { self.access = access }

    var isEmpty: Bool { rows.isEmpty }

    /// - Parameter last: the append's last position.
    mutating func add(_ row: AttachedRow, last: Position, _ transaction: borrowing ReadTransaction) throws {
        try Rows.check(row.key, row.catalogue)
        var value = row.value
        if row.catalogue == .imports {
            // A mark belongs to the first append of its lines: a cut that keeps that append and removes a repeated one must keep the mark.
            if rows.contains(where: { $0.catalogue == .imports && $0.key == row.key }) { return }
            if try access.tables[.imports].get(row.key.lent, transaction) != nil { return }
            // A cut has to know which import marks lie beyond it.
            value = bytes(last.rawValue) + value
        }
        rows.append((row.catalogue, row.key, value))
        guard SharedRows.has(row.catalogue, row.key) else { return }
        var text = ByteBuffer(capacity: 64)
        SharedRows.append(row.catalogue.rawValue, row.key, value, to: &text)
        shared += text.array()
    }

    func put(_ transaction: inout WriteTransaction) throws {
        for row in rows { try access.tables[row.catalogue].put(row.key.lent, row.value.lent, &transaction) }
    }
}
