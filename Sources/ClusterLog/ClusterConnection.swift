internal import EventLog
package import EventModel
internal import FoundationEssentials
package import Platform
internal import PostgreSQL

/// A connection to the PostgreSQL server of a cluster log, which reconnects after a loss. One thread uses it at a time.
package final class ClusterConnection {
    package let log: String
    let conninfo: String
    let application: String
    private var connection: PostgresConnection?
    /// Whether columns that an older program's tables lack were added, or need not be.
    private var isCompleted = false
    /// Refuses a server that was replaced: one for which it throws is not used.
    var check: @Sendable (ServerMark) throws(EvstoreError) -> Void = { _ throws(EvstoreError) in }

    package init(log: String, _ conninfo: String, application: String) {
        (self.log, self.conninfo, self.application) = (log, conninfo, application)
    }

    /// The longest attempt to connect: a server that neither answers nor refuses is tried again.
    private static let tryInterval = Duration.seconds(5)

    /// Returns once the server answers; tries again until the deadline.
    /// - Throws: `EvstoreError.logUnavailable` at the deadline, or at once if another attempt would end in the same way.
    package func connect(by deadline: Instant) throws(EvstoreError) {
        if let connection, !connection.isBroken { return }
        var pause = 10
        while true {
            do {
                connection = try admitted(by: min(deadline, .now + Self.tryInterval))
                return
            } catch {
                connection = nil
                let isFinal = (error as? PostgresError)?.isFinal ?? true
                let failure = (error as? PostgresError).map(unavailable) ?? storeError(error, log, doing: "connecting to \(log)")
                if .now + .milliseconds(pause) >= deadline || isFinal { throw failure }
            }
            _ = Monitor(false).wait(milliseconds: pause) { $0 }
            pause = min(pause * 2, 500)
        }
    }

    /// Runs a statement once. Until the deadline it first reconnects if the connection was lost before, or if the server refuses to write,
    /// as one does that has become a standby.
    /// - Parameter isCommit: whether the statement's commit may wait for a standby: then the server is not asked to end it at the deadline,
    ///   since the commit would be made without a standby, and be seen.
    /// - Parameter grace: see `PostgresConnection.run`.
    func run(
        _ statement: PostgresStatement, _ values: [PostgresValue], isCommit: Bool = false, by deadline: Instant,
        extending grace: Duration = .zero
    ) throws(StatementError) -> PostgresRows {
        while true {
            do throws(EvstoreError) { try connect(by: deadline) } catch { throw .notSent(error) }
            guard let connection else { throw .notSent(.logUnavailable(log: log, reason: "there is no connection")) }
            do throws(PostgresError) {
                return try connection.run(statement, values, isCancelled: !isCommit, deadline: deadline, extending: grace)
            } catch {
                if error.sqlState == Self.noColumn, !isCompleted {
                    try complete(connection, by: deadline)
                    continue
                }
                let isReadOnly = error.sqlState == Self.readOnly
                if connection.isBroken || isReadOnly { self.connection = nil }
                switch error.kind {
                case .connectionLost: throw .lost(unavailable(error))
                case .malformed: throw isCommit ? .lost(unavailable(error)) : .answer(unavailable(error))
                case .refused where !isReadOnly: throw .refused(unavailable(error), state: error.sqlState ?? "")
                case .noLibrary, .unreachable, .refused: if .now >= deadline { throw .notSent(unavailable(error)) }
                }
            }
            _ = Monitor(false).wait(milliseconds: 10) { $0 }
        }
    }

    private static let readOnly = "25006"
    private static let noColumn = "42703"
    private static let notAllowed = "42501"

    /// Adds the columns that tables of an older program lack; adds nothing to tables of another kind of program.
    private func complete(_ connection: PostgresConnection, by deadline: Instant) throws(StatementError) {
        do throws(PostgresError) {
            for statement in [FrameTable.earliest] + FrameTable.completing { _ = try connection.run(statement, deadline: deadline) }
        } catch {
            guard case .refused = error.kind else { throw .notSent(unavailable(error)) }
            if error.sqlState == Self.notAllowed {
                let statements = FrameTable.completing.map(\.sql).joined(separator: "; ")
                throw .notSent(
                    .clusterMismatch(
                        log: log,
                        reason: """
                            an older evstore made its tables, and the role \(connection.names.user) may not add what they lack: \
                            \(error.message)
                            """,
                        how: "let who owns the tables run, in psql on the database: \(statements)"))
            }
        }
        isCompleted = true
    }

    /// Whether the server's last answer came with a warning, such as that no standby has the commit.
    var hasWarned: Bool { connection?.warning != nil }

    /// Runs a statement that may be run twice: if the connection is lost, it runs it again until the deadline.
    func ask<R>(
        _ statement: PostgresStatement, _ values: [PostgresValue], by deadline: Instant,
        extending grace: Duration = .zero, _ body: (borrowing PostgresRows) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> R {
        while true {
            do throws(StatementError) {
                let rows = try run(statement, values, by: deadline, extending: grace)
                return try answered(rows, body)
            } catch {
                switch error {
                case .lost where .now < deadline:
                    connection = nil
                    _ = Monitor(false).wait(milliseconds: 10) { $0 }
                case .lost(let error), .notSent(let error), .refused(let error, _), .answer(let error): throw error
                }
            }
        }
    }

    private func answered<R>(
        _ rows: borrowing PostgresRows, _ body: (borrowing PostgresRows) throws(EvstoreError) -> R
    ) throws(StatementError) -> R {
        do throws(EvstoreError) { return try body(rows) } catch { throw .answer(error) }
    }

    private func unavailable(_ error: PostgresError) -> EvstoreError {
        if case .malformed = error.kind {
            return .clusterMismatch(
                log: log,
                reason: "what the connection string leads to answers otherwise than PostgreSQL with a cluster log does: \(error.message)",
                how: "look at that server, its tables evstore_*, and what stands between")
        }
        switch error.sqlState {
        // A column or a table is not there: the tables are another program's, or none were made.
        case "42P01":
            return .clusterMismatch(
                log: log, reason: "its database has no cluster log",
                how: "make one there first (\(.createCluster)), or name the database that has it")
        case Self.noColumn, "42804", "42P10":
            return .clusterMismatch(
                log: log, reason: "the tables under the names of a cluster log's are another program's: \(error.message)",
                how: "use a database or a schema of its own: options=-csearch_path=evstore")
        default: return connection.flatMap { refused($0, error) } ?? .logUnavailable(log: log, reason: error.message)
        }
    }

    /// The error where the database does not allow its role something; else nil.
    private func refused(_ connection: PostgresConnection, _ error: PostgresError) -> EvstoreError? {
        if error.sqlState != Self.notAllowed { return nil }
        let (user, database) = connection.names
        let role = user.sqlName
        return .clusterMismatch(
            log: log, reason: "the role \(user) may not do this in the database \(database): \(error.message)",
            how: """
                let who owns the database run, in psql on it: GRANT USAGE, CREATE ON SCHEMA public TO \(role) so that it can make the \
                tables; GRANT SELECT, INSERT, UPDATE, DELETE ON evstore_log, evstore_frame, evstore_node TO \(role) for those that are there
                """)
    }
}

extension String {
    /// The name as an SQL identifier, quoted where needed.
    fileprivate var sqlName: String {
        let isPlain = utf8.allSatisfy { $0 >= 97 && $0 <= 122 || $0 >= 48 && $0 <= 57 || $0 == 95 } && !(first?.isNumber ?? true)
        return isPlain ? self : "\"\(replacing("\"", with: "\"\""))\""
    }
}

