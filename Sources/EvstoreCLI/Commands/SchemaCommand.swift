internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import FoundationEssentials
internal import JSONText
internal import SchemaEvolution
internal import SchemaTools

struct SchemaCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Checks, explains and locks version files, keeps fixtures, shows shapes, tries payloads. Needs no store.",
        discussion: "Example: evstore schema check --schemas Schemas/shop",
        subcommands: [
            SchemaNewCommand.self, SchemaCheckCommand.self, SchemaDiffCommand.self, SchemaExplainCommand.self, SchemaFormatCommand.self,
            SchemaFixturesCommand.self, SchemaLintCommand.self, SchemaLockCommand.self, SchemaShowCommand.self, SchemaValidateCommand.self,
        ])
}

/// A type such as `OrderPlaced@v3`; without a version, the newest version that has the type.
struct TypeChoice: ExpressibleByArgument, Sendable {
    let type: String
    let version: String?

    init?(argument: String) {
        let parts = argument.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard !parts[0].isEmpty, parts.last != "" else { return nil }
        (type, version) = (parts[0], parts.count == 2 ? parts[1] : nil)
    }

    func resolved(in history: History) throws -> (version: SchemaVersion, shape: EventShape) {
        let version =
            if let version {
                try history.resolve(version)
            } else {
                history.versions.last { $0.events[type] != nil }?.number ?? history.head
            }
        if history[version] != nil, history.shape(of: type, at: version) == nil {
            throw AbsentType(
                report: ErrorDetails(
                    "unknownType", "there is no event type \(quoted(type)) at \(version)",
                    fix: history.advice(onMissing: type, at: version).command, place: .init(type: type)))
        }
        return try (version, history.requireShape(of: type, at: version))
    }
}

/// The error for a type that a version lacks, with the versions that have it.
struct AbsentType: CommandError {
    let exit: Int32 = 3
    let report: ErrorDetails
}

extension Session {
    /// The history of --schemas, or of the store where no directory is given.
    func history() async throws -> History {
        if let directory = global.schemas {
            return try await computing { try Schemas.load(directory).history }
        }
        return try await withStore(.reading) { store in try store.history }
    }
}

