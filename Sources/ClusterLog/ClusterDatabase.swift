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
    private static let interval = Duration.seconds(60)
    /// Who asks a server that is not there is told so soon.
    private static let connectInterval = Duration.seconds(5)
    package let log: String
    package let conninfo: String
    private let connection: ClusterConnection

    package init(log: String, _ conninfo: String) {
        (self.log, self.conninfo) = (log, conninfo)
        connection = ClusterConnection(log: log, conninfo, application: "evstore")
    }

    private func ask<R>(
        _ sql: String, _ values: [PostgresValue], _ body: (borrowing PostgresRows) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> R {
        try connection.connect(by: .now + Self.connectInterval)
        return try connection.ask(sql, values, by: .now + Self.interval, body)
    }

    private func change(_ sql: String, _ values: [PostgresValue]) throws(EvstoreError) {
        try ask(sql, values) { _ throws(EvstoreError) in }
    }

    /// The row; nil where there is no cluster log of the name.
    package func row() throws(EvstoreError) -> ClusterRow? {
        try ask(FrameTable.row, [.text(log)]) { rows throws(EvstoreError) in
            guard rows.count == 1 else { return nil }
            if let format = rows.int(0, 0), format > FrameTable.format {
                throw .storeNewer(path: "the cluster log \(self.log)", format: Int(format), known: Int(FrameTable.format))
            }
            guard let id = rows.bytes(0, 1), let store = rows.bytes(0, 2), let frame = rows.int(0, 3), let link = rows.bytes(0, 4),
                let epoch = rows.int(0, 5), let position = rows.int(0, 6), let ready = rows.int(0, 7), id.count == 16, link.count == 32
            else { throw .clusterDamaged(log: self.log, frame: 0, reason: "its row is not one") }
            return ClusterRow(
                id: id, store: store, end: FrameEnd(number: UInt64(clamping: frame), link: link),
                last: Checkpoint(epoch: Epoch(UInt32(clamping: epoch)), position: Position(UInt64(clamping: position))), isReady: ready != 0
            )
        }
    }

    /// The row of a cluster log that can be joined.
    /// - Throws: `EvstoreError`: usage where there is none, clusterMismatch where it is not whole yet.
    package func readyRow() throws(EvstoreError) -> ClusterRow {
        guard let found = try row() else {
            throw .usage("the database has no cluster log \(quoted(log))", fix: "make one first, or name another")
        }
        guard found.isReady else {
            throw .clusterMismatch(
                log: log, reason: "what it is made of is still being copied, or that was interrupted",
                how: "wait for it, or copy the store again")
        }
        return found
    }

    /// Makes the tables where they are not there, and a row that no node can join yet. One that was left before it was ready is begun anew;
    /// whoever is still at it finds that its frames follow nothing any more.
    /// - Throws: `EvstoreError.usage` where there is a cluster log of the name.
    package func begin(store: [UInt8], node: String) throws(EvstoreError) -> Membership {
        for sql in FrameTable.creating { try change(sql, []) }
        for sql in [FrameTable.removeUnready, FrameTable.removeFrames, FrameTable.removeNodes] { try change(sql, [.text(log)]) }
        let membership = Membership(log: log, id: StoreID.make().bytes, node: node)
        try change(
            FrameTable.insert,
            [.text(log), .int(FrameTable.format), .bytes(membership.id), .bytes(store), .bytes(FrameEnd.start.link)])
        guard try row()?.id == membership.id else {
            throw .usage("there is already a cluster log \(quoted(log))", fix: "join it, or choose another name")
        }
        return membership
    }

    package func finish(_ id: [UInt8]) throws(EvstoreError) { try change(FrameTable.ready, [.text(log), .bytes(id)]) }

    /// The nodes as they have reported themselves, by name.
    package func nodes() throws(EvstoreError) -> [ReportedNode] {
        try ask(FrameTable.nodes, [.text(log)]) { rows throws(EvstoreError) in
            (0 ..< rows.count).map { row in
                ReportedNode(
                    name: rows.text(row, 0) ?? "", live: SchemaVersion(UInt32(clamping: rows.int(row, 1) ?? 0)),
                    position: Position(UInt64(clamping: rows.int(row, 2) ?? 0)), frame: UInt64(clamping: rows.int(row, 3) ?? 0),
                    program: rows.text(row, 4) ?? "",
                    secondsAgo: Int(rows.int(row, 5) ?? 0))
            }
        }
    }

    package func forget(node: String) throws(EvstoreError) { try change(FrameTable.removeNode, [.text(log), .text(node)]) }

    /// Whether every frame up to the end is there: one pass over an index.
    /// - Throws: `EvstoreError.clusterDamaged` where one is missing.
    package func requireWhole(_ row: ClusterRow) throws(EvstoreError) {
        let end = Int64(clamping: row.end.number)
        try ask(FrameTable.whole, [.text(log), .int(end)]) { rows throws(EvstoreError) in
            let (count, first) = (rows.int(0, 0) ?? 0, rows.int(0, 1) ?? 0)
            if count == end, first == 1 || end == 0 { return }
            throw .clusterDamaged(log: self.log, frame: 0, reason: "\(count) of \(end) frames are there")
        }
    }

    /// The frames of the newest epoch up to one that there are; nil where all are of later ones. Positions rise within an epoch, and a cut
    /// takes them back.
    package func frames(upTo epoch: Epoch, of row: ClusterRow) throws(EvstoreError) -> (epoch: Epoch, numbers: ClosedRange<UInt64>)? {
        let behind = try firstFrame(row) { $0 > epoch }
        guard behind > 1, let own = try head(behind - 1) else { return nil }
        return (own.epoch, try firstFrame(row) { $0 >= own.epoch } ... behind - 1)
    }

    /// The first frame of an epoch that is wanted, by halves; the number behind the last one where none is.
    private func firstFrame(_ row: ClusterRow, _ isWanted: (Epoch) -> Bool) throws(EvstoreError) -> UInt64 {
        var (low, high) = (UInt64(1), row.end.number + 1)
        while low < high {
            let middle = (low + high) / 2
            if let found = try head(middle), !isWanted(found.epoch) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func head(_ number: UInt64) throws(EvstoreError) -> ClusterFrame.Head? {
        try ask(FrameTable.head, [.text(log), .int(Int64(clamping: number))]) { rows throws(EvstoreError) in
            rows.count == 1 ? rows.bytes(0, 1).flatMap { ClusterFrame.Head($0) } : nil
        }
    }

    /// Where the last frame ends that a log at a checkpoint has to the end, and that frame's own last position; its link is proved by the
    /// frame behind it.
    /// - Throws: `EvstoreError.clusterWentBack` where the cluster log ends before the checkpoint, or does not know its epoch.
    package func end(before seen: Checkpoint, _ row: ClusterRow) throws(EvstoreError) -> (end: FrameEnd, last: Position) {
        guard let range = try frames(upTo: seen.epoch, of: row), range.epoch == seen.epoch,
            let last = try head(range.numbers.upperBound)?.last, last >= seen.position
        else { throw .clusterWentBack(log: log, cluster: row.last.position, node: seen.position) }
        let values: [PostgresValue] = [
            .text(log), .int(Int64(clamping: seen.position.rawValue)), .int(Int64(clamping: range.numbers.lowerBound)),
            .int(Int64(clamping: range.numbers.upperBound)),
        ]
        // A log that has nothing but the cut which began its epoch has that frame to the end.
        let first = range.numbers.lowerBound > 1 ? try head(range.numbers.lowerBound) : nil
        return try ask(FrameTable.frameBefore, values) { rows throws(EvstoreError) in
            guard rows.count == 1 else { return first.map { ($0.end, $0.last) } ?? (.start, .start) }
            guard let number = rows.int(0, 0), let last = rows.int(0, 1), let link = rows.bytes(0, 2), link.count == 32 else {
                throw .clusterDamaged(log: self.log, frame: UInt64(clamping: rows.int(0, 0) ?? 0), reason: "it is none")
            }
            return (FrameEnd(number: UInt64(clamping: number), link: link), Position(UInt64(clamping: last)))
        }
    }

    /// A frame's last position, and the position and the link of its last block where it has blocks; nil where the frame is missing.
    package func blockEnd(ofFrame number: UInt64) throws(EvstoreError) -> (last: Position, link: Digest?)? {
        try ask(FrameTable.frame, [.text(log), .int(Int64(clamping: number))]) { rows throws(EvstoreError) in
            guard rows.count == 1, let bytes = rows.bytes(0, 0) else { return nil }
            return ClusterFrame.blockEnd(of: bytes)
        }
    }
}
