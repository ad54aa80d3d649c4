internal import Bytes
package import EventLog
package import EventModel
internal import LMDB
internal import Platform
internal import PostgreSQL

/// Identifies the server that a cluster log is written on: PostgreSQL's system identifier, which copies of its files share, and the
/// timeline, which grows with each promotion of a standby.
package struct ServerMark: Hashable, Sendable {
    package var system: UInt64
    package var timeline: UInt32
}

/// Keeps a node from using a server that was replaced. PostgreSQL itself does not prevent the old primary from being started again after a
/// failover: it would acknowledge appends that the new one never gets. So a node keeps the newest timeline that it has seen, and refuses
/// every server with an older one, and every other system.
final class ServerFence: Sendable {
    private struct State {
        var newest, saved: ServerMark?
    }

    private let membership: ClusterMembership
    private let state: Monitor<State>

    init(_ membership: ClusterMembership, _ saved: ServerMark?) {
        self.membership = membership
        state = Monitor(State(newest: saved, saved: saved))
    }

    /// Refuses a server, or accepts it as the newest.
    /// - Throws: `EvstoreError.clusterMismatch`.
    func check(_ server: ServerMark) throws(EvstoreError) {
        let newest = state.withLock { state in
            if state.newest.map({ $0.system == server.system && $0.timeline <= server.timeline }) ?? true { state.newest = server }
            return state.newest ?? server
        }
        if server.system != newest.system {
            throw EvstoreError.clusterMismatch(
                log: membership.log,
                reason: """
                    the server is another system (\(server.system)) than this node knows (\(newest.system)): a copy, or one that was made anew
                    """,
                how: "where it takes that one's place for good, stop that one, and say so on each node: \(.acceptServer)")
        }
        if server.timeline < newest.timeline {
            throw EvstoreError.clusterMismatch(
                log: membership.log,
                reason: """
                    the server is at timeline \(server.timeline), and this node has seen timeline \(newest.timeline): a standby has taken its \
                    place
                    """,
                how: "stop it, and make it a standby of the new one (pg_rewind, pg_basebackup), before anybody appends to it")
        }
    }

    /// The server that is still to be written down; nil where there is none.
    var unsaved: ServerMark? { state.withLock { $0.newest == $0.saved ? nil : $0.newest } }

    func noteSaved(_ server: ServerMark) { state.withLock { $0.saved = server } }

    /// Accepts a server as the newest, whatever was seen before.
    func accept(_ server: ServerMark) { state.withLock { $0 = State(newest: server, saved: server) } }
}

/// The row "server" of the table `state`, in a node: u64 the server's system identifier, u32 its timeline.
extension StateRows {
    private static let serverKey = Array("server".utf8)
    private static let serverBytes = 12

    static func server(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> ServerMark? {
        guard let row = try tables.state.get(serverKey.lent, transaction) else { return nil }
        guard row.byteCount == serverBytes else {
            throw EvstoreError.corruptBlock(position: .start, reason: "the row \"server\" of the table state has the wrong length")
        }
        return ServerMark(system: row.load(UInt64.self, at: 0), timeline: row.load(UInt32.self, at: 8))
    }

    static func put(_ server: ServerMark, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.state.put(serverKey.lent, (bytes(server.system) + bytes(server.timeline)).lent, &transaction)
    }
}

extension EventLog {
    /// Makes a node accept a server for its cluster log that it has refused.
    package func accept(_ server: ServerMark) async throws {
        try await update { update in try StateRows.put(server, &update.transaction, update.access.tables) }
        (order as? NodeOrder)?.fence.accept(server)
    }
}

package struct ServerProbe: Sendable {
    /// `host:port`; "" where the string names only one host.
    package var host: String
    /// Why the host can't be asked; nil where it answers.
    package var failure: String?
    package var takesWrites = false
    /// Nil where the server takes no writes, or does not say it.
    package var mark: ServerMark?

    /// Asks each host of a connection string, one after the other.
    /// - Throws: `EvstoreError.logUnavailable` where the string can't be parsed, or libpq can't be loaded.
    package static func all(_ conninfo: String, of log: String) throws(EvstoreError) -> [ServerProbe] {
        do {
            let hosts = try PostgresConnection.hosts(conninfo)
            if hosts.isEmpty { return [look(conninfo, nil, by: .now + interval)] }
            return hosts.map { look(conninfo, $0, by: .now + interval) }
        } catch { throw .logUnavailable(log: log, reason: error.message) }
    }

    private static let interval = Duration.seconds(3)
    /// The longest time that connecting takes for asking all other hosts; a process that connects repeatedly asks them only now and then.
    private static let asideInterval = Duration.seconds(1)
    private static let againAfter = Duration.seconds(5)
    private static let asked = Monitor<[String: (at: Instant, newer: PostgresHost?)]>([:])

    /// A host of the connection string that takes writes on a newer timeline than the current host, which then was replaced and started
    /// again; nil where there is none.
    /// - Parameter own: the current host, which takes writes too; only the others are asked, each in its share of the time.
    static func newer(
        than mark: ServerMark, at own: PostgresHost, _ conninfo: String, by deadline: Instant
    ) -> PostgresHost? {
        if let last = asked.withLock({ $0[conninfo] }), last.at.duration(to: .now) < againAfter { return last.newer }
        let end = min(deadline, .now + asideInterval)
        var newer: PostgresHost?
        do {
            let others = try PostgresConnection.hosts(conninfo).filter { !$0.names(own) }
            newer = others.indices.first { index in
                let share = Instant.now.duration(to: end) / (others.count - index)
                let look = look(conninfo, others[index], by: .now + share)
                return look.takesWrites && look.mark.map { $0.system == mark.system && $0.timeline > mark.timeline } ?? false
            }.map { others[$0] }
        } catch { return nil }
        asked.withLock { $0[conninfo] = (.now, newer) }
        return newer
    }

    private static func look(_ conninfo: String, _ host: PostgresHost?, by deadline: Instant) -> ServerProbe {
        let name = host.map { "\($0.host.isEmpty ? $0.address : $0.host)\($0.port.isEmpty ? "" : ":\($0.port)")" } ?? ""
        var look = ServerProbe(host: name)
        do {
            let made = try PostgresConnection(
                conninfo, deadline: deadline, application: "evstore", .init(host.map { [$0] }, takesAny: true))
            let isReadOnly = try made.run(FrameTable.isReadOnly, [], deadline: deadline).int(0, 0) != 0
            look.takesWrites = !isReadOnly
            look.mark = try made.serverMark(by: deadline)
        } catch { look.failure = error.message }
        return look
    }
}
