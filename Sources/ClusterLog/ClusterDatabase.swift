internal import Bytes
internal import EventLog
package import EventModel
package import Hashing
internal import PostgreSQL

/// The row of a cluster log.
package struct ClusterRow: Hashable, Sendable {
    package var id: [UInt8]
    package var store: [UInt8]
    package var end: FrameEnd
    package var last: Checkpoint
    /// Whether all that it was made of has been copied.
    package var isReady: Bool
}

/// A node as it has reported itself.
package struct ReportedNode: Hashable, Sendable {
    package var name: String
    package var live: SchemaVersion
    package var position: Position
    package var frame: UInt64
    package var program: String
    package var secondsAgo: Int
}

/// The tables of a cluster log, as commands use them beside the frames.
package final class ClusterDatabase {
    private static let interval = Duration.seconds(30)
    package let log: String
    package let conninfo: String
    private let connection: ClusterConnection

    package init(log: String, _ conninfo: String) {
        (self.log, self.conninfo) = (log, conninfo)
        connection = ClusterConnection(log: log, conninfo, application: "evstore")
    }

    private var deadline: ContinuousClock.Instant { .now + Self.interval }

    private func change(_ sql: String, _ values: [PostgresValue]) throws(EvstoreError) {
        try connection.ask(sql, values, by: deadline) { _ throws(EvstoreError) in }
    }

    /// The row; nil where there is no cluster log of the name.
    package func row() throws(EvstoreError) -> ClusterRow? {
        try connection.ask(FrameTable.row, [.text(log)], by: deadline) { rows throws(EvstoreError) in
            guard rows.count == 1 else { return nil }
            if let format = rows.int(0, 0), format > FrameTable.format {
                throw .storeNewer(path: "the cluster log \(self.log)", format: Int(format), known: Int(FrameTable.format))
            }
            guard let id = rows.bytes(0, 1), let store = rows.bytes(0, 2), let frame = rows.int(0, 3), let link = rows.bytes(0, 4),
                let epoch = rows.int(0, 5), let position = rows.int(0, 6), let ready = rows.int(0, 7), id.count == 16, link.count == 32
            else { throw .clusterDamaged(log: self.log, frame: 0, reason: "its row is not one") }
            return ClusterRow(
                id: id, store: store, end: FrameEnd(number: UInt64(frame), link: link),
                last: Checkpoint(epoch: Epoch(UInt32(clamping: epoch)), position: Position(UInt64(position))), isReady: ready != 0)
        }
    }

    /// The row of a cluster log that can be joined.
    /// - Throws: `EvstoreError`: usage where there is none, clusterMismatch where it is not whole yet.
    package func readyRow() throws(EvstoreError) -> ClusterRow {
        let found: ClusterRow?
        do { found = try row() } catch EvstoreError.clusterMismatch(_, let reason, let how) {
            throw .clusterMismatch(log: log, reason: reason, how: how)
        }
        guard let found else { throw .usage("the database has no cluster log \(quoted(log))", fix: "make one first, or name another") }
        guard found.isReady else {
            throw .clusterMismatch(
                log: log, reason: "what it is made of is still being copied, or that was interrupted",
                how: "wait for it, or copy the store again")
        }
        return found
    }

    /// Makes the tables where they are not there, and a row that no node can join yet. One that an interrupted copy of the same store has
    /// left is begun anew.
    /// - Throws: `EvstoreError.usage` where there is a cluster log of the name.
    package func begin(store: [UInt8]) throws(EvstoreError) -> Membership {
        for sql in FrameTable.creating { try change(sql, []) }
        if let row = try row() {
            guard !row.isReady, row.store == store else {
                throw .usage("there is already a cluster log \(quoted(log))", fix: "join it, or choose another name")
            }
        }
        try change(FrameTable.removeUnready, [.text(log)])
        try change(FrameTable.removeFrames, [.text(log)])
        try change(FrameTable.removeNodes, [.text(log)])
        let id = StoreID.make().bytes
        try change(
            FrameTable.insert,
            [.text(log), .int(FrameTable.format), .bytes(id), .bytes(store), .bytes(FrameEnd.start.link)])
        guard try row()?.id == id else {
            throw .usage("another program makes a cluster log \(quoted(log)) just now", fix: "choose another name")
        }
        return Membership(log: log, id: id, node: "")
    }

    package func finish(_ id: [UInt8]) throws(EvstoreError) { try change(FrameTable.ready, [.text(log), .bytes(id)]) }

    /// The nodes as they have reported themselves, by name.
    package func nodes() throws(EvstoreError) -> [ReportedNode] {
        try connection.ask(FrameTable.nodes, [.text(log)], by: deadline) { rows throws(EvstoreError) in
            (0 ..< rows.count).map { row in
                ReportedNode(
                    name: rows.text(row, 0) ?? "", live: SchemaVersion(UInt32(clamping: rows.int(row, 1) ?? 0)),
                    position: Position(UInt64(rows.int(row, 2) ?? 0)), frame: UInt64(rows.int(row, 3) ?? 0),
                    program: rows.text(row, 4) ?? "",
                    secondsAgo: Int(rows.int(row, 5) ?? 0))
            }
        }
    }

    package func forget(node: String) throws(EvstoreError) { try change(FrameTable.removeNode, [.text(log), .text(node)]) }

    /// Whether every frame up to the end is there: one pass over an index.
    /// - Throws: `EvstoreError.clusterDamaged` where one is missing.
    package func requireWhole(_ row: ClusterRow) throws(EvstoreError) {
        let end = Int64(row.end.number)
        try connection.ask(FrameTable.whole, [.text(log), .int(end)], by: deadline) { rows throws(EvstoreError) in
            let (count, first) = (rows.int(0, 0) ?? 0, rows.int(0, 1) ?? 0)
            if count == end, first == 1 || end == 0 { return }
            throw .clusterDamaged(log: self.log, frame: 0, reason: "\(count) of \(end) frames are there")
        }
    }

    /// A frame's last position, and the position and the link of its last block where it has blocks; nil where the frame is missing.
    package func blockEnd(ofFrame number: UInt64) throws(EvstoreError) -> (last: Position, link: Digest?)? {
        try connection.ask(FrameTable.frame, [.text(log), .int(Int64(number))], by: deadline) { rows throws(EvstoreError) in
            guard rows.count == 1, let bytes = rows.bytes(0, 0) else { return nil }
            return ClusterFrame.blockEnd(of: bytes)
        }
    }
}