struct SchemaNewCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Writes the next version file: the shapes of the last one, and no steps yet; or version 1.",
        discussion: """
            Change the shapes and say in upcast how events of the version before become those; `schema check` proves that \
            the two agree and proposes what is missing. Where there is no version yet, nor a directory, it writes version 1 to \
            start from. Nothing is overwritten.

            Example: evstore schema new --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let directory = try global.schemasPath(for: "schema new")
        let interrupts = session.interrupts
        let (version, path, text) = try await session.computing { try Self.next(in: directory, interrupts) }
        try onFiles("writing \(path)") {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        try SourceFile.make(path, Array(text.utf8))
        try session.output.print(["file": path, "version": version]) {
            "new        \(path)"
            let change = version.number == 1 ? "say what your events are" : "change its shapes, say how in upcast"
            "next       \(change), and: evstore schema check --schemas \(directory.shellWord)"
        }
    }

    private static func next(in directory: String, _ interrupts: Interrupts) throws -> (SchemaVersion, path: String, text: String) {
        let texts = SchemaTexts(directory: directory)
        guard FileManager.default.fileExists(atPath: directory), try !History.isEmpty(directory: directory) else {
            return (SchemaVersion(1), texts.path("v1.yaml"), first)
        }
        let history = try History.load(texts)
        let path = texts.path("\(history.head.next).yaml")
        guard !FileManager.default.fileExists(atPath: path) else { throw EvstoreError.usage("\(path) is there already") }
        return (history.head.next, path, try file(after: history, at: path, interrupts))
    }

    private static let first = """
        evstore: 1
        version: 1
        description: "Say what these events are about."
        # An event is a fact: it has a name in the past tense, and a payload of this shape. Its stream is what it is about,
        # named by members of the payload; required names the members that every event has. A day or a moment is
        # {type: string, format: date} or date-time; words of a fixed list are {type: string, enum: [open, paid]}.
        # Once a program writes this version, add released: and the day, then: evstore schema lock. After that: evstore schema new
        events:
          ThingHappened:
            description: "Say when this is written."
            stream: "thing-{/id}"
            required: [id]
            properties:
              id: {type: string}

        """

    /// The file of the next version, in the layout of `schema fmt` and the order of the file before it.
    private static func file(after history: History, at path: String, _ interrupts: Interrupts) throws -> String {
        guard let last = history.versions.last else { throw EvstoreError.usage("the directory holds no version: write v1.yaml first") }
        let same = RepairEdits.complete(history.check()).first { $0.id == Rule.changesNothing && $0.file == last.file }
        if let same { throw EvstoreError.schemaInvalid([same]) }
        let old = try Input.all(last.file, atMost: FileReader.bytesMax, interrupts)
        guard case .object(let members) = try FileReader.read(text: old, file: last.file).json else { return "" }
        let first = String(decoding: old, as: UTF8.self).prefix { $0 != "\n" }
        let text = """
            \(first.hasPrefix("# yaml-language-server:") ? "\(first)\n" : "")evstore: 1
            version: \(last.number.number + 1)
            description: "Say what this version changes."
            # How events of \(last.number) become these, such as: - {on: TYPE, do: [{add: {path: /member, value: 0}}]}
            upcast: []

            """ + JSONValue.object(members.filter { $0.name == "events" || $0.name == "$defs" }).yaml
        return try FileLayout.format(Array(text.utf8), file: path, as: .yaml)
    }
}

struct SchemaShowCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the shape of an event type at a version, or which types there are.",
        discussion: """
            Without @vN, at the newest version that has the type. Without --schemas, as the store \
            knows it. Without a type, every version with its types.

            Example: evstore schema show OrderPlaced@v3 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, with a version or without.", valueName: "type@vN")) var type: TypeChoice?

    func run(in session: Session) async throws {
        let history = try await session.history()
        guard let type else { return try list(history.versions, session.output) }
        let (version, shape) = try type.resolved(in: history)
        let stream = shape.stream?.description
        let tags = shape.tags.map(\.description)
        let text = CheckedJSON(text: Array(shape.shape.canonical.text.utf8))
        try session.output.print(["type": type.type, "version": version, "stream": stream, "tags": tags, "shape": text]) {
            "\(type.type) at \(version)" + (stream.map { ", in stream \($0)" } ?? "")
            for tag in tags { "tag \(tag)" }
            shape.shape.canonical.indented(width: 72)
        }
    }

    private func list(_ versions: [VersionFile], _ output: Output) throws {
        let all = versions.map { file -> Members in
            [
                "version": file.number, "labels": file.labels, "released": file.released, "description": file.description,
                "types": file.types,
            ]
        }
        try output.print(["versions": all]) {
            for file in versions {
                let labels = file.labels.isEmpty ? "" : " (\(file.labels.joined(separator: ", ")))"
                let state = file.released.map { "released \($0)" } ?? "not released"
                "\(file.number)\(labels), \(state)" + (file.description.map { ": \($0)" } ?? "")
                for type in file.types { "  \(type)" }
            }
        }
    }
}

