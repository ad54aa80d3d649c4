internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import EvstoreCluster

extension ClusterCommand {
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
                throw EvstoreError.logUnavailable(log: cluster.name, reason: "no server that the connection string names takes writes")
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
