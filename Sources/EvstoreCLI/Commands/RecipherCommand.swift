internal import ArgumentParser
internal import Evstore
internal import LogKeeping

struct RecipherCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "recipher",
        abstract: "Makes a store of the same events under new keys, or without.",
        discussion: """
            Every event is opened and sealed anew under keys that nobody had before: after a key was \
            lost to others, to change the cipher of what is there, to seal a plain store, or to end \
            sealing (--plain). The new store appears at --into, compared in full, whole or not at all; \
            positions, ids and content are the same, its id and its hash chain are its own. The store \
            itself is not changed: stop its writers first, then put the new one in its place.

            Example: evstore --key-file old.key recipher --into orders.new --new-key-file new.key
            A plain store: evstore recipher --into orders.sealed --new-key-file orders.key
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions
    @OptionGroup var new: NewSecretOptions

    @Option(help: ArgumentHelp("Where the new store is made: nothing is there, or an empty directory.", valueName: "dir")) var into: String
    @Flag(help: "The new store's events are not sealed.") var plain = false
    @Option(help: ArgumentHelp("aes-256-gcm, or aes-256-cbc-hmac-sha256 for older systems.", valueName: "suite"), transform: oneOf)
    var suite: CipherSuite?

    func validate() throws {
        if plain && (new.isGiven || suite != nil) { throw ValidationError("--plain is without keys: say it alone") }
    }

    func run(in session: Session) async throws {
        let store = try global.storePath()
        // Without another secret, the old store's secret opens the new one.
        let secret = try plain ? nil : new.secret(apartFrom: store) ?? global.secret()
        if secret == nil && !plain {
            throw EvstoreError.usage("what opens the new store? Say --new-key-file FILE or --new-passphrase-file FILE, or --plain")
        }
        let report = try await session.withStore(.reading) { opened in
            try await opened.maintenance.recipher(
                into: into, secret: secret, suite: suite ?? .gcm, progress: session.progress)
        }
        let object: Members = [
            "position": report.position, "content": report.content, "bytes": report.bytes, "seconds": report.duration,
        ]
        try session.output.print(object) {
            "reciphered \(into) up to position \(grouped(report.position.rawValue)), \(plain ? "not sealed" : "sealed anew"); content equal"
        }
    }
}