struct SchemaDiffCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Says how the events of two versions differ.",
        discussion: """
            Types are paired by what the steps make of them, so that a renamed type is not one gone and \
            one new. Without --schemas, as the store knows them.

            Example: evstore schema diff v2 v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A version.", valueName: "version")) var from: String
    @Argument(help: ArgumentHelp("Another version.", valueName: "version")) var to: String

    func run(in session: Session) async throws {
        let history = try await session.history()
        let diff = try history.diff(from: try history.resolve(from), to: try history.resolve(to))
        try session.output.print(diff)
    }
}

extension SchemaDiff: Report {
    var members: Members {
        [
            "from": from, "to": to, "added": added, "removed": removed,
            "changed": changed.map { change -> Members in
                [
                    "type": change.type, "was": change.was,
                    "differences": change.differences.map {
                        ["pointer": $0.pointer.description, "kind": $0.kind, "words": $0.words] as Members
                    },
                ]
            }, "unchanged": unchanged,
        ]
    }

    var lines: [String] {
        "\(from) -> \(to)"
        for type in added { "+ \(type)" }
        for type in removed { "- \(type)" }
        for change in changed {
            "~ \(change.type)" + (change.was == [change.type] ? "" : ", which was \(change.was.joined(separator: " and "))")
            for difference in change.differences {
                let place = difference.pointer.isRoot ? "" : "\(difference.pointer)  "
                "    \(place)\(difference.words)"
            }
        }
        if !unchanged.isEmpty { "= \(unchanged.joined(separator: ", "))" }
    }
}

struct SchemaExplainCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says what happens to one event of a type between two versions, member by member.",
        discussion: """
            Up or down: --from may be the newer version. Without --from, from the oldest version that \
            has the type; without --to, to the newest. From v0, what becomes of data from before versions existed, \
            whatever its type. Without --schemas, as the store knows it. Below each member stands what each step does with \
            it: where a new one comes from, why one is gone. With --json, outcomes: for each event that it can be seen as, \
            its type (null where there is none), stream, tags, changes and members.

            Example: evstore schema explain OrderPlaced --from v1 --to v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, as it is called at --from.", valueName: "type")) var type: String
    @Option(help: ArgumentHelp("The version that the event is of.", valueName: "version")) var from: String?
    @Option(help: ArgumentHelp("The version that it is seen at.", valueName: "version")) var to: String?

    func run(in session: Session) async throws {
        let history = try await session.history()
        let from =
            try from.map { try history.resolve($0) }
            ?? history.versions.first { $0.events[type] != nil }?.number ?? history.head
        let to = try to.map { try history.resolve($0) } ?? history.head
        let explanation = try history.explain(type, from: from, to: to)
        try session.output.print(explanation)
    }
}

extension Explanation: Report {
    var members: Members {
        [
            "type": type, "from": from, "to": to, "opByOp": opByOp?.words,
            "outcomes": outcomes.map {
                ["type": $0.type, "stream": $0.stream, "tags": $0.tags, "changes": $0.changes, "members": $0.members] as Members
            },
        ]
    }

    var lines: [String] {
        "\(type), from \(from) to \(to)"
        for outcome in outcomes {
            ""
            outcome.type.map { "\($0)" + (outcome.stream.map { ", in stream \($0)" } ?? "") } ?? "no event"
            for tag in outcome.tags { "  tagged \(tag)" }
            for change in outcome.changes { "  \(change.version)  it \(change.words)" }
            let width = outcome.members.map { $0.title.count }.max() ?? 0
            for member in outcome.members {
                "  \(member.title.padded(to: width))  \(member.nouns)"
                for change in member.changes { "      \(change.version)  \(change.words)" }
            }
        }
        if let opByOp {
            ""
            "op by op: \(opByOp.words)"
        }
    }
}

extension Explanation.Member: PrintableObject {
    var members: Members {
        ["from": before?.description, "to": after?.description, "was": wasNoun, "is": noun, "changes": changes]
    }

    fileprivate var title: String {
        switch (before?.description, after?.description) {
        case (let before?, let after?): before == after ? before : "\(before) -> \(after)"
        case (let before?, nil): "\(before) -> gone"
        case (nil, let after): "new -> \(after ?? "")"
        }
    }

    fileprivate var nouns: String {
        switch (wasNoun, noun) {
        case (let was?, let noun?): was == noun ? (changes.isEmpty ? "\(was), unchanged" : was) : "\(was) -> \(noun)"
        default: wasNoun ?? noun ?? ""
        }
    }
}

