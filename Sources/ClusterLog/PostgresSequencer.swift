internal import Bytes
package import EventLog
package import EventModel
internal import Platform
internal import PostgreSQL

/// Orders the commits of a cluster log by a row in PostgreSQL.
///
/// A frame's number is taken once: a node that adds a frame names the frame that it follows, and the row moves only for the first one. This
/// also resolves a statement whose answer was lost: the same frame is offered again until its number is taken, by this frame or by another.
///
/// One thread at a time uses it; each call returns by its deadline.
final class PostgresSequencer: @unchecked Sendable {
    // Sound because one thread at a time uses it.
    private let membership: ClusterMembership
    let connection: ClusterConnection
    private let program: String

    init(_ membership: ClusterMembership, _ conninfo: String, program: String) {
        (self.membership, self.program) = (membership, program)
        connection = ClusterConnection(log: membership.log, conninfo, application: "evstore \(membership.node)")
    }

    private var log: String { membership.log }

    // MARK: Adding

    /// Adds a frame directly after `end`, durably; false where the cluster log ends elsewhere, and nothing is added.
    /// - Throws: `EvstoreError.logUnavailable` where nothing was added; commitOutcomeUnknown where that can't be found out.
    func add(_ frame: NewClusterFrame, after end: ClusterLogEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        let values: [PostgresValue] = [
            .text(log), .bytes(membership.id), .int(Int64(frame.end.number)), .bytes(frame.end.link),
            .int(Int64(clamping: frame.last.epoch.rawValue)),
            .int(Int64(clamping: frame.last.position.rawValue)), .int(Int64(end.number)), .bytes(end.link), .bytes(frame.bytes),
        ]
        var isOpen = false
        while true {
            do throws(StatementError) {
                let isAdded = try connection.run(FrameTable.add, values, isCommit: true, by: deadline).affected == 1
                if isAdded, !connection.hasWarned { return true }
                // If somebody cancels a commit while it waits for a standby, the server answers with a warning.
                isOpen = isOpen || isAdded
                guard isOpen else { return false }
                do throws(EvstoreError) { return try hasSettled(frame, by: deadline) } catch { throw .notSent(error) }
            } catch {
                switch error {
                case .lost:
                    isOpen = true
                    _ = Monitor(false).wait(milliseconds: 10) { $0 }
                case .refused(_, "23505"):
                    throw .clusterDamaged(log: log, frame: frame.end.number, reason: "it is there, and the log's row ends before it")
                // Another node was first, on a server that reports this as an error.
                case .refused(_, "40001"), .refused(_, "40P01"): if !isOpen { return false }
                case .refused(let error, _), .notSent(let error), .answer(let error):
                    if isOpen { throw .commitOutcomeUnknown(after: Position(frame.last.position.rawValue)) }
                    throw error
                }
            }
            if .now >= deadline { throw .commitOutcomeUnknown(after: Position(frame.last.position.rawValue)) }
        }
    }

    /// Whether the frame that has this number is this one: for a statement whose answer was lost.
    private func hasSettled(_ frame: NewClusterFrame, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        // The link covers all bytes of the frame.
        guard try connection.head(frame.end.number, by: deadline)?.end == frame.end else { return false }
        // The commit may have stopped waiting for a standby; once a later commit is on the standby, this one is too.
        repeat {
            if .now >= deadline { throw .commitOutcomeUnknown(after: frame.last.position) }
            try connection.ask(FrameTable.settle, [.text(log)], by: deadline) { _ throws(EvstoreError) in }
        } while connection.hasWarned
        return true
    }

    // MARK: Following

    /// Whether the cluster log ends at `end`. Reads one row.
    func isEnd(_ end: ClusterLogEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        try connection.ask(FrameTable.end, [.text(log), .bytes(membership.id)], by: deadline) {
            rows throws(EvstoreError) in
            guard rows.count == 1 else { throw self.gone }
            return rows.int(0, 0) == Int64(end.number) && rows.bytes(0, 1) == end.link
        }
    }

