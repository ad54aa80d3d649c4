internal import ArgumentParser
internal import EventModel
internal import Evstore

struct PromoteCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Makes a replica a store of its own, which is written from then on.",
        discussion: """
            It begins a new epoch, since its original may go on with other events: make sure that nobody writes to that any more. What the \
            original has appended since the backup that it says is not there. Whoever has the replica open goes on, and can append.

            Example: evstore --store standby promote
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in try await store.maintenance.promote() }
        let age = max(Timestamp.now.seconds(since: report.backupTime), 0)
        let object: Members = [
            "position": report.position, "epoch": report.epoch, "backupTime": report.backupTime, "ageSeconds": age,
        ]
        try session.output.print(object) {
            "promoted   at position \(grouped(report.position.rawValue)), in epoch \(report.epoch); "
                + "as of the backup of \(report.backupTime), \(counted(nearest(age), "second")) ago"
        }
    }
}
