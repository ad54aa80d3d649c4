internal import ArgumentParser
internal import Bytes
internal import EventModel
internal import Evstore
internal import FoundationEssentials
internal import JSONText
internal import Projections
internal import SchemaEvolution
internal import SchemaTools

struct SchemaCheckCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Proves that the steps explain each version's difference from the one before.",
        discussion: """
            Prints a finding a line, file:line:column: severity id: what is wrong, and how to mend it. \
            Errors are findings that a replay would refuse, and a rules.yaml that lint can't read; a note is what only the data can prove, \
            which plan and replay do. With --store, a file that is not the version that the store has registered is a finding, too, \
            with what differs.

            The lines below a finding are an edit: - goes, + comes. Each was tried before it is shown: with it the finding is \
            gone and no error has come. --fix makes those that take no decision, several at one time, and prints each: words of the \
            format that are spelled wrongly, quotes, tabs, a read model's definition that follows a rename. It takes no line out, \
            renames no file, leaves alone what is released, and makes no edit that leaves more errors than there were; everything \
            else is proposed. Each file that it changes is kept beside it as v2.yaml.bak, and all other bytes stay as they are. The exit \
            code tells of what remains.

            Example: evstore schema check --schemas Schemas/shop
            Mend what can be mended: evstore schema check --fix --schemas Schemas/shop
            Against what a store has registered: evstore --store orders schema check --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Flag(help: "Make the edits that take no decision of yours.") var fix = false
    @Flag(help: "With --fix: print the edits and write nothing.") var dryRun = false

    func run(in session: Session) async throws {
        if dryRun, !fix { throw UsageError("--dry-run is about --fix", see: "evstore schema check") }
        let texts = SchemaTexts(directory: try global.schemasPath(for: "schema check"))
        let isFixing = fix
        let result = try await session.computing {
            var fixes = SchemaFixes(texts)
            if isFixing { try fixes.makeAll() }
            let findings = try Self.said(of: fixes.texts).findings
            return (fixes, try RepairTrial(fixes.texts, Self.whole).proposals(for: findings))
        }
        var (fixes, findings) = result
        if !dryRun { try fixes.write() }
        findings += try await differences(from: fixes.texts, session)
        let report = CheckReport(
            findings, checked: "shapes, steps and projections", failing: Exit(code: findings.exit),
            extra: fix ? ["fixed": fixes.made] : [:], before: fix ? fixes.lines(isDryRun: dryRun) : [])
        try report.end(session.output)
    }

    /// Findings about files that differ from what a store has registered, if the command line names one.
    private func differences(from texts: SchemaTexts, _ session: Session) async throws -> [Finding] {
        if global.store == nil { return [] }
        let files: History
        // Files that can't be read have findings of their own.
        do { files = try History.load(texts) } catch EvstoreError.schemaInvalid { return [] }
        return try await session.withStore(.reading, asItIs: true) { store in try store.differences(from: files) }
    }

    /// The findings for people. A file that can't be read is a finding, too.
    static func said(of texts: SchemaTexts) throws -> RepairTrial.Verdict { try verdict(on: texts, reportsAll: false) }

    /// All findings, even those that only repeat others.
    static func whole(_ texts: SchemaTexts) throws -> RepairTrial.Verdict { try verdict(on: texts, reportsAll: true) }

    private static func verdict(on texts: SchemaTexts, reportsAll: Bool) throws -> RepairTrial.Verdict {
        var verdict = RepairTrial.Verdict([], nil)
        do {
            let history = try History.load(texts, reportsAll: reportsAll)
            verdict.history = history
            verdict.findings = history.warnings + history.check()
            verdict.findings += try projections(in: texts, history)
        } catch EvstoreError.schemaInvalid(let unreadable) {
            verdict.findings += unreadable
        }
        do { _ = try LintRules.load(texts) } catch EvstoreError.schemaInvalid(let unreadable) { verdict.findings += unreadable }
        return verdict
    }

    private static func projections(in texts: SchemaTexts, _ history: History) throws -> [Finding] {
        let names = try texts.names()
        guard let name = ["projections.yaml", "projections.json"].first(where: { names.contains($0) }) else { return [] }
        let path = texts.path(name)
        let text = try texts.bytes(path: path)
        return try DefinitionSet.load(text: text, file: path, history: history).check(against: history)
    }
}

/// The fixes that `schema check --fix` applies: those that need no decision, in files that are not released. No fix renames a file or
/// removes what its author wrote.
struct SchemaFixes: Sendable {
    /// The findings that were fixed, with the edits as they applied to the files at that moment.
    private(set) var made: [Finding] = []
    private(set) var texts: SchemaTexts
    /// The copies of the original files, which lie beside them.
    private(set) var copies: [String] = []

    init(_ texts: SchemaTexts) { self.texts = texts }

    /// Applies fixes until none is left, at most twice as many at once as the time before. Applies none twice, since two fixes might undo
    /// each other.
    mutating func makeAll() throws {
        var (done, refused): (Set<String>, Set<String>) = ([], [])
        var most = 1
        while true {
            let fixed = try next(most, done, &refused)
            if fixed.isEmpty { return }
            done.formUnion(fixed.map(\.diagnosticLine))
            made += fixed
            guard texts.apply(fixed.flatMap(\.edits)) else { return }
            most = 2 * fixed.count
        }
    }

    /// The next findings with their edits: up to `most` of them if they can be fixed at once, otherwise the first that can be fixed.
    /// - Parameter refused: findings that could not be fixed when each was tried.
    private func next(_ most: Int, _ done: Set<String>, _ refused: inout Set<String>) throws -> [Finding] {
        let certain = try SchemaCheckCommand.said(of: texts).findings.filter {
            $0.severity != .note && !$0.repairs.isEmpty && $0.isCertain && !done.contains($0.diagnosticLine)
        }
        let released = Set(certain.flatMap(\.repairs).map(\.file)).filter { texts.isReleased(path: $0) }
        let findings = certain.filter { !$0.repairs.contains { released.contains($0.file) } }
        if findings.isEmpty { return [] }
        let trial = try RepairTrial(texts, SchemaCheckCommand.whole)
        let several = findings.filter { !refused.contains($0.diagnosticLine) }.prefix(most)
        if several.count > 1, let fixed = try trial.fixes(for: Array(several)) { return fixed }
        for finding in findings {
            guard let repair = try trial.repair(for: finding), repair.isCertain,
                !repair.edits.contains(where: { texts.isReleased(path: $0.file) })
            else {
                refused.insert(finding.diagnosticLine)
                continue
            }
            var fixed = finding
            fixed.edits = repair.edits
            return [fixed]
        }
        return []
    }

    /// Replaces each changed file by a rename, and keeps a copy of the original beside it.
    mutating func write() throws {
        for (path, text) in texts.changed.sorted(by: { $0.key < $1.key }) {
            guard let text else { continue }
            copies.append(try Self.copy(URL(filePath: path).resolvingSymlinksInPath().path))
            try SourceFile.write(text, to: path)
        }
    }

    /// Copies a file to the first of `v2.yaml.bak`, `v2.yaml.bak2`, … that is free.
    private static func copy(_ path: String) throws -> String {
        var (copy, number) = (path + ".bak", 2)
        while FileManager.default.fileExists(atPath: copy) { (copy, number) = ("\(path).bak\(number)", number + 1) }
        try SourceFile.copy(path, to: copy)
        return copy
    }

    @TextLines
    func lines(isDryRun: Bool) -> [String] {
        for finding in made {
            "fixed      \(finding.diagnosticLine)"
            finding.editLines
        }
        for copy in copies { "kept       \(copy)" }
        if isDryRun { "nothing was written: --dry-run" }
    }
}

struct SchemaLintCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Says what is allowed and not advised, and what rules.yaml forbids.",
        discussion: """
            Beyond `schema check`: fixtures for every type of every version, which look as they were recorded (a difference \
            is a note while a version of it is not released), removal only of what was \
            deprecated before, rounding, names and descriptions, personal members where they are never sealed (names of \
            streams, keys of rows, metadata). In rules.yaml beside the version files: forbid: [ops], \
            error: [ids], forward: N, and waive: [{id, file, because, until}]; a waiver without reason or end is an error.

            Example: evstore schema lint --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) throws {
        let directory = try global.schemasPath(for: "schema lint")
        let (findings, hasFixtures) = try Self.findings(in: directory, SwiftSteps(session.application.steps))
        let checked = (hasFixtures ? "fixtures, " : "") + "losses, names, rules"
        try CheckReport(findings, checked: checked, failing: Exit(code: findings.exit)).end(session.output)
    }

    private static func findings(in directory: String, _ steps: SwiftSteps) throws -> (findings: [Finding], hasFixtures: Bool) {
        do {
            let history = try History.load(directory: directory).with(steps)
            let (rules, fixtures) = (try LintRules.load(directory: directory), try Fixtures.load(directory: directory, history))
            let today = String(Timestamp.now.description.prefix(10))
            let found = try Lint.run(history, rules, fixtures: fixtures, today: today, others: exposedKeys(in: directory, history))
            return (RepairEdits.complete(history.warnings + found), fixtures != nil)
        } catch EvstoreError.schemaInvalid(let unreadable) {
            return (RepairEdits.complete(unreadable), false)
        }
    }

    private static func exposedKeys(in directory: String, _ history: History) throws -> [Finding] {
        do { return try Schemas.load(directory).definitions.exposedKeys(history) } catch EvstoreError.schemaInvalid {
            // `schema check` reports errors of projections.
            return []
        }
    }
}

