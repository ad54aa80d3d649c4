internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import Platform

/// A server of PostgreSQL that a cluster log's connection string names.
public struct ClusterServer: Sendable {
    /// Its host and port; "" where the string names one alone.
    public var host: String
    /// Why it can't be asked; nil where it answers.
    public var failure: String?
    public var takesWrites: Bool
    /// PostgreSQL's system identifier, which copies of a server's files share.
    public var system: UInt64?
    /// PostgreSQL's timeline, which grows with each promotion of a standby.
    public var timeline: UInt32?
    /// Whether it takes writes, and another one has taken its place: it has to be stopped.
    public var isReplaced = false
}

extension Cluster {
    /// Asks each server that the connection string names which it is. Two that take writes are two truths: what is appended to the older one
    /// is lost.
    /// - Throws: `EvstoreError.logUnavailable` where none can be asked for want of libpq.
    public func servers() async throws(EvstoreError) -> [ClusterServer] {
        try await StoreThreads.run { () async throws(EvstoreError) in try looks() }
    }

    private func looks() throws(EvstoreError) -> [ClusterServer] {
        let looks = try ServerProbe.all(connection, of: name)
        let newest = looks.filter(\.takesWrites).compactMap(\.mark?.timeline).max()
        let primaries = looks.count(where: \.takesWrites)
        return looks.map { look in
            ClusterServer(
                host: look.host, failure: look.failure, takesWrites: look.takesWrites, system: look.mark?.system,
                timeline: look.mark?.timeline,
                isReplaced: look.takesWrites && primaries > 1 && (look.mark.map { $0.timeline < newest ?? 0 } ?? false))
        }
    }

    /// Refuses to begin anything on one of two servers that take writes: a node that is new knows neither.
    /// - Throws: `EvstoreError.clusterMismatch`.
    func requireOneServer() throws(EvstoreError) {
        // With one host there is no other to compare it with.
        let primaries = try looks().filter(\.takesWrites)
        guard primaries.count > 1 else { return }
        let names = primaries.map { "\($0.host) (timeline \($0.timeline.map(String.init) ?? "unknown"))" }
        throw EvstoreError.clusterMismatch(
            log: name, reason: "\(names.count) servers take writes: \(names.joined(separator: ", "))",
            how: "stop the one that was replaced, and make it a standby of the other")
    }
}

extension StoreMaintenance {
    /// Has this node take the server that the cluster log is reached at now for the right one, which it has refused: where the database was moved to a
    /// system that was made anew (an upgrade, a restore), and the one before is stopped for good. What the node has is compared with it as ever.
    /// - Throws: `EvstoreError`: usage where the store belongs to no cluster log, or the server does not say which it is; logUnavailable.
    public func acceptServer() async throws(EvstoreError) {
        guard let membership = log.membership else { throw .usage("\(path) belongs to no cluster log") }
        try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                let looks = try ServerProbe.all(ConnectionFile.find(at: path), of: membership.log)
                let marks = looks.filter(\.takesWrites).compactMap(\.mark)
                guard let mark = marks.first, marks.count == 1 else {
                    throw EvstoreError.usage("\(marks.count) servers take writes and say which they are", fix: "leave exactly one running")
                }
                try await log.accept(mark)
            } catch { throw storeError(error, path, doing: "asking \(membership.log)") }
        }
    }
}
