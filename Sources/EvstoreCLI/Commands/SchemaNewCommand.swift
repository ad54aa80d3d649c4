internal import ArgumentParser
internal import Evstore
internal import FoundationEssentials
internal import JSONText
internal import SchemaEvolution
internal import SchemaTools

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
            try Data(text.utf8).write(to: URL(filePath: path), options: .withoutOverwriting)
        }
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

    /// A template for version 1.
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
