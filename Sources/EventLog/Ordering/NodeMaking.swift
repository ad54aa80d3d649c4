internal import Bytes
package import EventModel
internal import LMDB

/// A log that is being made as a node, in a directory that nobody else sees yet.
extension LogAccess {
    /// Makes it a node that has no frames yet.
    package func become(_ membership: Membership) throws {
        try environment.writeOwned { transaction in
            var transaction = transaction
            try StateRows.put(StateRows.Node(membership: membership, end: .start, last: .start), &transaction, tables)
        }
    }

    /// Takes in the frames that follow what it has; returns the end of the last.
    /// - Throws: `EvstoreError.clusterDamaged`.
    package func takeIn(_ frames: [[UInt8]]) throws -> (end: FrameEnd, last: Position) {
        try environment.writeOwned { transaction in
            var transaction = transaction
            guard var node = try StateRows.node(transaction.reads, tables) else { throw EvstoreError.misuse("the log is no node") }
            for frame in frames { node = try FrameIntake.run(frame.lent, node, &transaction, self) }
            return (node.end, try Blocks.last(transaction.reads, self))
        }
    }
}

extension LogUpdate {
    /// Makes the store the first node of a cluster log that has all of its events, up to a frame.
    package mutating func become(_ membership: Membership, at end: FrameEnd) throws {
        try requireOwn()
        try StateRows.put(StateRows.Node(membership: membership, end: end, last: last.position), &transaction, access.tables)
        try putNode(membership.node, live: state.live)
    }
}

extension EventLog {
    /// Gives a whole log as the frames of a new cluster log: the rows first, then the blocks.
    /// - Parameter node: the row of the first node, which is added to the rows; nil where there is none yet.
    package func frames(node: NodeRow?, _ body: (NewFrame) throws -> Void) throws -> FrameEnd {
        do {
            var end = FrameEnd.start
            var rows = ByteBuffer()
            let last = try read { reader in
                try SharedRows.appendAll(reader.transaction, reader.access.tables, to: &rows)
                return reader.last
            }
            if let node { SharedRows.append(Catalogue.notes.rawValue, NodeRow.key(node.name), NodeRow.value(node.live), to: &rows) }
            func give(_ position: Position, _ rows: RawSpan, _ blocks: RawSpan) throws {
                let frame = ClusterFrame.encoded(after: end, Checkpoint(epoch: last.epoch, position: position), rows: rows, blocks: blocks)
                try body(frame)
                end = frame.end
            }
            try give(.start, rows.bytes, RawSpan())
            var done = Position.start
            var blocks = ByteBuffer(capacity: Self.frameBytesWanted)
            while done < last.position {
                blocks.removeAll()
                try read { reader in
                    try reader.rawBlocks(from: done.next) { block in
                        blocks.append(block.bytes)
                        done = block.last
                        return blocks.count < Self.frameBytesWanted && done < last.position
                    }
                }
                try give(done, RawSpan(), blocks.bytes)
            }
            return end
        } catch { throw storeError(error, path, doing: "copying \(path) to a cluster log") }
    }

    private static let frameBytesWanted = 4 << 20
}

extension LogReader {
    /// Lends blocks as they lie there, from the one that begins at `first` on, until `body` returns false.
    func rawBlocks(from first: Position, _ body: (borrowing BlockView) throws -> Bool) throws {
        var cursor = try transaction.cursor(access.tables.blocks)
        var isThere = try cursor.seek(first.rawValue)
        while isThere {
            if try !body(Blocks.view(cursor, access)) { return }
            isThere = try cursor.next()
        }
    }
}
