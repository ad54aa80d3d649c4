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
        let text = try Self.file(after: history)
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

    /// The file of the version behind the last one.
    private static func file(after history: History) throws -> String {
        guard let last = history.versions.last, case .object(let members) = try JSONValue(parsing: last.canonical.lent) else {
            throw EvstoreError.usage("the directory holds no version: write v1.yaml first")
        }
        let events = members.filter { $0.name == "events" || $0.name == "$defs" }
        return """
            evstore: 1
            version: \(last.number.number + 1)
            description: "What this version changes, in a sentence."
            upcast: []   # how events of \(last.number) become these: - {on: TYPE, do: [{OP: {…}}]}

            """ + JSONValue.object(events).yaml
    }
}
