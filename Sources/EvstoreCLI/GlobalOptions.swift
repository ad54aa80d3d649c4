internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import FoundationEssentials
internal import Platform

/// The options of every command, before its name or after it.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store's directory; EVSTORE_STORE where it is not given.", valueName: "dir"))
    var store: String?

    @Option(
        help: ArgumentHelp(
            "A directory of version files v1.yaml … vN.yaml, projections.yaml and so on; the store's own where it is not given.",
            valueName: "dir"))
    var schemas: String?

    @Option(
        help: ArgumentHelp(
            "The key of a store whose events are sealed: a file of 32 random bytes or 64 hexadecimal digits that nobody else can read.",
            valueName: "file"))
    var keyFile: String?

    @Option(help: ArgumentHelp("The passphrase of such a store: the first line of a file that nobody else can read.", valueName: "file"))
    var passphraseFile: String?

    @Flag(help: "Print JSON: one object, or one a line from commands that list.")
    var json = false

    @Flag(help: "Take a store on a file system that is not known to be safe, such as one of a network.")
    var anyFileSystem = false

    @Flag(
        help: """
            Show a node of a cluster log as it is. Else each command takes in first what other nodes have appended, and says how old the \
            node is where it can't within seconds.
            """)
    var stale = false

    @Option(help: ArgumentHelp("How progress is shown on standard error: auto, jsonl or none.", valueName: "style"))
    var progress: ProgressStyle = .auto

    func validate() throws {
        if keyFile != nil && passphraseFile != nil { throw ValidationError("say --key-file or --passphrase-file, not both") }
    }

    func storePath() throws(EvstoreError) -> String {
        guard let path = namedStore, !path.isEmpty else { throw .usage("which store? Say --store DIR, or set EVSTORE_STORE") }
        return path
    }

    private var namedStore: String? { store ?? ProcessInfo.processInfo.environment["EVSTORE_STORE"].flatMap { $0.isEmpty ? nil : $0 } }

    func secret() throws -> StoreSecret? {
        let secret = try StoreSecret.file(key: keyFile, passphrase: passphraseFile, apartFrom: namedStore) ?? .credential()
        if secret != nil { ProcessMemory.excludeFromCoreDumps() }
        return secret
    }

    /// The options that name the same key file to another program.
    var keyWords: [String] {
        (keyFile.map { ["--key-file", $0] } ?? []) + (passphraseFile.map { ["--passphrase-file", $0] } ?? [])
    }

    func schemasPath(for command: String) throws(EvstoreError) -> String {
        guard let schemas else { throw .usage("\(command) needs --schemas DIR, the directory of v1.yaml … vN.yaml") }
        return schemas
    }
}

enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
    /// A bar on a terminal, a line every five seconds elsewhere.
    case auto
    case jsonl
    case none
}

/// The case of an enumeration that a text names, for options whose type is not the command line's own.
@Sendable
func oneOf<Choice: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Choice {
    if let choice = Choice(rawValue: text) { return choice }
    throw ValidationError("\(quoted(text)) is none of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
}

extension Duration {
    /// A time as it is typed: a whole number up to a million with one of the units, such as `500ms`; nil for anything else.
    init?(_ text: String, units: KeyValuePairs<String, Duration>) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = units.first { $0.key == text.dropFirst(digits.count) }
        guard let count = Int(digits), (1 ... 1_000_000).contains(count), let unit else { return nil }
        self = unit.value * count
    }
}

extension StoreSecret {
    /// The secret in the file that is named, nil where none is: arguments can be read by other users, so none takes a secret.
    static func file(key: String?, passphrase: String?, apartFrom store: String?) throws(EvstoreError) -> StoreSecret? {
        if let key { return try .key(file: key, apartFrom: store) }
        if let passphrase { return try .passphrase(file: passphrase, apartFrom: store) }
        return nil
    }
}

struct NewSecretOptions: ParsableArguments {
    @Option(help: ArgumentHelp("What opens it from now on: a file of 32 random bytes or 64 hexadecimal digits.", valueName: "file"))
    var newKeyFile: String?

    @Option(help: ArgumentHelp("What opens it from now on: the first line of a file.", valueName: "file"))
    var newPassphraseFile: String?

    var isGiven: Bool { newKeyFile != nil || newPassphraseFile != nil }

    func secret(apartFrom store: String?) throws(EvstoreError) -> StoreSecret? {
        try .file(key: newKeyFile, passphrase: newPassphraseFile, apartFrom: store)
    }

    func validate() throws {
        if newKeyFile != nil && newPassphraseFile != nil { throw ValidationError("say --new-key-file or --new-passphrase-file, not both") }
    }
}
