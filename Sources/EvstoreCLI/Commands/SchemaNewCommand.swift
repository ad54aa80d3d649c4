internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import FoundationEssentials
internal import JSONText
internal import SchemaEvolution

struct SchemaNewCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Writes the next version file: the shapes of the last one, and no steps yet.",
        discussion: """
            Change the shapes and say in upcast how events of the version before become those; `schema check` proves that \
            the two agree and proposes what is missing. Nothing is overwritten.

            Example: evstore schema new --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let directory = try global.schemasPath(for: "schema new")
        let history = try History.load(directory: directory)
        let path = directory + (directory.hasSuffix("/") ? "" : "/") + "\(history.head.next).yaml"
        guard !FileManager.default.fileExists(atPath: path) else { throw EvstoreError.usage("\(path) is there already") }
        let text = try Self.file(after: history, at: path, session.cancellation)
        do { try Data(text.utf8).write(to: URL(filePath: path), options: .withoutOverwriting) } catch {
            throw EvstoreError.ioFailure(doing: "writing \(path)", reason: "\(error)")
        }
        if session.output.json {
            try session.output.object(["file": .text(path), "version": .version(history.head.next)])
        } else {
            try session.output.line("new        \(path)")
            try session.output.line("next       change its shapes, say how in upcast, and: evstore schema check --schemas \(directory)")
        }
    }

    /// The file of the version behind the last one, laid out as `schema fmt` does and in the order that its author chose.
    private static func file(after history: History, at path: String, _ cancellation: Cancellation) throws -> String {
        guard let last = history.versions.last else { throw EvstoreError.usage("the directory holds no version: write v1.yaml first") }
        let same = Mending.complete(history.check()).first { $0.id == Rule.changesNothing && $0.file == last.file }
        if let same { throw EvstoreError.schemaInvalid([same]) }
        let old = try Input.all(last.file, atMost: FileReader.bytesMax, cancellation)
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
