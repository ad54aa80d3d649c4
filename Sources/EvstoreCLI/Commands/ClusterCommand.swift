internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import EvstoreCluster
internal import Platform
internal import SchemaEvolution

struct ClusterCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Shares one log between several machines, in an order that PostgreSQL decides.",
        discussion: """
            Every node is a store with all events, that answers by itself; an append goes through PostgreSQL and is judged against everything \
            that was acknowledged anywhere. `evstore join` makes a node.

            Example: evstore cluster create --log "host=db1 dbname=orders" --name orders --schemas Schemas/orders
            An existing store: evstore --store orders cluster copy --log "host=db1 dbname=orders" --name orders --node a
            """,
        subcommands: [
            Create.self, Copy.self, Status.self, CatchUp.self, Leave.self, Rescue.self, Prune.self, Check.self, AcceptServer.self,
        ])

    struct Create: Command {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Makes an empty cluster log, which nodes can join.",
            discussion: "Example: evstore cluster create --log \"host=db1 dbname=orders\" --name orders --schemas Schemas/orders --at v1")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @OptionGroup(title: "The cluster log") var cluster: ClusterOptions

        @Option(help: ArgumentHelp("The version to begin at; the newest of --schemas where it is not given.", valueName: "vN"))
        var at: String?

        func run(in session: Session) async throws {
            let schemas = try Schemas.load(global.schemasPath(for: "cluster create"))
            let version = try at.map { try schemas.version(named: $0) }
            let cluster = try cluster.cluster(session)
            try await cluster.create(
                schemas: schemas, version: version, steps: session.application.steps, projections: session.application.projections)
            try session.output.print(["name": cluster.name]) {
                "made       the cluster log \(cluster.name); `evstore join` makes its nodes"
            }
        }
    }

    struct Copy: Command {
        static let configuration = CommandConfiguration(
            commandName: "copy", abstract: "Makes a cluster log of an existing store, and the store its first node.",
            discussion: """
                Nobody else may have the store open. Events, positions and hash chain stay what they are. A copy that was interrupted is begun \
                anew.

                Example: evstore --store orders cluster copy --log "host=db1 dbname=orders" --name orders --node a
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @OptionGroup(title: "The cluster log") var cluster: ClusterOptions

        @Option(help: ArgumentHelp("This node's own name in the cluster.", valueName: "node")) var node: String

        func run(in session: Session) async throws {
            let cluster = try cluster.cluster(session)
            let position = try await session.withStore { store in
                try await store.maintenance.copy(to: cluster, as: node, progress: session.progress)
                return try store.last().position
            }
            try session.output.print(["name": cluster.name, "node": node, "position": position]) {
                "copied     \(grouped(position.rawValue)) events to \(cluster.name); this store is its node \(node)"
            }
        }
    }

    struct Status: Command {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Prints where the cluster log ends, and its nodes as they have reported themselves.",
            discussion: """
                Every frame is counted, so that one which somebody has deleted is noticed. A node that nobody has open reports nothing.

                Example: evstore --store orders cluster status
                Without a node: evstore cluster status --log "host=db1 dbname=orders" --name orders
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @OptionGroup(title: "The cluster log") var cluster: KnownClusterOptions

        func run(in session: Session) async throws {
            let status = try await cluster.cluster(session).status()
            let floor = status.nodes.map(\.live).min()
            let nodes = status.nodes.map { node -> Members in
                [
                    "node": node.name, "live": node.live, "position": node.position, "lag": node.lag, "framesBehind": node.framesBehind,
                    "program": node.program, "secondsAgo": node.silence.components.seconds, "holdsFloor": node.live == floor,
                ]
            }
            let object: Members = [
                "name": status.name, "position": status.position, "epoch": status.epoch, "frames": status.frames, "pruned": status.pruned,
                "nodes": nodes,
            ]
            try session.output.print(object) {
                "log        \(status.name) at position \(grouped(status.position.rawValue)), \(counted(status.frames, "frame")), all there"
                    + (status.pruned == 0 ? "" : "; those up to \(grouped(status.pruned)) were pruned")
                let width = status.nodes.map(\.name.count).max() ?? 0
                for node in status.nodes {
                    let lag =
                        node.framesBehind == 0
                        ? "at the end" : "\(node.lag == 0 ? counted(node.framesBehind, "frame") : counted(node.lag, "event")) behind"
                    "node       \(node.name.padded(to: width))   \(node.live) live   \(lag)   seen \(node.silence.components.seconds) s ago"
                        + (node.live == floor && status.nodes.contains { $0.live != floor } ? "   holds the floor" : "")
                }
            }
        }
    }

    struct CatchUp: Command {
        static let configuration = CommandConfiguration(
            commandName: "catch-up", abstract: "Takes in what the cluster log has and this node has not.",
            discussion: """
                A node that `serve`, or a service of its own, has open follows by itself. Afterwards this node has every event that was \
                acknowledged anywhere before the command.

                Example: evstore --store orders cluster catch-up
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let (before, after) = try await session.withStore(isStale: true) { store in
                _ = try store.requireNode()
                let before = try store.last()
                try await store.catchUp()
                return (before, try store.last())
            }
            let position = after.position.rawValue
            try session.output.print(["from": before.position, "position": after.position]) {
                if after.epoch > before.epoch {
                    "position   \(grouped(position)), in epoch \(after.epoch): the log was cut; what went is in archive/ of this node"
                } else {
                    "position   \(grouped(position)), \(counted(position - before.position.rawValue, "event")) taken in"
                }
            }
        }
    }

    struct Leave: Command {
        static let configuration = CommandConfiguration(
            commandName: "leave", abstract: "Takes this node out of its cluster log: a store of its own, with all events it has.",
            discussion: "Nobody else may have the store open.\n\nExample: evstore --store orders cluster leave")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let (log, position) = try await session.withStore { store in
                let node = try store.requireNode()
                try await store.maintenance.leave()
                return (node.log, try store.last().position)
            }
            try session.output.print(["name": log, "position": position]) {
                "left       \(log) at position \(grouped(position.rawValue)); this store goes on alone"
            }
        }
    }

    struct Rescue: Command {
        static let configuration = CommandConfiguration(
            commandName: "rescue", abstract: "Exports the events that this node has and the cluster log has not, after that was set back.",
            discussion: """
                After a failover to a standby that was behind, the nodes that hold more refuse to go on. The events come as lines, at their birth \
                versions, with ids; nothing is changed. Then join anew in another directory, look at the lines, and import those that are to \
                stand: each is appended once.

                Example: evstore --store orders cluster rescue --into rescued.jsonl
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("The file that gets the lines; nothing may be there.", valueName: "file")) var into: String

        func run(in session: Session) async throws {
            let report = try await session.withStore(.reading, isStale: true) { store in
                let isThere = EvstoreError.usage("\(into) is there already")
                if try onFiles("looking for \(into)", { try Directory.ownStatus(into) }) != nil { throw isThere }
                let made = try onFiles("writing \(into)") { try WholeFile(amongOthers: into) }
                defer { made.discard() }
                var bytes = 0
                let report = try await store.maintenance.rescue { lines in
                    try made.file.write(lines, at: bytes)
                    bytes += lines.count
                    return true
                }
                if try !onFiles("writing \(into)", { try made.add(mayBeEmpty: true) }) { throw isThere }
                return report
            }
            try session.output.print(["common": report.common, "last": report.last, "events": report.events, "file": into]) {
                "rescued    \(counted(report.events, "event")) behind position \(grouped(report.common.rawValue)) into \(into)"
            }
        }
    }

    struct Prune: Command {
        static let configuration = CommandConfiguration(
            commandName: "prune", abstract: "Removes the frames from PostgreSQL that every node and a backup of this node have.",
            discussion: """
                This node is backed up into the directory, as `backup` does, and the whole backup is read again. Then the frames go that it and \
                every node have; those that a node lacks stay, and its name is printed. From then on a new node begins with a replica of a backup: \
                `follow --once`, then `join`.

                Example: evstore --store orders cluster prune /mnt/copies
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: ArgumentHelp("The directory of this node's backups.", valueName: "dir")) var backups: String

        func run(in session: Session) async throws {
            let (log, report) = try await session.withStore { store in
                (try store.requireNode().log, try await store.maintenance.pruneFrames(backingUpInto: backups, progress: session.progress))
            }
            let object: Members = [
                "name": log, "through": report.through, "removed": report.removed, "left": report.left, "neededBy": report.neededBy,
            ]
            try session.output.print(object) {
                let needing = report.neededBy.joined(separator: ", ")
                let first = needing.isEmpty ? "the last one that the backup has" : "one that \(needing) needs"
                "pruned     \(counted(report.removed, "frame")) of \(log); \(grouped(report.left)) are left, from \(first) on"
            }
        }
    }

    struct Check: Command {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Asks each server that the connection string names which it is, and whether two take writes.",
            discussion: """
                After a failover the old primary, started again, takes writes as before, and what is appended to it is lost. A node that has seen \
                the new one refuses it; one that has not can't know. Exits with 7 where two servers take writes, with 5 where none does.

                Example: evstore --store orders cluster check
                Without a node: evstore cluster check --log "host=db1,db2 dbname=orders" --name orders
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @OptionGroup(title: "The cluster log") var cluster: KnownClusterOptions

        func run(in session: Session) async throws {
            let cluster = try cluster.cluster(session)
            let servers = try await cluster.servers()
            let primaries = servers.count { $0.takesWrites }
            let listed = servers.map { server -> Members in
                [
                    "host": server.host, "takesWrites": server.takesWrites, "system": server.system.map { String($0) },
                    "timeline": server.timeline, "isReplaced": server.isReplaced, "failure": server.failure,
                ]
            }
            try session.output.print(["name": cluster.name, "primaries": primaries, "servers": listed]) {
                let width = servers.map(\.host.count).max() ?? 0
                for server in servers {
                    let state = server.failure ?? (server.takesWrites ? "takes writes" : "a standby")
                    let mark = server.timeline.map { "   timeline \($0)" } ?? ""
                    let advice = server.isReplaced ? "   was replaced: stop it, and make it a standby of the other" : ""
                    "server     \(server.host.padded(to: width))   \(state)\(mark)\(advice)"
                }
            }
            if primaries > 1 { throw Exit.integrity }
            if primaries == 0 {
                let reason = "no server that the connection string names takes writes"
                session.output.note("note: \(EvstoreError.logUnavailable(log: cluster.name, reason: reason).words)")
                throw Exit.locked
            }
        }
    }

    struct AcceptServer: Command {
        static let configuration = CommandConfiguration(
            commandName: "accept-server", abstract: "Has this node take the server that it refuses for the right one.",
            discussion: """
                For a database that was moved to a system made anew, by an upgrade or a restore, once the one before is stopped for good. What the \
                node has is compared with it as ever.

                Example: evstore --store orders cluster accept-server
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let (log, position) = try await session.withStore(isStale: true) { store in
                let node = try store.requireNode()
                try await store.maintenance.acceptServer()
                try await store.catchUp()
                return (node.log, try store.last().position)
            }
            try session.output.print(["name": log, "position": position]) {
                "accepted   the server of \(log); this node is at position \(grouped(position.rawValue))"
            }
        }
    }
}

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
