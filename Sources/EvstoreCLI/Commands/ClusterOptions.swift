internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import EvstoreCluster

/// The options that name a cluster log.
struct ClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A connection string of PostgreSQL, such as \"host=db1,db2 dbname=orders\"; EVSTORE_LOG where it is not given. No password: "
                + "that comes from PGPASSFILE, ~/.pgpass or a service file.", valueName: "conninfo"))
    var log: String?

    @Option(help: ArgumentHelp("The cluster log's name in its database.", valueName: "name")) var name: String

    func cluster(_ session: Session) throws -> Cluster { try Cluster(name, connection: log).noted(session) }
}

/// The connection and name of a cluster log, which a node at `--store` may provide instead.
struct KnownClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A connection string of PostgreSQL; EVSTORE_LOG, then that of the node at --store, where it is not given.",
            valueName: "conninfo"))
    var log: String?

    @Option(
        help: ArgumentHelp("The cluster log's name in its database; that of the node at --store where it is not given.", valueName: "name"))
    var name: String?

    func cluster(_ session: Session) throws -> Cluster {
        if let name { return try Cluster(name, connection: log).noted(session) }
        return try Cluster(of: session.global.storePath(), connection: log).noted(session)
    }
}

extension EventStore {
    /// The cluster log that the store belongs to, and its name there.
    func requireNode() throws(EvstoreError) -> (log: String, node: String) {
        guard let clusterNode else { throw .usage("\(path) belongs to no cluster log") }
        return clusterNode
    }
}

extension Cluster {
    /// The cluster log, after the warning about its connection string was printed.
    fileprivate func noted(_ session: Session) throws -> Cluster {
        if let warning = try warning { session.output.note("warning: \(warning)") }
        return self
    }
}
