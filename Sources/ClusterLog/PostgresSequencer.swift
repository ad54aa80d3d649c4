internal import Bytes
package import EventLog
package import EventModel
internal import Platform
internal import PostgreSQL

/// The order of a cluster log by a row of PostgreSQL.
///
/// A frame's number is taken once: whoever adds a frame names the one that it follows, and the row moves for the first alone. So also a
/// statement whose answer was lost comes to an end: the same frame is offered again until its number is taken, by it or by another.
///
/// One thread at a time uses it; each call returns by its deadline.
final class PostgresSequencer: @unchecked Sendable {
    // Sound because one thread at a time uses it.
    private let membership: Membership
    private let connection: ClusterConnection
    private let program: String

    init(_ membership: Membership, _ conninfo: String, program: String) {
        (self.membership, self.program) = (membership, program)
        connection = ClusterConnection(log: membership.log, conninfo, application: "evstore \(membership.node)")
    }

    private var log: String { membership.log }

    /// Has each server that is connected to from now on looked at; one for which `check` throws is not used.
    func guardServers(_ check: @escaping @Sendable (ServerMark) throws(EvstoreError) -> Void) { connection.check = check }

    /// Returns once the cluster log can be asked.
    /// - Throws: `EvstoreError.logUnavailable` at the deadline.
    func connect(by deadline: ContinuousClock.Instant) throws(EvstoreError) { try connection.connect(by: deadline) }

    // MARK: Adding

