internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import EvstoreCluster
internal import Platform

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
            let version = try at.map { text throws(EvstoreError) in try schemas.version(named: text) }
            let cluster = try cluster.cluster(session)
            try await cluster.create(
                schemas: schemas, version: version, steps: session.application.steps, projections: session.application.projections)
            if session.output.json {
                try session.output.object(["name": .text(cluster.name)])
            } else {
                try session.output.line("made       the cluster log \(cluster.name); `evstore join` makes its nodes")
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
            if session.output.json {
                try session.output.object(["name": .text(cluster.name), "node": .text(node), "position": .position(position)])
            } else {
                try session.output.line(
                    "copied     \(grouped(position.rawValue)) events to \(cluster.name); this store is its node \(node)")
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
            if session.output.json {
                return try session.output.object([
                    "name": .text(status.name), "position": .position(status.position), "epoch": .count(status.epoch.rawValue),
                    "frames": .count(status.frames), "pruned": .count(status.pruned),
                    "nodes": .list(
                        status.nodes.map { node in
                            [
                                "node": .text(node.name), "live": .version(node.live), "position": .position(node.position),
                                "lag": .count(node.lag), "framesBehind": .count(node.framesBehind), "program": .text(node.program),
                                "secondsAgo": .count(node.silence.components.seconds),
                                "holdsFloor": .bool(node.live == floor),
                            ]
                        }),
                ])
            }
            try session.output.line(
                "log        \(status.name) at position \(grouped(status.position.rawValue)), \(counted(status.frames, "frame")), all there"
                    + (status.pruned == 0 ? "" : "; those up to \(grouped(status.pruned)) were pruned"))
            let width = status.nodes.map(\.name.count).max() ?? 0
            for node in status.nodes {
                let lag =
                    node.framesBehind == 0
                    ? "at the end" : "\(node.lag == 0 ? counted(node.framesBehind, "frame") : counted(node.lag, "event")) behind"
                try session.output.line(
                    "node       \(node.name.padded(to: width))   \(node.live) live   \(lag)   seen \(node.silence.components.seconds) s ago"
                        + (node.live == floor && status.nodes.contains { $0.live != floor } ? "   holds the floor" : ""))
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
                guard store.clusterNode != nil else { throw EvstoreError.usage("\(store.path) belongs to no cluster log") }
                let before = try store.last()
                try await store.catchUp()
                return (before, try store.last())
            }
            let position = after.position.rawValue
            if session.output.json {
                try session.output.object(["from": .position(before.position), "position": .position(after.position)])
            } else if after.epoch > before.epoch {
                try session.output.line(
                    "position   \(grouped(position)), in epoch \(after.epoch): the log was cut; what went is in archive/ of this node")
            } else {
                try session.output.line(
                    "position   \(grouped(position)), \(counted(position - before.position.rawValue, "event")) taken in")
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
                guard let node = store.clusterNode else { throw EvstoreError.usage("\(store.path) belongs to no cluster log") }
                try await store.maintenance.leave()
                return (node.log, try store.last().position)
            }
            if session.output.json {
                try session.output.object(["name": .text(log), "position": .position(position)])
            } else {
                try session.output.line("left       \(log) at position \(grouped(position.rawValue)); this store goes on alone")
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
                let file = try File(into, .createNew)
                var bytes = 0
                let report = try await store.maintenance.rescue { lines in
                    try file.write(lines, at: bytes)
                    bytes += lines.count
                    return true
                }
                try file.sync()
                return report
            }
            if session.output.json {
                try session.output.object([
                    "common": .position(report.common), "last": .position(report.last), "events": .count(report.events),
                    "file": .text(into),
                ])
            } else {
                try session.output.line(
                    "rescued    \(counted(report.events, "event")) behind position \(grouped(report.common.rawValue)) into \(into)")
            }
        }
    }
}
