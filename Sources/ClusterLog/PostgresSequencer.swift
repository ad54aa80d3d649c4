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
    func add(_ frame: NewClusterFrame, after end: ClusterLogEnd, by deadline: Instant) throws(EvstoreError) -> Bool {
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
    private func hasSettled(_ frame: NewClusterFrame, by deadline: Instant) throws(EvstoreError) -> Bool {
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
    func isEnd(_ end: ClusterLogEnd, by deadline: Instant) throws(EvstoreError) -> Bool {
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
    func frames(after end: ClusterLogEnd, at position: Position, by deadline: Instant) throws(EvstoreError) -> FramePage {
        let asked: [PostgresValue] = [.text(log), .int(Int64(clamping: end.number))]
        var (page, last, large) = try connection.ask(FrameTable.frames, asked, by: deadline, extending: Self.grace) {
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
    /// How long a page of frames may still take after bytes of it have come.
    private static let grace = Duration.seconds(5)

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
    func report(_ node: NodeReport, mayTakeOver: Bool, by deadline: Instant) throws(EvstoreError) -> Bool {
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

/// The tables of cluster logs in PostgreSQL: no functions, no triggers, no extension.
///
///     evstore_log     a row for each cluster log, its lock and its source of truth: where it ends
///     evstore_frame   its frames (`ClusterFrame`), numbered 1, 2, 3 … without a gap
///     evstore_node    reports of its nodes about themselves: only for information
enum FrameTable {
    static let format: Int64 = 1

    static let creating =
        [
            """
            CREATE TABLE IF NOT EXISTS evstore_log (
                name text PRIMARY KEY, format bigint NOT NULL, id bytea NOT NULL, store bytea NOT NULL, frame bigint NOT NULL,
                link bytea NOT NULL, epoch bigint NOT NULL, position bigint NOT NULL, ready boolean NOT NULL)
            """,
            """
            CREATE TABLE IF NOT EXISTS evstore_frame (
                log text NOT NULL, number bigint NOT NULL, last bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (log, number))
            """,
            """
            CREATE TABLE IF NOT EXISTS evstore_node (
                log text NOT NULL, name text NOT NULL, live bigint NOT NULL, position bigint NOT NULL, frame bigint NOT NULL,
                program text NOT NULL, seen timestamptz NOT NULL, PRIMARY KEY (log, name))
            """,
        ].map { PostgresStatement($0) } + completing

    /// Adds the columns that tables of an older program lack.
    static let completing = [
        // The number of the last pruned frame.
        "ALTER TABLE evstore_log ADD COLUMN IF NOT EXISTS pruned bigint NOT NULL DEFAULT 0",
        // Identifies the directory that reports under the node's name.
        "ALTER TABLE evstore_node ADD COLUMN IF NOT EXISTS claim text NOT NULL DEFAULT ''",
    ].map { PostgresStatement($0) }

    /// Fails if the tables belong to another program.
    static let earliest = PostgresStatement(
        """
        SELECT count(l.format) + count(l.link) + count(l.ready) + count(n.live) + count(n.seen)
        FROM evstore_log l JOIN evstore_node n ON n.log = l.name WHERE false
        """, answers: [.number()], rows: 1 ... 1)

    /// How many of the columns that were added last exist.
    static let newest = PostgresStatement(
        """
        SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('evstore_log') AND attname = 'pruned'
            OR attrelid = to_regclass('evstore_node') AND attname = 'claim'
        """, answers: [.number()], rows: 1 ... 1)
    static let newestColumns: Int64 = 2

    // MARK: What answers have

    /// The number of a frame, or a position.
    private static let count = PostgresColumn.number(0 ... Int64(clamping: Position.largest.rawValue))
    private static let epoch = PostgresColumn.number(1 ... Int64(UInt32.max) - 1)
    private static let version = PostgresColumn.number(0 ... Int64(UInt32.max) - 1)
    private static let link = PostgresColumn.bytes(32)
    private static let id = PostgresColumn.bytes(16)
    private static let name = PostgresColumn.text(upTo: 4_096)
    private static let setting = PostgresColumn.text(upTo: 1_024)

    // MARK: Frames

    /// A page ends with the frame that reaches this size.
    private static let pageBytes = 8 << 20
    private static let pageFrames = 1_024
    /// A larger frame is fetched in pieces of this size.
    static let pieceBytes = 16 << 20

    /// Settings that a session needs whatever the server's defaults are: each statement sees everything that was committed before it, and
    /// an answer means that the commit is on the disk, and, with a synchronous standby, on the standby's disk too.
    static let beginning = PostgresStatement(
        """
        SELECT set_config('default_transaction_isolation', 'read committed', false),
            set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                ELSE current_setting('synchronous_commit') END, false)
        """, answers: [setting, setting], rows: 1 ... 1)

    /// PostgreSQL's system identifier and its timeline, which is in the first 8 hexadecimal digits of the name of its current WAL file; 0
    /// for a server that takes no writes. Every role may ask for them.
    static let server = PostgresStatement(
        """
        SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN 0
            ELSE ('x' || substring(pg_walfile_name(pg_current_wal_insert_lsn()) FOR 8))::bit(32)::bigint END FROM pg_control_system()
        """, answers: [.number(), .number(0 ... Int64(UInt32.max))], rows: 1 ... 1)

    static let isReadOnly = PostgresStatement(
        "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'", answers: [.truth], rows: 1 ... 1)

    /// A single statement, so that either the row moves and the frame is added, or neither. A second node waits for the row and finds that
    /// it has moved.
    static let add = PostgresStatement(
        """
        WITH moved AS (
            UPDATE evstore_log SET frame = $3, link = $4, epoch = $5, position = $6
            WHERE name = $1 AND id = $2 AND frame = $7 AND link = $8 AND format <= \(format) RETURNING name)
        INSERT INTO evstore_frame (log, number, last, bytes) SELECT name, $3, $6, $9 FROM moved
        """, keptAs: "evstore_add")

    /// The row, and as many next frames as fit into a page, with the bytes of each frame that is not larger than a piece.
    static let frames = PostgresStatement(
        """
        SELECT l.format, l.id, l.frame, l.link, l.position, l.pruned, f.number, f.size,
            CASE WHEN f.size <= \(pieceBytes) THEN f.bytes END
        FROM evstore_log l LEFT JOIN (
            SELECT log, number, bytes, octet_length(bytes)::bigint AS size,
                sum(octet_length(bytes)) OVER (ORDER BY number) - octet_length(bytes) AS before
            FROM evstore_frame WHERE log = $1 AND number > $2 AND number <= $2 + \(pageFrames)) f
            ON f.log = l.name AND f.before < \(pageBytes)
        WHERE l.name = $1 ORDER BY f.number
        """,
        answers: [
            .number(0 ... .max), id, count, link, count, count, .number(1 ... Int64(clamping: Position.largest.rawValue), isOptional: true),
            .number(0 ... .max, isOptional: true), .bytes(0 ... pieceBytes, isOptional: true),
        ], rows: 0 ... pageFrames, keptAs: "evstore_frames", bytesMax: pageBytes + pieceBytes + (1 << 20))

    /// A piece of a frame from a byte on, counted from 1.
    static let piece = PostgresStatement(
        "SELECT substring(bytes FROM $3::int FOR \(pieceBytes)) FROM evstore_frame WHERE log = $1 AND number = $2",
        answers: [.bytes(0 ... pieceBytes)], rows: 0 ... 1, bytesMax: pieceBytes + (1 << 20))

    /// The header of a frame, or of the next one that exists.
    static let head = PostgresStatement(
        "SELECT substring(bytes FROM 1 FOR 72) FROM evstore_frame WHERE log = $1 AND number >= $2 ORDER BY number LIMIT 1",
        answers: [.bytes(0 ... ClusterFrame.headerBytes)], rows: 0 ... 1)
    /// Among some frames the last one that ends before a position, with its link.
    static let frameBefore = PostgresStatement(
        """
        SELECT number, last, substring(bytes FROM 41 FOR 32) FROM evstore_frame
        WHERE log = $1 AND last < $2 AND number BETWEEN $3 AND $4 ORDER BY number DESC LIMIT 1
        """, answers: [count, count, link], rows: 0 ... 1)
    /// Changes nothing, and is committed like every change: what was visible before it is then as durable as it.
    static let settle = PostgresStatement("UPDATE evstore_log SET name = name WHERE name = $1")
    static let whole = PostgresStatement(
        "SELECT count(*), coalesce(min(number), 0) FROM evstore_frame WHERE log = $1 AND number > $2 AND number <= $3",
        answers: [count, count], rows: 1 ... 1)
    /// The first number behind a frame of a range that has no frame; no row where there is none.
    static let missing = PostgresStatement(
        """
        SELECT f.number + 1 FROM evstore_frame f WHERE f.log = $1 AND f.number > $2 AND f.number < $3
        AND NOT EXISTS (SELECT FROM evstore_frame g WHERE g.log = f.log AND g.number = f.number + 1) ORDER BY f.number LIMIT 1
        """, answers: [count], rows: 0 ... 1)
    /// The frame that ends the row stays, since it proves the frames that follow.
    static let prune = PostgresStatement(
        """
        WITH moved AS (
            UPDATE evstore_log SET pruned = $4 WHERE name = $1 AND id = $2 AND pruned = $3 AND frame > $4 RETURNING name)
        DELETE FROM evstore_frame WHERE log IN (SELECT name FROM moved) AND number <= $4
        """)

    // MARK: The row

    static let row = PostgresStatement(
        "SELECT format, id, store, frame, link, epoch, position, ready, pruned FROM evstore_log WHERE name = $1",
        answers: [.number(0 ... .max), id, id, count, link, epoch, count, .truth, count], rows: 0 ... 1)
    static let end = PostgresStatement(
        "SELECT frame, link FROM evstore_log WHERE name = $1 AND id = $2", answers: [count, link], rows: 0 ... 1, keptAs: "evstore_end")
    static let insert = PostgresStatement(
        """
        INSERT INTO evstore_log (name, format, id, store, frame, link, epoch, position, ready)
        VALUES ($1, $2, $3, $4, 0, $5, 1, 0, false) ON CONFLICT (name) DO NOTHING
        """)
    /// Removes frames that belong to no cluster log.
    static let removeFrames = PostgresStatement(
        "DELETE FROM evstore_frame WHERE log = $1 AND NOT EXISTS (SELECT 1 FROM evstore_log WHERE name = $1)")
    static let removeNodes = PostgresStatement(
        "DELETE FROM evstore_node WHERE log = $1 AND NOT EXISTS (SELECT 1 FROM evstore_log WHERE name = $1)")
    static let removeUnready = PostgresStatement("DELETE FROM evstore_log WHERE name = $1 AND NOT ready")
    static let ready = PostgresStatement("UPDATE evstore_log SET ready = true WHERE name = $1 AND id = $2")

    // MARK: Nodes

    static let report = PostgresStatement(
        """
        INSERT INTO evstore_node AS n (log, name, live, position, frame, program, seen, claim)
            VALUES ($1, $2, $3, $4, $5, $6, now(), $7)
        ON CONFLICT (log, name) DO UPDATE SET live = excluded.live, position = excluded.position, frame = excluded.frame,
            program = excluded.program, seen = excluded.seen, claim = excluded.claim
        WHERE n.claim IN ('', $7) OR split_part(n.claim, '-', 1) <> split_part($7, '-', 1)
            OR $8 > 0 AND n.seen < now() - $8 * interval '1 second'
        """)
    static let nodes = PostgresStatement(
        """
        SELECT name, live, position, frame, program, extract(epoch FROM now() - seen)::bigint FROM evstore_node WHERE log = $1 ORDER BY name
        LIMIT \(nodesMax)
        """, answers: [name, version, count, count, name, .number()], rows: 0 ... nodesMax, bytesMax: 16 << 20)
    private static let nodesMax = 1_000
    /// Removes the reports of nodes that are no longer nodes, except those of nodes that joined after the frame `$3`.
    static let removeGone = PostgresStatement(
        "DELETE FROM evstore_node WHERE log = $1 AND frame <= $3 AND NOT name = ANY (string_to_array($2, '/'))")
    static let removeNode = PostgresStatement("DELETE FROM evstore_node WHERE log = $1 AND name = $2")
}
