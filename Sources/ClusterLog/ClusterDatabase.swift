internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import Platform
internal import PostgreSQL

package struct ClusterRow: Hashable, Sendable {
    package var id: [UInt8]
    package var store: [UInt8]
    package var end: ClusterLogEnd
    package var last: Checkpoint
    /// Whether the copy that it was made from is complete.
    package var isReady: Bool
    /// The number of the last pruned frame; 0 if all frames are there.
    package var pruned: UInt64
}

/// A node's last report about itself.
package struct ReportedNode: Hashable, Sendable {
    package var name: String
    package var live: SchemaVersion
    package var position: Position
    package var frame: UInt64
    package var program: String
    /// How long ago it was, in whole seconds.
    package var silence: Duration
}

/// The tables of a cluster log, for commands.
package final class ClusterDatabase {
    private static let interval = Duration.seconds(60)
    /// How soon a caller gets an error if the server can't be reached.
    private static let connectInterval = Duration.seconds(5)
    package let log: String
    package let conninfo: String
    private let connection: ClusterConnection

    /// For a future node: refuses frames that register something that no program could read.
    let judge: CatalogueValidator?

    package init(log: String, _ conninfo: String, judge: CatalogueValidator? = nil) {
        (self.log, self.conninfo, self.judge) = (log, conninfo, judge)
        connection = ClusterConnection(log: log, conninfo, application: "evstore")
    }

    private func ask<R>(
        _ statement: PostgresStatement, _ values: [PostgresValue], _ body: (borrowing PostgresRows) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> R {
        try connection.connect(by: .now + Self.connectInterval)
        return try connection.ask(statement, values, by: .now + Self.interval, body)
    }

    func change(_ statement: PostgresStatement, _ values: [PostgresValue]) throws(EvstoreError) {
        try ask(statement, values) { _ throws(EvstoreError) in }
    }

    /// The row; nil where there is no cluster log of this name.
    package func row() throws(EvstoreError) -> ClusterRow? {
        try ask(FrameTable.row, [.text(log)]) { rows throws(EvstoreError) in
            guard let format = rows.int(0, 0) else { return nil }
            try FrameTable.requireKnown(format, self.log)
            guard let id = rows.bytes(0, 1), let store = rows.bytes(0, 2), let frame = rows.int(0, 3), let link = rows.bytes(0, 4),
                let epoch = rows.int(0, 5), let position = rows.int(0, 6), let ready = rows.int(0, 7), let pruned = rows.int(0, 8)
            else { return nil }
            return ClusterRow(
                id: id, store: store, end: ClusterLogEnd(number: UInt64(clamping: frame), link: link),
                last: Checkpoint(epoch: Epoch(UInt32(clamping: epoch)), position: Position(UInt64(clamping: position))),
                isReady: ready != 0, pruned: UInt64(clamping: pruned))
        }
    }

    /// The row of a cluster log that can be joined.
    /// - Throws: `EvstoreError`: usage where there is none, clusterMismatch where it is not complete yet.
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

    /// Makes the tables if they are missing, and a row that no node can join yet. A row that was left before it was ready is begun anew; a
    /// process that still works on it finds that its frames no longer follow.
    /// - Throws: `EvstoreError.usage` where there is a cluster log of this name.
    package func begin(store: [UInt8], node: String) throws(EvstoreError) -> ClusterMembership {
        // A role that may use the tables need not have the right to make them.
        let hasTables = try ask(FrameTable.newest, []) { rows throws(EvstoreError) in rows.int(0, 0) == FrameTable.newestColumns }
        if !hasTables { for statement in FrameTable.creating { try change(statement, []) } }
        for statement in [FrameTable.removeUnready, FrameTable.removeFrames, FrameTable.removeNodes] { try change(statement, [.text(log)]) }
        let membership = ClusterMembership(log: log, id: StoreID.make().bytes, node: node)
        try change(
            FrameTable.insert,
            [.text(log), .int(FrameTable.format), .bytes(membership.id), .bytes(store), .bytes(ClusterLogEnd.start.link)])
        guard try row()?.id == membership.id else {
            throw .usage("there is already a cluster log \(quoted(log))", fix: "join it, or choose another name")
        }
        return membership
    }

    package func finish(_ id: [UInt8]) throws(EvstoreError) { try change(FrameTable.ready, [.text(log), .bytes(id)]) }

    /// The last reports of the nodes about themselves, by name.
    package func nodes() throws(EvstoreError) -> [ReportedNode] {
        try ask(FrameTable.nodes, [.text(log)]) { rows throws(EvstoreError) in
            (0 ..< rows.count).map { row in
                ReportedNode(
                    name: rows.text(row, 0) ?? "", live: SchemaVersion(UInt32(clamping: rows.int(row, 1) ?? 0)),
                    position: Position(UInt64(clamping: rows.int(row, 2) ?? 0)), frame: UInt64(clamping: rows.int(row, 3) ?? 0),
                    program: rows.text(row, 4) ?? "",
                    silence: .seconds(rows.int(row, 5) ?? 0))
            }
        }
    }

    package func forget(node: String) throws(EvstoreError) { try change(FrameTable.removeNode, [.text(log), .text(node)]) }

    /// Checks that every frame up to the end is there, except pruned ones: one pass over an index.
    /// - Throws: `EvstoreError.clusterDamaged` where a frame is missing.
    package func requireWhole(_ row: ClusterRow) throws(EvstoreError) {
        let (pruned, end) = (Int64(clamping: row.pruned), Int64(clamping: row.end.number))
        let range: [PostgresValue] = [.text(log), .int(pruned), .int(end)]
        let wanted = end.minus(pruned)
        let (count, first) = try ask(FrameTable.whole, range) { rows throws(EvstoreError) in (rows.int(0, 0) ?? 0, rows.int(0, 1) ?? 0) }
        if count == wanted, first == (wanted > 0 ? pruned + 1 : 0) { return }
        var missing: Int64? = pruned + 1
        if first == missing {
            missing = try ask(FrameTable.missing, range) { rows throws(EvstoreError) in rows.count > 0 ? rows.int(0, 0) : nil }
        }
        throw .clusterDamaged(
            log: log, frame: UInt64(clamping: missing ?? end), reason: "it is missing: \(count) of \(wanted) frames are there")
    }

    /// The newest epoch up to a given one that has frames, and the numbers of its frames; nil where all frames are of later epochs.
    /// Positions rise within an epoch, and a cut moves them back.
    package func frames(upTo epoch: Epoch, of row: ClusterRow) throws(EvstoreError) -> (epoch: Epoch, numbers: ClosedRange<UInt64>)? {
        let behind = try firstFrame(row) { $0 > epoch }
        guard behind > row.pruned + 1, let own = try head(behind - 1), own.epoch <= epoch else { return nil }
        let first = try firstFrame(row) { $0 >= own.epoch }
        guard first < behind else { throw .clusterDamaged(log: log, frame: first, reason: "the epochs of its frames do not rise") }
        return (own.epoch, first ... behind - 1)
    }

    /// The first frame of a wanted epoch, by binary search; the number after the last frame where there is none.
    private func firstFrame(_ row: ClusterRow, _ isWanted: (Epoch) -> Bool) throws(EvstoreError) -> UInt64 {
        var (low, high) = (row.pruned + 1, row.end.number + 1)
        while low < high {
            let middle = low + (high - low) / 2
            if let found = try head(middle), !isWanted(found.epoch) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func head(_ number: UInt64) throws(EvstoreError) -> ClusterFrame.Head? {
        try connection.connect(by: .now + Self.connectInterval)
        return try connection.head(number, by: .now + Self.interval)
    }

    /// The end of the last frame that a log at a checkpoint has completely, and that frame's last position; its link is proved by the next
    /// frame.
    /// - Throws: `EvstoreError.clusterWentBack` where the cluster log ends before the checkpoint, or does not know its epoch.
    package func end(before seen: Checkpoint, _ row: ClusterRow) throws(EvstoreError) -> (end: ClusterLogEnd, last: Position) {
        guard let range = try frames(upTo: seen.epoch, of: row), range.epoch == seen.epoch,
            let last = try head(range.numbers.upperBound)?.last, last >= seen.position
        else { throw .clusterWentBack(log: log, cluster: row.last.position, node: seen.position) }
        let values: [PostgresValue] = [
            .text(log), .int(Int64(clamping: seen.position.rawValue)), .int(Int64(clamping: range.numbers.lowerBound)),
            .int(Int64(clamping: range.numbers.upperBound)),
        ]
        // If the log has nothing of its epoch but the cut that began it, it has that frame completely.
        var isWhole = range.numbers.lowerBound > row.pruned + 1
        if !isWhole { isWhole = try isCut(range.numbers.lowerBound) }
        let first = isWhole ? try head(range.numbers.lowerBound) : nil
        let before: (end: ClusterLogEnd, last: Position)? = try ask(FrameTable.frameBefore, values) { rows throws(EvstoreError) in
            guard let number = rows.int(0, 0), let last = rows.int(0, 1), let link = rows.bytes(0, 2) else {
                return first.map { ($0.end, $0.last) }
            }
            return (ClusterLogEnd(number: UInt64(clamping: number), link: link), Position(UInt64(clamping: last)))
        }
        if let before { return before }
        guard row.pruned == 0 else {
            throw .clusterMismatch(
                log: log, reason: "its frames up to \(row.pruned) were pruned, and what is there ends with frame 0",
                how: "begin with a replica of a newer backup of one of its nodes: \(.followBackups(store: "DIR")), then join")
        }
        return (.start, .start)
    }

    /// Whether a frame is that of a cut, which begins an epoch.
    private func isCut(_ number: UInt64) throws(EvstoreError) -> Bool {
        guard let head = try head(number), head.end.number == number else { return false }
        return try connection.frame(number, byteCount: head.byteCount, by: .now + Self.interval).map { ClusterFrame.mayCut($0) } ?? false
    }

    /// A frame's last position, and the link of its last block if it has blocks; nil where the frame is missing.
    package func blockEnd(ofFrame number: UInt64) throws(EvstoreError) -> (last: Position, link: Digest?)? {
        guard let head = try head(number), head.end.number == number else { return nil }
        let bytes = try connection.frame(number, byteCount: head.byteCount, by: .now + Self.interval)
        return bytes.flatMap { ClusterFrame.blockEnd(of: $0) }
    }
}

extension EvstoreError {
    package static func prunedByOthers(_ log: String) -> EvstoreError {
        .locked(path: "the cluster log \(log)", holder: "another who prunes it")
    }
}

extension FrameTable {
    /// - Throws: `EvstoreError.storeNewer`.
    static func requireKnown(_ format: Int64, _ log: String) throws(EvstoreError) {
        if format > Self.format { throw .storeNewer(path: "the cluster log \(log)", format: Int(format), known: Int(Self.format)) }
    }
}

extension ClusterConnection {
    /// The header of a frame, or of the next one that exists; nil where there is none.
    func head(_ number: UInt64, by deadline: Instant) throws(EvstoreError) -> ClusterFrame.Head? {
        try ask(FrameTable.head, [.text(log), .int(Int64(clamping: number))], by: deadline) { rows throws(EvstoreError) in
            rows.bytes(0, 0).flatMap { ClusterFrame.Head($0) }
        }
    }

    /// Fetches a frame piece by piece, so that no answer is larger than a piece; nil where the frame is missing, or its size is not as
    /// expected.
    func frame(_ number: UInt64, byteCount: Int, by deadline: Instant) throws(EvstoreError) -> [UInt8]? {
        guard byteCount <= ClusterFrame.bytesMax else { return nil }
        var bytes: [UInt8] = []
        while bytes.count < byteCount {
            let values: [PostgresValue] = [.text(log), .int(Int64(clamping: number)), .int(Int64(bytes.count + 1))]
            let piece = try ask(FrameTable.piece, values, by: deadline) { rows throws(EvstoreError) in rows.bytes(0, 0) }
            // The frame's own size must match before the rest is fetched.
            guard let piece, !piece.isEmpty, !bytes.isEmpty || ClusterFrame.Head(piece)?.byteCount == byteCount else { return nil }
            bytes += piece
        }
        return bytes.count == byteCount ? bytes : nil
    }
}

extension ClusterDatabase {
    /// The most frames of one step, during which appends wait.
    private static let framesAtOnce: UInt64 = 5_000

    /// Removes frames, in steps, up to one that every node and a backup have.
    /// - Returns: the number of the last removed frame.
    package func pruneFrames(
        of id: [UInt8], from pruned: UInt64, through last: UInt64, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws -> UInt64 {
        var done = pruned
        while done < last {
            let next = min(done.plus(Self.framesAtOnce), last)
            try change(FrameTable.prune, [.text(log), .bytes(id), .int(Int64(clamping: done)), .int(Int64(clamping: next))])
            // Read again, since an answer may have been lost.
            let now = try readyRow().pruned
            guard now > done else { throw EvstoreError.prunedByOthers(log) }
            done = now
            try progress(done.minus(pruned), last.minus(pruned))
        }
        return done
    }
}
