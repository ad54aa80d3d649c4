internal import EventLog
internal import EventModel
internal import PostgreSQL

/// The tables of cluster logs in PostgreSQL: no functions, no triggers, no extension.
///
///     evstore_log     a row for each cluster log, which is its lock and its truth: where it ends
///     evstore_frame   its frames (`ClusterFrame`), numbered 1, 2, 3 … without a gap
///     evstore_node    what its nodes say of themselves: for those who look, and for nothing else
enum FrameTable {
    static let format: Int64 = 1

    static let creating = [
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
    ]

    /// What a session needs whatever the server's defaults are: each statement sees what was committed before it, and an answer means that
    /// the commit is on the disk, and with a synchronous standby on the standby's.
    static let beginning = """
        SELECT set_config('default_transaction_isolation', 'read committed', false),
            set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                ELSE current_setting('synchronous_commit') END, false)
        """

    /// One statement, so that the row moves and the frame stands, or neither. A second node waits for the row and finds that it has moved.
    static let add = """
        WITH moved AS (
            UPDATE evstore_log SET frame = $3, link = $4, epoch = $5, position = $6
            WHERE name = $1 AND id = $2 AND frame = $7 AND link = $8 RETURNING name)
        INSERT INTO evstore_frame (log, number, last, bytes) SELECT name, $3, $6, $9 FROM moved
        """

    /// The row, and the next frames as far as they fit into a page; no bytes of one that is larger than a frame is.
    static let frames = """
        SELECT l.format, l.id, l.frame, l.link, l.position, f.number,
            CASE WHEN octet_length(f.bytes) <= \(ClusterFrame.bytesMax) THEN f.bytes END
        FROM evstore_log l LEFT JOIN (
            SELECT log, number, bytes, sum(octet_length(bytes)) OVER (ORDER BY number) - octet_length(bytes) AS before
            FROM evstore_frame WHERE log = $1 AND number > $2 AND number <= $2 + 1024) f
            ON f.log = l.name AND f.before < 8388608
        WHERE l.name = $1 ORDER BY f.number
        """

    static let row = "SELECT format, id, store, frame, link, epoch, position, ready FROM evstore_log WHERE name = $1"
    static let end = "SELECT frame, link FROM evstore_log WHERE name = $1 AND id = $2"
    static let frame = "SELECT bytes FROM evstore_frame WHERE log = $1 AND number = $2"
    /// The head of a frame, or of the next one that is there.
    static let head =
        "SELECT number, substring(bytes FROM 1 FOR 72) FROM evstore_frame WHERE log = $1 AND number >= $2 ORDER BY number LIMIT 1"
    /// The last of some frames that ends before a position, with its link.
    static let frameBefore = """
        SELECT number, last, substring(bytes FROM 41 FOR 32) FROM evstore_frame
        WHERE log = $1 AND last < $2 AND number BETWEEN $3 AND $4 ORDER BY number DESC LIMIT 1
        """
    /// Changes nothing, and is committed as every change is: what was visible before it is then where it is.
    static let settle = "UPDATE evstore_log SET name = name WHERE name = $1"
    static let whole = "SELECT count(*), coalesce(min(number), 1) FROM evstore_frame WHERE log = $1 AND number <= $2"

    static let insert = """
        INSERT INTO evstore_log (name, format, id, store, frame, link, epoch, position, ready)
        VALUES ($1, $2, $3, $4, 0, $5, 1, 0, false) ON CONFLICT (name) DO NOTHING
        """
    /// What lies there without a cluster log.
    static let removeFrames = "DELETE FROM evstore_frame WHERE log = $1 AND NOT EXISTS (SELECT 1 FROM evstore_log WHERE name = $1)"
    static let removeNodes = "DELETE FROM evstore_node WHERE log = $1 AND NOT EXISTS (SELECT 1 FROM evstore_log WHERE name = $1)"
    static let removeUnready = "DELETE FROM evstore_log WHERE name = $1 AND NOT ready"
    static let ready = "UPDATE evstore_log SET ready = true WHERE name = $1 AND id = $2"

    static let report = """
        INSERT INTO evstore_node (log, name, live, position, frame, program, seen) VALUES ($1, $2, $3, $4, $5, $6, now())
        ON CONFLICT (log, name) DO UPDATE SET live = excluded.live, position = excluded.position, frame = excluded.frame,
            program = excluded.program, seen = excluded.seen
        """
    static let nodes = """
        SELECT name, live, position, frame, program, extract(epoch FROM now() - seen)::bigint FROM evstore_node WHERE log = $1 ORDER BY name
        """
    /// What nodes have said of themselves that are nodes no more; one that has joined after the frame `$3` is not meant.
    static let removeGone = """
        DELETE FROM evstore_node WHERE log = $1 AND frame <= $3 AND NOT name = ANY (string_to_array($2, '/'))
        """
    static let removeNode = "DELETE FROM evstore_node WHERE log = $1 AND name = $2"
}
