internal import ArgumentParser
internal import Evstore
internal import EvstoreCluster

struct JoinCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Makes a store that is a node of a cluster log, with all of its events.",
        discussion: """
            Every frame, block and link is checked before the store appears at --store. It works at the cluster's top version; read models are \
            built when they are asked for, or by `replay`. A replica at --store becomes the node, and takes in what is behind its end. How PostgreSQL is reached is written into the store, without a password.

            Example: evstore --store orders join --log "host=db1,db2 dbname=orders" --name orders --node a
            A node whose disk was lost: the same with --replace
            From the newest backup first, so that only the rest comes from PostgreSQL: evstore --store orders follow --from /mnt/copies --once
            And then the node: evstore --store orders join --name orders --node a --replace
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions
    @OptionGroup(title: "The cluster log") var cluster: ClusterOptions

    @Option(help: ArgumentHelp("This node's own name in the cluster.", valueName: "node")) var node: String
    @Flag(help: "Take the place of a node of this name, whose store is lost.") var replace = false

    func run(in session: Session) async throws {
        let (path, cluster) = try (global.storePath(), cluster.cluster(session))
        try await StoreMaintenance.join(
            cluster, as: node, into: path, replacing: replace, options: session.options(), logger: session.logger,
            progress: session.progress)
        session.bar.finish()
        let position = try await session.withStore(.reading, isStale: true) { store in try store.last().position }
        try session.output.print(["node": node, "position": position]) {
            "joined     \(path) is node \(node) of \(cluster.name), at position \(grouped(position.rawValue))"
        }
    }
}
