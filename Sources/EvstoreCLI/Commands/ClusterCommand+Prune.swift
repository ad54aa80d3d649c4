internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import EvstoreCluster

extension ClusterCommand {
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
}
