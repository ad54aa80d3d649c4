internal import ArgumentParser
internal import EventModel
internal import FoundationEssentials

/// What every command takes, before its name or after it.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store's directory; EVSTORE_STORE where it is not given.", valueName: "dir"))
    var store: String?

    @Option(
        help: ArgumentHelp(
            "A directory of version files v1.yaml … vN.yaml, projections.yaml and so on; the store's own where it is not given.",
            valueName: "dir"))
    var schemas: String?

    @Flag(help: "Print JSON: one object, or one a line from commands that list.")
    var json = false

    @Flag(help: "Take a store on a file system that is not known to be safe, such as one of a network.")
    var anyFileSystem = false

    @Option(help: ArgumentHelp("How progress is shown on standard error: auto, jsonl or none.", valueName: "style"))
    var progress: ProgressStyle = .auto

    /// The directory of the store, from the option or the environment.
    func storePath() throws(EvstoreError) -> String {
        if let store { return store }
        if let store = ProcessInfo.processInfo.environment["EVSTORE_STORE"], !store.isEmpty { return store }
        throw .usage("which store? Say --store DIR, or set EVSTORE_STORE")
    }

    /// The directory of version files, for the commands that can't do without.
    func schemasPath(for command: String) throws(EvstoreError) -> String {
        guard let schemas else { throw .usage("\(command) needs --schemas DIR, the directory of v1.yaml … vN.yaml") }
        return schemas
    }
}

enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
    /// A bar on a terminal, a line every five seconds elsewhere.
    case auto
    /// A JSON object a line.
    case jsonl
    case none
}

/// The case of an enumeration that a text names, for options whose type is not the command line's own.
@Sendable
func oneOf<Choice: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Choice {
    if let choice = Choice(rawValue: text) { return choice }
    throw ValidationError("\(quoted(text)) is none of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
}
