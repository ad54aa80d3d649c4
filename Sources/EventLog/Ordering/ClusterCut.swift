internal import Bytes
package import EventModel
package import Hashing
internal import LMDB

/// A cut of the log that is ordered like every other change of a cluster: the node that requests it adds a frame without blocks, and each
/// node, including that one, makes the cut when it takes in the frame. In the frame it is the first row, with the name "cut" and the key
/// "shared":
///
///     0   u64  the last position that stays
///     8   u32  the epoch that begins
///     12  32   the link of the last block that is left
///     44       UTF-8, to what and by which node
package struct ClusterCut: Hashable, Sendable {
    package var position: Position
    package var epoch: Epoch
    package var link: Digest
    package var note: String

    static let name = "cut"
    static let key: [UInt8] = Array("shared".utf8)
    private static let fixedBytes = 44

    init(at position: Position, _ epoch: Epoch, link: Digest, note: String) {
        (self.position, self.epoch, self.link, self.note) = (position, epoch, link, note)
    }

    var value: [UInt8] { bytes(position.rawValue) + bytes(epoch.rawValue) + link.bytes + Array(note.utf8) }

    /// - Throws: `FrameDamage`.
    init(_ value: RawSpan) throws {
        guard value.byteCount >= Self.fixedBytes, let link = Digest(value.slice(12, 32)),
            let note = String(utf8: value.slice(Self.fixedBytes, value.byteCount - Self.fixedBytes))
        else { throw FrameDamage("its cut is invalid") }
        self.init(at: Position(value.load(UInt64.self, at: 0)), Epoch(value.load(UInt32.self, at: 8)), link: link, note: note)
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

extension ClusterCut {
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
}

extension Cut {
    /// Makes a cut that the cluster log has ordered.
    /// - Throws: `FrameDamage` where this node's log is not the one that was to be cut.
    static func run(_ cut: ClusterCut, _ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        try cut.check(transaction.reads, access)
        var state = try StateRows.state(transaction.reads, access.tables)
        let (_, indexed) = try run(to: cut.position, &transaction, access)
        try Epochs.put(cut.epoch, cut: cut.position, link: cut.link, &transaction, access.tables)
        (state.epoch, state.indexed) = (cut.epoch, indexed)
        // Each generation is checked before it is used again: one that has gone beyond the cut is built anew.
        state.generations = [:]
        try StateRows.put(state, &transaction, access.tables)
    }
}