struct SchemaLockCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Writes the digests of the released versions into schemas.lock.",
        discussion: """
            A released version whose file is no longer what the lock says is refused and the lock stays as it is: undo the \
            change and make it in a new version.

            Example: evstore schema lock --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let directory = try global.schemasPath(for: "schema lock")
        // Reading the directory compares its files with the lock.
        let (history, errors) = try await session.computing {
            let history = try History.load(directory: directory)
            return (history, history.check().filter { $0.severity == .error })
        }
        if !errors.isEmpty { throw EvstoreError.schemaInvalid(errors) }
        let lock = SchemaLock(locking: history)
        let path = SchemaTexts(directory: directory).path(SchemaLock.fileName)
        try SourceFile.write(Array(lock.text.utf8), to: path)
        let versions = lock.digests.keys.sorted().map(\.description)
        try session.output.print(["file": path, "versions": versions]) {
            let open = history.versions.count - versions.count
            "locked     \(versions.isEmpty ? "nothing" : versions.joined(separator: ", "))"
                + (open > 0 ? "; \(open) not released yet" : "")
        }
    }
}

struct SchemaValidateCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Holds payloads, one a line, against the shape of a type; prints a verdict a line.",
        discussion: """
            A line is a payload alone, not an event line. Empty lines are passed over.

            Example: evstore schema validate OrderPlaced@v3 payloads.jsonl --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, with a version or without.", valueName: "type@vN")) var type: TypeChoice
    @Argument(help: ArgumentHelp("The file of payloads; - is standard input.", valueName: "file")) var file: String

    func run(in session: Session) async throws {
        let (_, shape) = try await type.resolved(in: session.history())
        var (number, refused) = (0, 0)
        try Input.lines(file, atMost: Options().eventBytesMax, session.interrupts) { line in
            try session.interrupts.check()
            number += 1
            if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t") }) { return }
            let misfit = Self.misfit(of: line, shape)
            if misfit != nil { refused += 1 }
            let object: Members = ["line": number, "ok": misfit == nil, "pointer": misfit?.pointer, "error": misfit?.reason]
            try session.output.row(object) {
                let place = misfit?.pointer.map { $0.isEmpty ? "" : "\($0) " } ?? ""
                "\(number): " + (misfit.map { "REFUSED \(place)\($0.reason)" } ?? "ok")
            }
        }
        if refused > 0 { throw Exit.refused }
    }

    /// Where and why a payload does not fit its shape; nil where it does.
    private static func misfit(of payload: [UInt8], _ shape: EventShape) -> (pointer: String?, reason: String)? {
        do {
            if try JSONScanner.validate(payload.lent, limits: JSONLimits()) != .object { return ("", "should be an object") }
        } catch { return (nil, "not valid JSON at byte \(error.offset): \(error.reason)") }
        do { _ = try shape.validatedStream(of: payload.lent) } catch { return (error.pointer, error.reason) }
        return nil
    }
}

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
