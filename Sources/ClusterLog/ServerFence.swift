internal import Bytes
package import EventLog
internal import EventModel
internal import LMDB
internal import Platform

/// The server that a cluster log is written on: PostgreSQL's system identifier, which copies of the files share, and the timeline, which
/// grows with each promotion of a standby.
package struct ServerMark: Hashable, Sendable {
    package var system: UInt64
    package var timeline: UInt32

    init(system: UInt64, timeline: UInt32) { (self.system, self.timeline) = (system, timeline) }
}

/// Keeps a node from a server that another has taken the place of. PostgreSQL itself keeps nobody from starting the old primary again after a
/// failover: it would acknowledge appends that the new one never has. So a node keeps the newest timeline that it has seen, and refuses each
/// server of an older one, or of another system.
final class ServerFence: Sendable {
    private struct State {
        var newest, saved: ServerMark?
    }

    private let membership: Membership
    private let state: Monitor<State>

    init(_ membership: Membership, _ saved: ServerMark?) {
        self.membership = membership
        state = Monitor(State(newest: saved, saved: saved))
    }

    /// Refuses a server, or takes it for the newest.
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

    /// What has to be written down yet.
    var unsaved: ServerMark? { state.withLock { $0.newest == $0.saved ? nil : $0.newest } }

    func noteSaved(_ server: ServerMark) { state.withLock { $0.saved = server } }

    /// Takes a server for the newest, whatever was seen before.
    func accept(_ server: ServerMark) { state.withLock { $0 = State(newest: server, saved: server) } }
}

/// The row "server" of the table `state`, of a node: u64 the server's system identifier, u32 its timeline.
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
    /// Has a node take a server for that of its cluster log, which it has refused.
    package func accept(_ server: ServerMark) async throws {
        try await update { update in try update.put(server) }
        (order as? NodeOrder)?.fence.accept(server)
    }
}

extension LogUpdate {
    fileprivate mutating func put(_ server: ServerMark) throws { try StateRows.put(server, &transaction, access.tables) }
}
