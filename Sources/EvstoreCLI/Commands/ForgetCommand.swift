internal import ArgumentParser
internal import EventModel
internal import Evstore

struct ForgetCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Makes the personal data of streams unreadable, for good.",
        discussion: """
            In a store whose events are sealed, what version files call personal is sealed once more, under a key for \
            each stream. This overwrites that key: from then on the members have their plainest value (null, or an empty \
            text), at every version, and all else stays. Read models are built anew when they are asked for. Names of \
            streams, ids and metadata are not personal.

            Archives of cuts are written anew without it. What was copied elsewhere before still holds it: prune older \
            backups (backup --keep).

            Example: evstore forget customer-17 --for-good
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("The streams.", valueName: "stream")) var streams: [String]

    @Flag(help: "Says that it is meant: nothing brings it back.") var forGood = false

    func run(in session: Session) async throws {
        let names = try streams.map { try StreamName($0) }
        guard forGood else {
            throw EvstoreError.consentNeeded(
                what: "the personal data of \(counted(names.count, "stream")) would be unreadable for good", how: "--for-good")
        }
        let report = try await session.withStore { store in try await store.forget(names) }
        if session.output.json {
            try session.output.object([
                "forgotten": .list(report.forgotten.map { .text($0.text) }), "before": .list(report.before.map { .text($0.text) }),
                "unknown": .list(report.unknown.map { .text($0.text) }), "readModels": .count(report.readModels),
                "archives": .list(report.archives.map { .text($0) }), "lines": .count(report.lines),
                "inUse": .list(report.inUse.map { .text($0) }), "fileSystem": .optional(report.fileSystem),
            ])
            return
        }
        for name in report.forgotten { try session.output.line("forgotten  \(name)") }
        for name in report.before { try session.output.line("forgotten  \(name), before") }
        for name in report.unknown { try session.output.line("nothing    \(name) never had personal data") }
        if report.readModels > 0 {
            try session.output.line("read models \(report.readModels) taken away; they are built anew when they are asked for")
        }
        if report.lines > 0 { try session.output.line("archives   \(counted(report.lines, "line")) written anew without it") }
        for file in report.archives {
            try session.output.line("unread     \(file) has lines that can't be read, and may hold it: delete it when you can")
        }
        for copy in report.inUse { try session.output.line("in use     \(copy) is a copy that a drill works with: it goes when that ends") }
        if let kind = report.fileSystem {
            try session.output.line(
                "warning    \(kind) has copies of what is overwritten: the old keys may be on the disk until their room is used again, "
                    + "and in snapshots; delete those, and trim or fill what is free")
        }
    }
}
