internal import ArgumentParser
internal import Evstore
internal import FoundationEssentials
internal import SchemaEvolution

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
        try onFiles("writing \(path)") { try Data(lock.text.utf8).write(to: URL(filePath: path), options: .atomic) }
        let versions = lock.digests.keys.sorted().map(\.description)
        try session.output.print(["file": path, "versions": versions]) {
            let open = history.versions.count - versions.count
            "locked     \(versions.isEmpty ? "nothing" : versions.joined(separator: ", "))"
                + (open > 0 ? "; \(open) not released yet" : "")
        }
    }
}
