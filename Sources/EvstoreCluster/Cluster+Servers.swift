internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import Platform
internal import Projections

/// A PostgreSQL server in a cluster log's connection string.
public struct ClusterServer: Sendable {
    /// Its host and port; "" where the string names a single server.
    public var host: String
    /// Why it can't be reached; nil where it answers.
    public var failure: String?
    public var takesWrites: Bool
    /// PostgreSQL's system identifier, which copies of a server's files share.
    public var system: UInt64?
    /// PostgreSQL's timeline, which grows with each promotion of a standby.
    public var timeline: UInt32?
    /// Whether it takes writes although another server has replaced it: it must be stopped.
    public var isReplaced = false
}

extension Cluster {
    /// Asks each server in the connection string for its identity. If two take writes, the events that are appended to the older one are
    /// lost.
    /// - Throws: `EvstoreError.logUnavailable` where no server can be asked because libpq is missing.
    public func servers() async throws(EvstoreError) -> [ClusterServer] {
        try await StoreThreads.run { () async throws(EvstoreError) in try probes() }
    }

    private func probes() throws(EvstoreError) -> [ClusterServer] {
        let probes = try ServerProbe.all(connection, of: name)
        let newest = probes.filter(\.takesWrites).compactMap(\.mark?.timeline).max()
        let primaries = probes.count(where: \.takesWrites)
        return probes.map { probe in
            ClusterServer(
                host: probe.host, failure: probe.failure, takesWrites: probe.takesWrites, system: probe.mark?.system,
                timeline: probe.mark?.timeline,
                isReplaced: probe.takesWrites && primaries > 1 && (probe.mark.map { $0.timeline < newest ?? 0 } ?? false))
        }
    }

    /// Refuses to start where two servers take writes: a new node can't tell which one is right.
    /// - Throws: `EvstoreError.clusterMismatch`.
    func requireOneServer() throws(EvstoreError) {
        // With one host there is no other server to compare it with.
        let primaries = try probes().filter(\.takesWrites)
        guard primaries.count > 1 else { return }
        let names = primaries.map { "\($0.host) (timeline \($0.timeline.map(String.init) ?? "unknown"))" }
        throw EvstoreError.clusterMismatch(
            log: name, reason: "\(names.count) servers take writes: \(names.joined(separator: ", "))",
            how: "stop the one that was replaced, and make it a standby of the other")
    }
}

extension StoreMaintenance {
    /// Accepts the server that the cluster log is reached at now, which this node has refused. Use it after the database was moved to a new
    /// system (an upgrade, a restore) and the old server is stopped for good. The node still compares its events with the server's.
    /// - Throws: `EvstoreError`: usage where the store belongs to no cluster log, or the server does not report its identity;
    ///   logUnavailable.
    public func acceptServer() async throws(EvstoreError) {
        guard let membership = log.membership else { throw .usage("\(path) belongs to no cluster log") }
        try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                let probes = try ServerProbe.all(ConnectionFile.find(at: path), of: membership.log)
                let marks = probes.filter(\.takesWrites).compactMap(\.mark)
                guard let mark = marks.first, marks.count == 1 else {
                    throw EvstoreError.usage("\(marks.count) servers take writes and say which they are", fix: "leave exactly one running")
                }
                try await log.accept(mark)
            } catch { throw EvstoreError(converting: error, at: path, doing: "asking \(membership.log)") }
        }
    }
}