    /// Adds a frame right behind `end`, durably; false, and nothing is added, where the cluster log ends elsewhere.
    /// - Throws: `EvstoreError.logUnavailable` where nothing was added; commitOutcomeUnknown where that can't be found out.
    func add(_ frame: NewFrame, after end: FrameEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
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
                // A commit that somebody has cancelled while it waited for a standby is answered with a warning.
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
                // Another node was first, on a server that says so by an error.
                case .refused(_, "40001"), .refused(_, "40P01"): if !isOpen { return false }
                case .refused(let error, _), .notSent(let error), .answer(let error):
                    if isOpen { throw .commitOutcomeUnknown(after: Position(frame.last.position.rawValue)) }
                    throw error
                }
            }
            if .now >= deadline { throw .commitOutcomeUnknown(after: Position(frame.last.position.rawValue)) }
        }
    }

    /// Whether the frame with this one's number is this one: of a statement whose answer was lost.
    private func hasSettled(_ frame: NewFrame, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        // Its link is made of all its bytes.
        guard try connection.head(frame.end.number, by: deadline)?.end == frame.end else { return false }
        // The commit may have been given up while it waited for a standby: after a commit behind it, it is there too.
        repeat {
            if .now >= deadline { throw .commitOutcomeUnknown(after: frame.last.position) }
            try connection.ask(FrameTable.settle, [.text(log)], by: deadline) { _ throws(EvstoreError) in }
        } while connection.hasWarned
        return true
    }

    // MARK: Following

    /// Whether the cluster log ends at `end`: one row is read.
    func isEnd(_ end: FrameEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool {
        try connection.ask(FrameTable.end, [.text(log), .bytes(membership.id)], by: deadline) {
            rows throws(EvstoreError) in
            guard rows.count == 1 else { throw self.gone }
            return rows.int(0, 0) == Int64(end.number) && rows.bytes(0, 1) == end.link
        }
    }

    /// The frames behind `end`, in order, some megabytes of them; empty where there are none.
    /// - Parameter position: the node's last, for the error that it is ahead.
    /// - Throws: `EvstoreError`: logUnavailable; clusterWentBack and clusterDamaged where the log is not the one that the node has followed.
    func frames(
        after end: FrameEnd, at position: Position, by deadline: ContinuousClock.Instant
    ) throws(EvstoreError) -> FramePage {
        var (page, last, large) = try connection.ask(FrameTable.frames, [.text(log), .int(Int64(clamping: end.number))], by: deadline) {
            rows throws(EvstoreError) in try self.page(rows, after: end, position)
        }
        if let large {
            // Each piece has its time.
            guard let frame = try connection.frame(large.number, byteCount: large.byteCount, by: max(deadline, .now + Self.largeInterval))
            else { throw .clusterDamaged(log: log, frame: large.number, reason: "it is missing, or not as large as it says") }
            page.frames.append(frame)
        }
        guard let first = page.frames.first.flatMap({ ClusterFrame.Head($0) }), !follows(page.frames[0], end) else { return page }
        // The next frame follows another than this node has: the log was set back and has gone on, or frames are damaged.
        guard first.end.number == end.number + 1, let own = try connection.head(end.number, by: deadline), own.end.number == end.number
        else {
            throw .clusterDamaged(log: log, frame: end.number, reason: "it is missing, or is none")
        }
        if own.end.link != end.link { throw .clusterWentBack(log: log, cluster: last, node: position) }
        throw .clusterDamaged(log: log, frame: end.number + 1, reason: "it does not follow the one before it")
    }

    private static let largeInterval = Duration.seconds(60)

    private func follows(_ frame: [UInt8], _ end: FrameEnd) -> Bool {
        do {
            _ = try ClusterFrame(checking: frame.lent, after: end)
            return true
        } catch { return false }
    }

    /// - Returns: the frames that came with their bytes, the cluster log's last position, and the frame behind them that is too large for
    ///   that.
    private func page(
        _ rows: borrowing PostgresRows, after end: FrameEnd, _ position: Position
    ) throws(EvstoreError) -> (page: FramePage, last: Position, large: (number: UInt64, byteCount: Int)?) {
        guard let format = rows.int(0, 0), rows.bytes(0, 1) == membership.id else { throw gone }
        try FrameTable.requireKnown(format, log)
        let number = UInt64(clamping: rows.int(0, 2) ?? 0)
        let last = Position(UInt64(clamping: rows.int(0, 4) ?? 0))
        if number < end.number || number == end.number && rows.bytes(0, 3) != end.link {
            throw .clusterWentBack(log: log, cluster: last, node: position)
        }
        if number == end.number { return (FramePage([], isLast: true), last, nil) }
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
            return (FramePage(frames, isLast: wanted == number), last, (wanted, Int(size)))
        }
        return (FramePage(frames, isLast: end.number + UInt64(frames.count) == number), last, nil)
    }

    /// Frames that this node has not were pruned.
    private func missed(_ pruned: Int64, _ end: FrameEnd) -> EvstoreError {
        .clusterMismatch(
            log: log, reason: "its frames up to \(pruned) were pruned, and this node has those up to \(end.number)",
            how: "make the node anew from a backup of another one, in another directory: \(.followBackups(store: "DIR")), then join")
    }

    private var gone: EvstoreError {
        .clusterMismatch(
            log: log, reason: "the database has no cluster log of this name, or another one",
            how: "name the database that has it (\(ConnectionFile.variable)), or restore it")
    }

    /// A directory that has said nothing for so long may have its place taken by a copy of it; one that is open speaks every 10 s.
    private static let silenceSeconds: Int64 = 30

    /// Notes for those who look at the cluster how far this node is, and which nodes are gone; nothing of one that is gone itself.
    /// - Parameter mayTakeOver: whether it speaks as the node from now on where another directory has, and has said nothing for a while.
    /// - Returns: false, and nothing is noted, where another directory speaks as this node.
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

/// Finds the connection string of a node, and makes its order.
package final class PostgresOrdering: CommitOrderSource {
    /// What calls itself so in the list of nodes.
    private let program: String

    package init(program: String) { self.program = program }

    package func order(_ context: LogContext, as membership: Membership) throws -> any CommitOrder {
        let (store, program) = (context.path, program)
        return try NodeOrder(membership, context) { () throws(EvstoreError) in
            PostgresSequencer(membership, try ConnectionFile.find(at: store), program: program)
        }
    }
}