    /// The next frames after `end`, in order, some megabytes; empty where there are none.
    /// - Parameter position: the node's last position, for the error that the node is ahead.
    /// - Throws: `EvstoreError`: logUnavailable; clusterWentBack and clusterDamaged where the log is not the one that the node has
    ///   followed.
    func frames(after end: ClusterLogEnd, at position: Position, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> FramePage {
        var (page, last, large) = try connection.ask(FrameTable.frames, [.text(log), .int(Int64(clamping: end.number))], by: deadline) {
            rows throws(EvstoreError) in try self.page(rows, after: end, position)
        }
        if let large {
            // Each piece gets its own time.
            guard let frame = try connection.frame(large.number, byteCount: large.byteCount, by: max(deadline, .now + Self.largeInterval))
            else { throw .clusterDamaged(log: log, frame: large.number, reason: "it is missing, or not as large as it says") }
            page.frames.append(frame)
        }
        guard let first = page.frames.first.flatMap({ ClusterFrame.Head($0) }), !follows(page.frames[0], end) else { return page }
        // The next frame does not follow the one that this node has: the log was set back and has gone on, or frames are damaged.
        guard first.end.number == end.number + 1, let own = try connection.head(end.number, by: deadline), own.end.number == end.number
        else {
            throw .clusterDamaged(log: log, frame: end.number, reason: "it is missing, or its header is invalid")
        }
        if own.end.link != end.link { throw .clusterWentBack(log: log, cluster: last, node: position) }
        throw .clusterDamaged(log: log, frame: end.number + 1, reason: "it does not follow the one before it")
    }

    private static let largeInterval = Duration.seconds(60)

    private func follows(_ frame: [UInt8], _ end: ClusterLogEnd) -> Bool {
        do {
            _ = try ClusterFrame(checking: frame.lent, after: end)
            return true
        } catch { return false }
    }

    /// - Returns: the frames that came with their bytes, the cluster log's last position, and the next frame if it is too large to come
    ///   with its bytes.
    private func page(
        _ rows: borrowing PostgresRows, after end: ClusterLogEnd, _ position: Position
    ) throws(EvstoreError) -> (page: FramePage, last: Position, large: (number: UInt64, byteCount: Int)?) {
        guard let format = rows.int(0, 0), rows.bytes(0, 1) == membership.id else { throw gone }
        try FrameTable.requireKnown(format, log)
        let number = UInt64(clamping: rows.int(0, 2) ?? 0)
        let last = Position(UInt64(clamping: rows.int(0, 4) ?? 0))
        if number < end.number || number == end.number && rows.bytes(0, 3) != end.link {
            throw .clusterWentBack(log: log, cluster: last, node: position)
        }
        if number == end.number { return (FramePage(frames: [], isLast: true), last, nil) }
        if let pruned = rows.int(0, 5), pruned > Int64(clamping: end.number) { throw missed(pruned, end) }
        var frames: [[UInt8]] = []
        for row in 0 ..< rows.count {
            let wanted = end.number + UInt64(row) + 1
            guard rows.int(row, 6) == Int64(clamping: wanted), let size = rows.int(row, 7) else {
                throw .clusterDamaged(log: log, frame: wanted, reason: "it is missing")
            }
            if let bytes = rows.bytes(row, 8) {
                frames.append(bytes)
                continue
            }
            return (FramePage(frames: frames, isLast: wanted == number), last, (wanted, Int(size)))
        }
        return (FramePage(frames: frames, isLast: end.number + UInt64(frames.count) == number), last, nil)
    }

    /// The error where frames that this node lacks were pruned.
    private func missed(_ pruned: Int64, _ end: ClusterLogEnd) -> EvstoreError {
        .clusterMismatch(
            log: log, reason: "its frames up to \(pruned) were pruned, and this node has those up to \(end.number)",
            how: "make the node anew from a backup of another one, in another directory: \(.followBackups(store: "DIR")), then join")
    }

    private var gone: EvstoreError {
        .clusterMismatch(
            log: log, reason: "the database has no cluster log of this name, or another one",
            how: "name the database that has it (\(ConnectionFile.variable)), or restore it")
    }

    /// After this many seconds without a report, a copy of the directory may take over; a directory that is open reports every 10 s.
    private static let silenceSeconds: Int64 = 30

    /// Reports this node's position for information, and removes the reports of nodes that are gone. Does nothing if this node is gone
    /// itself.
    /// - Parameter mayTakeOver: whether this directory becomes the reporting one if another directory was, and has not reported for a
    ///   while.
    /// - Returns: false where another directory reports as this node, and nothing was noted.
    func report(_ node: NodeReport, mayTakeOver: Bool, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        if !node.nodes.contains(membership.node) { return true }
        let values: [PostgresValue] = [
            .text(log), .text(membership.node), .int(Int64(clamping: node.live.rawValue)), .int(Int64(clamping: node.position.rawValue)),
            .int(Int64(node.frame)), .text(program), .text(node.claim), .int(mayTakeOver ? Self.silenceSeconds : 0),
        ]
        let isNoted = try connection.ask(FrameTable.report, values, by: deadline) { rows throws(EvstoreError) in rows.affected == 1 }
        guard isNoted else { return false }
        let gone: [PostgresValue] = [.text(log), .text(node.nodes.joined(separator: "/")), .int(Int64(node.frame))]
        try connection.ask(FrameTable.removeGone, gone, by: deadline) { _ throws(EvstoreError) in }
        return true
    }
}

/// Makes the order of a node, with the connection string that it finds.
package final class PostgresOrdering: CommitOrderSource {
    /// The program's name in the list of nodes.
    private let program: String

    package init(program: String) { self.program = program }

    package func order(_ context: LogContext, as membership: ClusterMembership) throws -> any CommitOrder {
        let (store, program) = (context.path, program)
        return try NodeOrder(membership, context) { () throws(EvstoreError) in
            PostgresSequencer(membership, try ConnectionFile.find(at: store), program: program)
        }
    }
}
