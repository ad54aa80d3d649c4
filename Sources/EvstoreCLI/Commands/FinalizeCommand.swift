internal import ArgumentParser
internal import Evstore
internal import Migration

struct FinalizeCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "finalize",
        abstract: "Makes the live version the oldest one promised: the way back is closed.",
        discussion: """
            Read models that no promised version needs are deleted; events never are. Consumers that see events at an older version would be \
            left behind: they are named, and nothing is done without --leave-consumers. In a cluster every node has to be at the version; one \
            that is gone is taken out by --without-node, and has to join anew.

            Example: evstore finalize v5
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("The live version, said again to be sure.", valueName: "vN")) var version: String

    @Flag(help: "Leave consumers behind that see events at an older version: they end with an error.") var leaveConsumers = false

    @Option(help: ArgumentHelp("A node of the cluster log that is gone; may be given several times.", valueName: "node"))
    var withoutNode: [String] = []

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.finalize(store.version(named: version), leavingConsumers: leaveConsumers, withoutNodes: withoutNode)
        }
        try session.output.print(["floor": report.floor]) {
            "floor      \(report.floor); the window is closed, \(counted(report.pruned, "read model")) deleted that no version needs"
        }
    }
}
