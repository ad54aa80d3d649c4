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

            What was written before a member was personal, or before the store was sealed, is not separate, and stays: \
            the command tells how many events still show it, and how many have no image with the plainest value, each \
            with the first position (exit 8).

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
        try session.output.print(report.members) { report.words }
        if !report.stillShown.isEmpty || !report.withoutImage.isEmpty { throw Exit.quarantined }
    }
}

extension ForgetReport.EventsOfStream: PrintableObject {
    var members: Members { ["stream": stream, "events": count, "first": first] }
}

extension ForgetReport {
    fileprivate var members: Members {
        [
            "forgotten": forgotten, "before": before, "unknown": unknown, "readModels": readModels, "archives": archives, "lines": lines,
            "inUse": inUse, "fileSystem": fileSystem, "stillShown": stillShown, "withoutImage": withoutImage,
        ]
    }

    @TextLines fileprivate var words: [String] {
        for name in forgotten { "forgotten  \(name)" }
        for name in before { "forgotten  \(name), before" }
        let shown = Set(stillShown.map(\.stream))
        for name in unknown where !shown.contains(name) { "nothing    \(name) never had personal data" }
        for events in stillShown {
            "SHOWN      \(events.stream): \(counted(events.count, "event")) from position \(grouped(events.first.rawValue)) on "
                + "still show personal data: they were written before it was personal, or before the store was sealed"
        }
        for events in withoutImage {
            "HIDDEN     \(events.stream): \(counted(events.count, "event")) from position \(grouped(events.first.rawValue)) on "
                + "have no image at the live version: a step can't convert what is in the place of personal data"
        }
        if readModels > 0 {
            "read models \(readModels) taken away; they are built anew when they are asked for"
        }
        if lines > 0 { "archives   \(counted(lines, "line")) written anew without it" }
        for file in archives {
            "unread     \(file) has lines that can't be read, and may hold it: delete it when you can"
        }
        for copy in inUse { "in use     \(copy) is a copy that a drill works with: it goes when that ends" }
        if let kind = fileSystem {
            "warning    \(kind) has copies of what is overwritten: the old keys may be on the disk until their room is used again, "
                + "and in snapshots; delete those, and trim or fill what is free"
        }
    }
}