extension Explanation.Change: PrintableObject {
    var members: Members { ["version": version, "words": words] }
}

struct SchemaFormatCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "fmt",
        abstract: "Writes version, projection and rules files in their one layout, as YAML or JSON.",
        discussion: """
            Without files, those of --schemas. A file's values, and so its digest, stay the same; so do its \
            comments. --to writes the other form under the other name and removes the old file; JSON has no \
            comments, so that a file with some is refused unless --drop-comments is given.

            Example: evstore schema fmt --check --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("Files to lay out.", valueName: "file")) var files: [String] = []
    @Flag(help: "Change nothing; say which files are laid out otherwise, and exit with 3 where there are some.") var check = false
    @Option(help: ArgumentHelp("The form to write: yaml or json.", valueName: "form"), transform: oneOf) var to: FileLayout.Form?
    @Flag(help: "Write JSON also where comments are lost.") var dropComments = false

    func run(in session: Session) throws {
        var findings: [Finding] = []
        var changed: [String] = []
        let all = try files.isEmpty ? Self.files(in: global.schemasPath(for: "schema fmt without files")) : files
        for file in all {
            do {
                let target = target(of: file)
                let old = try FileReader.bytes(path: file)
                let new = Array(try FileLayout.format(old, file: file, as: form(of: file), droppingComments: dropComments).utf8)
                if target == file, old == new { continue }
                changed.append(target)
                if check { findings.append(finding(file, old, new)) } else { try write(new, to: target, insteadOf: file) }
            } catch EvstoreError.schemaInvalid(let problems) { findings += problems }
        }
        let unchanged = all.count - changed.count
        let report = CheckReport(
            findings, checked: counted(all.count, "file"), outcome: findings.isEmpty ? nil : .refused,
            extra: ["written": check ? [] : changed, "unchanged": unchanged])
        try session.output.print(report.members) {
            if !check { changed }
            if check || !findings.isEmpty { report.lines } else { "\(counted(changed.count, "file")) written, \(unchanged) as they were" }
        }
        if let outcome = report.outcome { throw outcome }
    }

    private func form(of file: String) -> FileLayout.Form { to ?? (file.hasSuffix(".json") ? .json : .yaml) }

    private func target(of file: String) -> String {
        let stem = file.hasSuffix(".json") || file.hasSuffix(".yaml") ? String(file.dropLast(5)) : file
        return stem + ".\(form(of: file).rawValue)"
    }

    private func finding(_ file: String, _ old: [UInt8], _ new: [UInt8]) -> Finding {
        let (before, after) = (
            old.split(separator: 10, omittingEmptySubsequences: false), new.split(separator: 10, omittingEmptySubsequences: false)
        )
        let same = zip(before, after).prefix { $0 == $1 }.count
        return Finding(
            id: Rule.layout, file: file, line: same + 1, column: 1, message: "the file is not in its layout",
            fix: "evstore schema fmt \(file)" + (to.map { " --to \($0.rawValue)" } ?? ""))
    }

    /// Order: the new file is written before the old one is removed.
    private func write(_ text: [UInt8], to target: String, insteadOf file: String) throws {
        try SourceFile.write(text, to: target)
        if target != file { try onFiles("removing \(file)") { try FileManager.default.removeItem(atPath: file) } }
    }

    /// The files of a directory that have a layout, in the order of their names.
    private static func files(in directory: String) throws -> [String] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted() } catch {
            throw EvstoreError.usage("\(quoted(directory)) can't be listed")
        }
        let stems = ["projections", "rules"]
        return names.filter { name in
            guard name.hasSuffix(".yaml") || name.hasSuffix(".json") else { return false }
            let stem = name.dropLast(5)
            return stems.contains(String(stem)) || stem.hasPrefix("v") && Int(stem.dropFirst()) != nil
        }.map(SchemaTexts(directory: directory).path)
    }
}
