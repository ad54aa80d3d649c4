internal import ArgumentParser
internal import Evstore
internal import Migration

struct SnapshotCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Names restore points of the log.",
        discussion: """
            A snapshot is a row in the store and costs nothing. It protects from mistakes, not from \
            damage: it lies in the same files.

            Example: evstore snapshot take before-the-fair
            """,
        subcommands: [Take.self, List.self, Verify.self, Prune.self])

    struct Take: Command {
        static let configuration = CommandConfiguration(
            commandName: "take", abstract: "Names the end of the log.",
            discussion: "Example: evstore snapshot take before-the-fair")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "A name of its own.") var name: String

        func run(in session: Session) async throws {
            let snapshot = try await session.withStore { store in try await store.takeSnapshot(name) }
            try session.output.print(snapshot.members) {
                "snapshot   \(snapshot.name) at position \(grouped(snapshot.position.rawValue)), \(snapshot.live) live"
            }
        }
    }

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints every snapshot, oldest first.", discussion: "Example: evstore snapshot list --json")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let snapshots = try await session.withStore(.reading) { store in try store.snapshots() }
            let width = snapshots.map(\.name.count).max() ?? 0
            for snapshot in snapshots {
                try session.output.row(snapshot.members) {
                    "\(snapshot.name.padded(to: width))   at \(grouped(snapshot.position.rawValue).aligned(to: 13))   \(snapshot.live) live   \(snapshot.time)"
                        + (snapshot.epoch > .first ? "   epoch \(snapshot.epoch)" : "")
                }
            }
        }
    }

    struct Verify: Command {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Holds snapshots against the log and the read models.",
            discussion: "Example: evstore snapshot verify before-the-fair")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "The snapshot; every one where it is not given.") var name: String?

        func run(in session: Session) async throws {
            let findings = try await session.withStore(.reading) { store in try store.maintenance.verifySnapshots(name) }
            try CheckReport(findings, checked: "snapshots against the log", failing: .integrity).end(session.output)
        }
    }

    struct Prune: Command {
        static let configuration = CommandConfiguration(
            commandName: "prune", abstract: "Forgets all snapshots but the newest.",
            discussion: "Example: evstore snapshot prune --keep 5")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("How many to keep.", valueName: "n")) var keep = 5

        func validate() throws { if keep < 0 { throw ValidationError("--keep is a number of snapshots, not \(keep)") } }

        func run(in session: Session) async throws {
            let pruned = try await session.withStore { store in try await store.maintenance.pruneSnapshots(keeping: keep) }
            try session.output.print(["pruned": pruned]) {
                pruned.isEmpty ? "nothing to forget" : "forgotten  \(pruned.joined(separator: ", "))"
            }
        }
    }
}

extension SnapshotReport {
    var members: Members { ["name": name, "position": position, "epoch": epoch, "live": live, "time": time] }
}
