internal import Bytes
package import EventLog
internal import EventModel
internal import LMDB
internal import Platform

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