/// Why a statement has no usable answer.
enum StatementError: Error {
    /// It was not run.
    case notSent(EvstoreError)
    /// It is unknown whether it was run.
    case lost(EvstoreError)
    /// The server refused it, with this SQLSTATE: it had no effect.
    case refused(EvstoreError, state: String)
    /// It was run, and its answer is invalid.
    case answer(EvstoreError)
}

extension PostgresError {
    /// Whether another attempt would end in the same way: a wrong password, no such database or role, no libpq, no PostgreSQL.
    fileprivate var isFinal: Bool {
        if [.noLibrary, .malformed].contains(kind) { return true }
        return ["28P01", "28000", "3D000", "42501"].contains(sqlState ?? "")
    }
}

extension ClusterConnection {
    /// Connects to the first server that may be used. If that server was replaced, according to this node or to another host of the
    /// connection string, it tries the others.
    /// - Throws: `PostgresError`; `EvstoreError` where the only server that answers may not be used.
    func admitted(by deadline: Instant) throws -> PostgresConnection {
        var (hosts, refusal): ([PostgresHost]?, (any Error)?) = (nil, nil)
        while true {
            let made: PostgresConnection
            do {
                made = try PostgresConnection(conninfo, deadline: deadline, application: application, .init(hosts))
                _ = try made.run(FrameTable.beginning, [], deadline: deadline)
            } catch { throw refusal ?? error }
            do {
                guard let mark = try made.serverMark(by: deadline) else { return made }
                try check(mark)
                guard hosts == nil, let newer = ServerProbe.newer(than: mark, at: made.currentHost, conninfo, by: deadline)
                else { return made }
                made.cancelAndClose()
                (hosts, refusal) = ([newer], nil)
            } catch let error as EvstoreError {
                let own = made.currentHost
                let others = try (hosts ?? PostgresConnection.hosts(conninfo)).filter { !$0.names(own) }
                made.cancelAndClose()
                if others.isEmpty { throw error }
                (hosts, refusal) = (others, error)
            }
        }
    }
}

