internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// A cut in a frame without blocks is the first row, with the name "cut" and the key "shared":
///
///     0   u64  the last position that stays
///     8   u32  the epoch that begins
///     12  32   the link of the last block that is left
///     44       UTF-8, to what and by which node
extension ClusterCut {
    static let name = "cut"
    static let key: [UInt8] = Array("shared".utf8)
    private static let fixedBytes = 44

    var value: [UInt8] { bytes(position.rawValue) + bytes(epoch.rawValue) + link.bytes + Array(note.utf8) }

    /// - Throws: `FrameDamage`.
    init(_ value: RawSpan) throws {
        guard value.byteCount >= Self.fixedBytes, let link = Digest(value.slice(12, 32)),
            let note = String(utf8: value.slice(Self.fixedBytes, value.byteCount - Self.fixedBytes))
        else { throw FrameDamage("its cut is invalid") }
        self.init(at: Position(value.load(UInt64.self, at: 0)), Epoch(value.load(UInt32.self, at: 8)), link: link, note: note)
    }

    /// Checks that this node's log is the one that was to be cut, before anything is changed.
    /// - Throws: `FrameDamage`.
    func check(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws {
        let state = try StateRows.state(transaction, access.tables)
        let last = try Blocks.last(transaction, access)
        guard epoch > state.epoch, epoch.rawValue < .max, position <= last else {
            throw FrameDamage("its cut at position \(position) does not follow epoch \(state.epoch), position \(last)")
        }
        guard try Cut.link(at: position, transaction, access) == link else {
            throw FrameDamage("its cut at position \(position) leaves another log than the other nodes have")
        }
    }

    /// Makes the cut on this node.
    /// - Throws: `FrameDamage` where this node's log is not the one that was to be cut.
    func make(_ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        try check(transaction.reads, access)
        var state = try StateRows.state(transaction.reads, access.tables)
        let (_, indexed) = try Cut.run(to: position, &transaction, access)
        try Epochs.put(epoch, cut: position, link: link, &transaction, access.tables)
        (state.epoch, state.indexed) = (epoch, indexed)
        // Each generation is checked before it is used again: one that has gone beyond the cut is built anew.
        state.generations = [:]
        try StateRows.put(state, &transaction, access.tables)
    }
}

extension ClusterFrame {
    /// The cut that the frame requests; nil where it requests none.
    /// - Throws: `FrameDamage`.
    var cut: ClusterCut? {
        get throws {
            var reading = SharedRows.Reading(rows)
            guard let row = try reading.next(), row.name == ClusterCut.name else { return nil }
            return try ClusterCut(row.value)
        }
    }

    /// Whether bytes that were not checked yet look like a frame that requests a cut.
    package static func mayCut(_ bytes: [UInt8]) -> Bool {
        let first = [UInt8(ClusterCut.name.utf8.count)] + Array(ClusterCut.name.utf8)
        return hasRows(bytes) && bytes.dropFirst(headerBytes).starts(with: first)
    }
}
