internal import EventLog
package import EventModel
internal import Platform
internal import PostgreSQL

/// A connection to the PostgreSQL of a cluster log, made again where it was lost. Used by one thread at a time.
package final class ClusterConnection {
    /// How the cluster log is called in errors.
    package let log: String
    private let conninfo: String
    private let application: String
    private var connection: PostgresConnection?

    package init(log: String, _ conninfo: String, application: String) {
        (self.log, self.conninfo, self.application) = (log, conninfo, application)
    }

    /// One try takes no longer: a server that neither answers nor refuses is tried again.
    private static let tryInterval = Duration.seconds(5)

    /// Returns once the server answers; tries again until the deadline.
    /// - Throws: `EvstoreError.logUnavailable` at the deadline; at once where another try would end the same.
    package func connect(by deadline: ContinuousClock.Instant) throws(EvstoreError) {
        if let connection, !connection.isBroken { return }
        var pause = 10
        while true {
            do {
                let end = min(deadline, .now + Self.tryInterval)
                let made = try PostgresConnection(conninfo, deadline: end, application: application)
                _ = try made.run(FrameTable.beginning, [], deadline: end)
                connection = made
                return
            } catch {
                connection = nil
                if .now + .milliseconds(pause) >= deadline || error.isFinal { throw unavailable(error) }
            }
            _ = Monitor(false).wait(milliseconds: pause) { $0 }
            pause = min(pause * 2, 500)
        }
    }

    /// Runs a statement once. A connection that was lost before is made again first, and where the server refuses to write, as one that has
    /// become a standby does, that of the server in its place: until the deadline.
    /// - Parameter isCommit: whether its commit may wait for a standby: it is not asked to end when its deadline passes, since it would then be
    ///   made without one, and seen.
    /// - Parameter name: under which the server keeps it for further calls.
    func run(
        _ sql: String, _ values: [PostgresValue], isCommit: Bool = false, keptAs name: String? = nil, by deadline: ContinuousClock.Instant
    ) throws(StatementError) -> PostgresRows {
        while true {
            do throws(EvstoreError) { try connect(by: deadline) } catch { throw .notSent(error) }
            guard let connection else { throw .notSent(.logUnavailable(log: log, reason: "there is no connection")) }
            do throws(PostgresError) {
                return try connection.run(sql, values, keptAs: name, isCancelled: !isCommit, deadline: deadline)
            } catch {
                let isReadOnly = error.sqlState == Self.readOnly
                if connection.isBroken || isReadOnly { self.connection = nil }
                switch error.kind {
                case .connectionLost: throw .lost(unavailable(error))
                case .refused where !isReadOnly: throw .refused(unavailable(error), state: error.sqlState ?? "")
                case .noLibrary, .unreachable, .refused: if .now >= deadline { throw .notSent(unavailable(error)) }
                }
            }
            _ = Monitor(false).wait(milliseconds: 10) { $0 }
        }
    }

    /// The SQLSTATE of a server that takes no writes.
    private static let readOnly = "25006"

    /// Whether the server has warned of the last answer: as where a commit was made that no standby has.
    var hasWarned: Bool { connection?.warning != nil }

    /// The same for a statement that may be run twice: it is, until the deadline, where the connection was lost.
    func ask<R>(
        _ sql: String, _ values: [PostgresValue], keptAs name: String? = nil, by deadline: ContinuousClock.Instant,
        _ body: (borrowing PostgresRows) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> R {
        while true {
            do throws(StatementError) {
                let rows = try run(sql, values, keptAs: name, by: deadline)
                return try answered(rows, body)
            } catch {
                switch error {
                case .lost(let error) where .now < deadline:
                    connection = nil
                    _ = error
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
        switch error.sqlState {
        // A column or a table is not there: the tables are another program's, or none were made.
        case "42P01":
            .clusterMismatch(
                log: log, reason: "its database has no cluster log", how: "make one there first, or name the database that has it")
        case "42703", "42804", "42P10":
            .clusterMismatch(
                log: log, reason: "its database has tables of another program under the names of a cluster log: \(error.message)",
                how: "use a database or a schema of its own: options=-csearch_path=evstore")
        default: .logUnavailable(log: log, reason: error.message)
        }
    }
}

/// Why a statement has no answer.
enum StatementError: Error {
    /// It was never carried out.
    case notSent(EvstoreError)
    /// Nobody knows whether it was.
    case lost(EvstoreError)
    /// The server refused it, with an SQLSTATE: it was not carried out.
    case refused(EvstoreError, state: String)
    /// It was, and the answer is not what it should be.
    case answer(EvstoreError)
}

extension PostgresError {
    /// Whether another try would end the same: a wrong password, no such database or role, no libpq.
    fileprivate var isFinal: Bool {
        if case .noLibrary = kind { return true }
        return ["28P01", "28000", "3D000", "42501"].contains(sqlState ?? "")
    }
}
