internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import SchemaEvolution

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
            throw AbsentType(type, at: version, fix: history.advice(onMissing: type, at: version).command)
        }
        return try (version, history.requireShape(of: type, at: version))
    }
}

/// The error for a type that a version lacks, with the versions that have it.
struct AbsentType: CommandError {
    let exit: Int32 = 3
    let report: ErrorDetails

    init(_ type: String, at version: SchemaVersion, fix: String) {
        report = ErrorDetails("unknownType", "there is no event type \(quoted(type)) at \(version)", fix: fix, place: .init(type: type))
    }
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
