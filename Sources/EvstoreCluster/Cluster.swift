internal import Bytes
internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import FoundationEssentials
internal import Platform
public import Projections
public import SchemaEvolution

/// A cluster log: a row and frames in a PostgreSQL database that decide the order of the events of several machines. Each machine has a
/// store of its own, a node, which holds all events and answers every query.
///
/// Appends of all nodes are linearisable: each is checked against everything that was acknowledged before it, on any node. Reads are local
/// to the node: they see a prefix of the log, which is some milliseconds old at most while PostgreSQL can be reached.
public struct Cluster: Sendable {
    /// The name of the cluster log in its database.
    public let name: String
    let connection: String

    /// - Parameter connection: a libpq connection string, such as `host=db1,db2 dbname=orders`, without a password; where nil, the
    ///   environment variable EVSTORE_LOG.
    /// - Throws: `EvstoreError.usage` where the name is not valid, or the connection string can't be read or contains a password.
    public init(_ name: String, connection: String? = nil) throws(EvstoreError) {
        try Self.check(name, "a cluster log")
        self.name = name
        self.connection = try ConnectionFile.given(connection)
    }

    /// The cluster log that the store at a path is a node of, with the node's own connection.
    /// - Parameter connection: replaces the node's own connection string.
    /// - Throws: `EvstoreError`: usage where the store belongs to none; also the errors of opening it for reading.
    public init(of path: String, connection: String? = nil) throws(EvstoreError) {
        do {
            guard let membership = try EventLog.node(at: path)?.membership else {
                throw EvstoreError.usage("\(path) belongs to no cluster log", fix: "name the cluster log and its connection string")
            }
            self.name = membership.log
            self.connection = if let connection { try ConnectionFile.given(connection) } else { try ConnectionFile.find(at: path) }
        } catch { throw EvstoreError(converting: error, at: path, doing: "reading \(path)") }
    }

    /// A warning about the connection string: it leads over a network and does not verify the server's identity. Nil where there is none.
    package var warning: String? { get throws(EvstoreError) { try ConnectionFile.warning(connection) } }

    func database() -> ClusterDatabase { ClusterDatabase(log: name, connection, judge: RegisteredRows.judge) }

    /// - Throws: `EvstoreError.usage` where what is named can't have the name.
    static func check(_ name: String, _ what: String) throws(EvstoreError) {
        if NodeRow.isName(name) { return }
        throw .usage("\(quoted(name)) is no name of \(what)", fix: "use 1 to 63 letters, digits, hyphens, underscores and dots")
    }
}

extension Options {
    /// Lets a program write to stores that are nodes of a cluster log. The connection string comes from the store's file `cluster`, or from
    /// the environment variable EVSTORE_LOG; libpq is loaded when it is first needed.
    /// - Parameter program: the program's name in the list of nodes.
    public mutating func joinsClusters(as program: String = "") { ordering = PostgresOrdering(program: program) }
}

extension Cluster {
    /// Creates an empty cluster log, whose floor and top are `version` (the newest of `schemas` where nil). Nodes then join it.
    /// - Throws: `EvstoreError`: usage where a cluster log of this name exists, schemaInvalid, unknownVersion, logUnavailable.
    public func create(
        schemas: Schemas, version: SchemaVersion? = nil, steps: [any SwiftStep] = [], projections: [any SwiftProjection] = []
    ) async throws(EvstoreError) {
        // The store only exists until it is copied.
        var options = Options()
        options.allowsUnsafeFileSystem = true
        options.ballastBytes = 0
        let directory: OwnedDirectory
        do throws(StorageError) {
            directory = try OwnedDirectory((ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp") + "/evstore-cluster-")
        } catch { throw .ioFailure(doing: "making a temporary directory", reason: error.message) }
        defer { do { try Directory.remove(directory.path) } catch {} }
        let store = try await EventStore.create(
            directory.path + "/store", schemas: schemas, version: version, steps: steps, projections: projections, options: options)
        do {
            try await store.maintenance.copy(to: self, as: nil)
        } catch {
            try await store.close()
            throw error
        }
        try await store.close()
    }
}

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

/// The status of a cluster log and its nodes.
public struct ClusterStatus: Sendable {
    /// A node as it has last reported itself.
    public struct Node: Sendable {
        public var name: String
        public var live: SchemaVersion
        public var position: Position
        /// The number of events that it has not taken in yet.
        public var lag: UInt64
        /// The number of frames that it has not taken in yet: frames of events, or frames without events such as a cut, behind which its
        /// lag is not known.
        public var framesBehind: UInt64
        public var program: String
        /// How long ago its last report was, in whole seconds: a node that no process has open reports nothing.
        public var silence: Duration
    }

    public var name: String
    /// The position of the last event.
    public var position: Position
    public var epoch: Epoch
    /// The number of frames; all of them were counted.
    public var frames: UInt64
    /// The last of the frames that were removed because every node and a backup have them; 0 where none were removed.
    public var pruned: UInt64
    public var nodes: [Node]
}

extension Cluster {
    /// Asks PostgreSQL where the cluster log ends and what its nodes have last reported, and counts the frames.
    /// - Throws: `EvstoreError`: logUnavailable, usage where the cluster log does not exist, clusterDamaged where a frame is missing.
    public func status() async throws(EvstoreError) -> ClusterStatus {
        try await StoreThreads.run { () async throws(EvstoreError) in
            let database = database()
            let row = try database.readyRow()
            try database.requireWhole(row)
            return try ClusterStatus(name, row, database.nodes())
        }
    }
}

extension EventStore {
    /// The status of the store's cluster log and its nodes; nil where it belongs to none. Unlike `Cluster.status` it does not count frames:
    /// it makes three short queries to PostgreSQL, whatever the size of the log.
    /// - Throws: `EvstoreError`: logUnavailable, clusterDamaged.
    package func clusterStatus() async throws(EvstoreError) -> ClusterStatus? {
        guard let membership = log.membership else { return nil }
        return try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                return try ClusterStatus(membership.log, database.readyRow(), database.nodes())
            } catch { throw EvstoreError(converting: error, at: path, doing: "asking for the nodes of \(membership.log)") }
        }
    }
}

extension ClusterStatus {
    fileprivate init(_ name: String, _ row: ClusterRow, _ nodes: [ReportedNode]) throws(EvstoreError) {
        self.init(
            name: name, position: row.last.position, epoch: row.last.epoch, frames: row.end.number.minus(row.pruned),
            pruned: row.pruned,
            nodes: nodes.map { node in
                ClusterStatus.Node(
                    name: node.name, live: node.live, position: node.position, lag: row.last.position.events(after: node.position),
                    framesBehind: row.end.number.minus(node.frame), program: node.program, silence: node.silence)
            })
    }
}
