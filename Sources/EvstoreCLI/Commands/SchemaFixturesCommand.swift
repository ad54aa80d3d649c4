internal import ArgumentParser
internal import Evstore
internal import SchemaEvolution
internal import SchemaTools

struct SchemaFixturesCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "fixtures",
        abstract: "Keeps events of every version, and what they look like at every other.",
        discussion: """
            fixtures/vN/*.jsonl beside the version files holds event lines of version N; fixtures/vN/seen/vM.jsonl holds what \
            version M sees of them. They are recorded once, while a version is new, and verified ever after.

            Example: evstore schema fixtures verify --schemas Schemas/shop
            """,
        subcommands: [Record.self, Verify.self])

    struct Record: Command {
        static let configuration = CommandConfiguration(
            commandName: "record",
            abstract: "Writes events of every version, and what every version sees of every fixture.",
            discussion: """
                Without a file or a store, each type of each version that has no event yet gets some, made from its shape; \
                a type for which none can be made is named with the reason. Those of the newest version may come from a \
                file of event lines, or from a store: the first few of each type, with a stand-in for \
                what the shapes call personal (metadata stays, and so do names of streams that no template makes: look at them). What is there already is \
                never changed by accident: a file may grow, but one that would change is refused with its first difference \
                unless --overwrite is given, and one that only released versions have a part in is refused whatever is given.

                Example: evstore schema fixtures record orders.jsonl --schemas Schemas/shop
                From a store: evstore schema fixtures record --store /var/shop --each 5 --schemas Schemas/shop
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: ArgumentHelp("Event lines of the newest version; - is standard input.", valueName: "file")) var file: String?
        @Option(help: ArgumentHelp("How many events of each type are taken from a store.", valueName: "n")) var each = 3
        @Flag(help: "Replace what is there and differs, unless it is of released versions.") var overwrite = false

        func run(in session: Session) async throws {
            let directory = try global.schemasPath(for: "schema fixtures record")
            let history = try History.load(directory: directory).with(SwiftSteps(session.application.steps))
            guard let newest = history.versions.last else { throw EvstoreError.usage("\(directory) holds no version") }
            var fixtures = try Fixtures.load(directory: directory, history) ?? Fixtures(beside: directory)
            var files = FixtureFiles()
            var skipped: [Fixtures.Skipped] = []
            if let source = try await source(newest, session) {
                guard !source.text.isEmpty else { throw EvstoreError.usage("there is no event of \(newest.number) to record") }
                try files.add(fixtures.path(of: newest.number), source.text, isFixed: newest.isReleased)
                try fixtures.replace(source.text, of: newest)
            } else {
                let made = try fixtures.fill(history)
                for (version, text) in made.files {
                    try files.add(fixtures.path(of: version.number), text, isFixed: version.isReleased)
                }
                skipped = made.skipped
            }
            let renderings = try fixtures.renderings(history)
            if let failure = renderings.flatMap(\.failures).first { throw EvstoreError.schemaInvalid([failure]) }
            try files.add(renderings, history)
            let refused = files.changes.filter { $0.old != nil && !$0.isGrowth && ($0.isFixed || !overwrite) }
            if refused.isEmpty { try files.write() }
            try session.output.print(RecordReport(version: newest.number, files: files, refused: refused, skipped: skipped))
            if !refused.isEmpty { throw Exit.refused }
        }

        /// The source of the fixtures; nil where none is named.
        private func source(_ version: VersionFile, _ session: Session) async throws -> FixtureSource? {
            if let file {
                return try FixtureSource(
                    lines: Input.withoutMark(try Input.all(file, atMost: FixtureSource.bytesMax, session.interrupts)), of: version,
                    file: file)
            }
            if global.store != nil {
                return try await session.withStore(.reading) { store in
                    try FixtureSource(of: version, each: each) { take in try store.readAll(at: version.number, take) }
                }
            }
            return nil
        }
    }

    struct Verify: Command {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Proves that every fixture still reads at every version, and looks as it did.",
            discussion: """
                Each line of fixtures/vN must be an event of version N with an image at every newer version, and its images \
                at newer and older versions must be those that were recorded. A change that was meant is recorded with \
                `schema fixtures record --overwrite`.

                Example: evstore schema fixtures verify --schemas Schemas/shop
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) throws {
            let directory = try global.schemasPath(for: "schema fixtures verify")
            let history = try History.load(directory: directory).with(SwiftSteps(session.application.steps))
            guard let fixtures = try Fixtures.load(directory: directory, history) else {
                throw EvstoreError.usage("\(directory) has no fixtures: evstore schema fixtures record")
            }
            let (findings, images) = try fixtures.verify(history)
            let count = fixtures.lines.values.map(\.count).reduce(0, +)
            let report = CheckReport(
                findings, checked: "\(counted(count, "fixture")), \(counted(images, "image"))", failing: .refused,
                extra: ["fixtures": count, "images": images])
            try report.end(session.output)
        }
    }
}

/// What `record` has written, or would change and has not.
private struct RecordReport: Report {
    let version: SchemaVersion
    let files: FixtureFiles
    let refused: [FixtureFiles.Change]
    let skipped: [Fixtures.Skipped]

    var members: Members {
        [
            "ok": refused.isEmpty, "version": version, "written": refused.isEmpty ? files.changes.map(\.file) : [],
            "refused": refused, "unchanged": files.unchanged,
            "skipped": skipped.map { ["version": $0.version, "type": $0.type, "why": $0.why] as Members },
        ]
    }

    var lines: [String] {
        for change in refused.isEmpty ? files.changes : refused {
            "\(verb(change).padded(to: 10)) \(change.file)"
            if change.old != nil {
                let difference = change.difference
                if let old = difference.old { "  \(difference.line)  - \(old)" }
                if let new = difference.new { "  \(difference.line)  + \(new)" }
            }
        }
        for one in skipped {
            "skipped    \(one.type) of \(one.version): no event could be made: \(one.why)"
            "  -> append one to fixtures/\(one.version)/events.jsonl, as an event line"
        }
        if refused.isEmpty {
            "\(counted(files.changes.count, "file")) written, \(files.unchanged) as they were"
        } else {
            "nothing was written: \(counted(refused.count, "file")) would change"
            refused.contains(where: \.isFixed)
                ? "  -> fixtures of released versions stay: undo what changes them, in a new version if need be"
                : "  -> where that is meant: the same with --overwrite"
        }
    }

    private func verb(_ change: FixtureFiles.Change) -> String {
        if change.old == nil { return "new" }
        if refused.isEmpty { return change.isGrowth ? "grown" : "changed" }
        return change.isFixed ? "RELEASED" : "REFUSED"
    }
}

extension FixtureFiles.Change: PrintableObject {
    var members: Members {
        ["file": file, "released": isFixed, "line": difference.line, "old": difference.old, "new": difference.new]
    }
}
