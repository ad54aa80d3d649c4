internal import ArgumentParser

/// `evstore`: lists the commands, and the steps of a migration.
struct RootCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "evstore",
        abstract: "An event store whose schema goes forward and back.",
        discussion: """
            The life of a migration:
              evstore plan --to v5 --schemas DIR    what would happen
              evstore replay --to v5 --schemas DIR  builds v5 beside v4, then flips
              evstore diff orders --at v4 --at v5   what is different, key by key
              evstore rollback                      v4 again, keeping new events
              evstore replay --to v5                v5 again
              evstore finalize v5                   closes the way back

            Where vN stands, a label of the version file or a bare number does too. Results go to \
            standard output, progress and notes to standard error.

            Exit codes:
               0  ok
               1  internal failure, disk full, read-only
               2  usage; no such store, version or projection
               3  refused by the data, or findings
               4  pending work (status and plan --exit-code, status --expect)
               5  locked, or deadline passed
               6  newer than this program, or something in Swift is missing
               7  integrity
               8  finished, but for quarantined, parked or lost events
               9  interrupted: run it again
              10  refused without consent
            """,
        version: "0.2.0",
        groupedSubcommands: [
            CommandGroup(name: "Looking", subcommands: [StatusCommand.self, JournalCommand.self, VerifyCommand.self]),
            CommandGroup(
                name: "Events",
                subcommands: [
                    InitCommand.self, ImportCommand.self, AppendCommand.self, ReadCommand.self, WatchCommand.self, ExportCommand.self,
                ]),
            CommandGroup(name: "Read models", subcommands: [QueryCommand.self, DiffCommand.self, QuarantineCommand.self]),
            CommandGroup(name: "Effects", subcommands: [ConsumeCommand.self, ConsumersCommand.self]),
            CommandGroup(
                name: "Versions",
                subcommands: [
                    SchemaCommand.self, PlanCommand.self, ReplayCommand.self, RollbackCommand.self, FinalizeCommand.self,
                    SnapshotCommand.self,
                ]),
            CommandGroup(name: "Several machines", subcommands: [ClusterCommand.self, JoinCommand.self]),
            CommandGroup(
                name: "Keeping",
                subcommands: [
                    BackupCommand.self, RestoreCommand.self, FollowCommand.self, PromoteCommand.self, SalvageCommand.self,
                    DrillCommand.self, KeyCommand.self, RecipherCommand.self,
                    ForgetCommand.self,
                ]),
        ] + serving)

    #if Service
        private static let serving = [CommandGroup(name: "Serving", subcommands: [ServeCommand.self, InspectCommand.self])]
    #else
        private static let serving: [CommandGroup] = []
    #endif

    @OptionGroup(title: "Everywhere") var global: GlobalOptions
}

protocol Group: ParsableCommand {}

extension Group {
    /// The words that name the group on the command line.
    static var path: String { Self.self == RootCommand.self ? "evstore" : "evstore \(_commandName)" }
}
