internal import ArgumentParser
internal import EvstoreCluster

/// Which cluster log a command is about.
struct ClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A connection string of PostgreSQL, such as \"host=db1,db2 dbname=orders\"; EVSTORE_LOG where it is not given. No password: "
                + "that comes from PGPASSFILE, ~/.pgpass or a service file.", valueName: "conninfo"))
    var log: String?

    @Option(help: ArgumentHelp("The cluster log's name in its database.", valueName: "name")) var name: String

    func cluster() throws -> Cluster { try Cluster(name, connection: log) }
}