extension PostgresConnection {
    /// Identifies the server; nil where it takes no writes, or does not say it, such as a server that only speaks the protocol.
    func serverMark(by deadline: Instant) throws(PostgresError) -> ServerMark? {
        do throws(PostgresError) {
            let rows = try run(FrameTable.server, [], deadline: deadline)
            guard let system = rows.int(0, 0), let timeline = rows.int(0, 1), timeline > 0 else { return nil }
            return ServerMark(system: UInt64(bitPattern: system), timeline: UInt32(clamping: timeline))
        } catch {
            guard case .refused = error.kind else { throw error }
            return nil
        }
    }
}

/// How a node reaches its cluster log: a connection string for libpq, in the environment variable EVSTORE_LOG, else in the store's file
/// `cluster`. Passwords come from libpq's own sources (PGPASSFILE, a service file), never from here.
package enum ConnectionFile {
    private static let name = "/cluster"
    private static let bytesMax = 65_536
    package static let variable = "EVSTORE_LOG"

    /// - Throws: `EvstoreError.usage` where there is neither.
    package static func find(at store: String) throws(EvstoreError) -> String {
        if let text = environment { return try checked(text) }
        do {
            guard try Directory.ownStatus(store + name) != nil else {
                throw EvstoreError.usage(
                    "nothing says how the cluster log of \(store) is reached",
                    fix: "set \(variable) to a connection string of PostgreSQL, such as host=db1,db2 dbname=orders")
            }
            let text = String(decoding: try StoreFiles.contents(Directory.name(of: name), of: store, bytesMax: bytesMax), as: UTF8.self)
            return try checked(String(text.prefix { !$0.isNewline }))
        } catch { throw storeError(error, store, doing: "reading \(store)\(name)") }
    }

    /// The given connection string, else that of the environment.
    /// - Throws: `EvstoreError.usage` where there is neither.
    package static func given(_ text: String?) throws(EvstoreError) -> String {
        if let text = text ?? environment { return try checked(text) }
        throw .usage(
            "nothing says how the cluster log is reached",
            fix: "name it, or set \(variable) to a connection string of PostgreSQL, such as host=db1,db2 dbname=orders")
    }

    private static var environment: String? { ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 } }

    package static func write(_ connection: String, at store: String) throws {
        try WholeFile.write(Array((connection + "\n").utf8), to: store + name)
    }

    /// Returns whether the file was there.
    package static func remove(at store: String) throws -> Bool {
        if try Directory.ownStatus(store + name) == nil { return false }
        try Directory.remove(store + name)
        return true
    }

    /// The warning for a connection string that leads over a network and does not check the server's identity; nil for any other string.
    package static func warning(_ connection: String) throws(EvstoreError) -> String? {
        do { return try PostgresConnection.warning(connection) } catch { throw unreadable(error) }
    }

    private static func unreadable(_ error: PostgresError) -> EvstoreError {
        .usage("the connection string can't be read: \(error.message)", fix: "write it as libpq has it: host=db1 dbname=orders")
    }

    /// - Throws: `EvstoreError.usage` where the string can't be parsed, or has a password in it.
    package static func checked(_ connection: String) throws(EvstoreError) -> String {
        let members: [String: String]
        do { members = try PostgresConnection.parse(connection) } catch { throw unreadable(error) }
        guard members["password", default: ""].isEmpty, members["sslpassword", default: ""].isEmpty else {
            throw .usage(
                "a connection string with a password in it would be seen by others",
                fix: "put the password into a file that only you can read and name it by PGPASSFILE, or into ~/.pgpass")
        }
        return connection
    }
}
