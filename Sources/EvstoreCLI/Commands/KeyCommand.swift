internal import ArgumentParser
internal import Evstore
internal import LogKeeping

struct KeyCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "The keys of a store whose events are sealed.",
        discussion: """
            A slot opens the store with a key file or a passphrase; data keys are what events are \
            sealed under. A store is sealed when it is made with --key-file or --passphrase-file.

            Example: evstore --key-file orders.key key list
            """,
        subcommands: [List.self, Add.self, Rotate.self, Retire.self])

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints slots and data keys; nothing where events are not sealed.",
            discussion: "Example: evstore --key-file orders.key key list --json")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let keys = try await session.withStore(.reading) { store in store.maintenance.keys() }
            for key in keys { try session.output.row(key) }
            if keys.isEmpty { session.output.note("note: its events are not sealed; see: evstore recipher --help") }
        }
    }

    struct Add: Command {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Lets in whoever has another key file or passphrase.",
            discussion: """
                Nothing is sealed anew: a slot holds the store's master key. To change how a passphrase \
                is stretched, or the passphrase, add the new one and retire the old slot.

                Example: evstore --key-file orders.key key add --new-passphrase-file spare --label safe
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @OptionGroup var new: NewSecretOptions

        @Option(help: ArgumentHelp("Whose it is, up to 40 bytes; anybody can read it.", valueName: "text")) var label = ""
        @Option(help: "How a passphrase is stretched: scrypt (128 MiB) or pbkdf2-sha256; scrypt where not given.", transform: oneOf)
        var kdf: KeyDerivation?

        func validate() throws {
            if !new.isGiven { throw ValidationError("which key? Say --new-key-file FILE or --new-passphrase-file FILE") }
            if new.newKeyFile != nil && kdf != nil { throw ValidationError("--kdf is for a passphrase: a key file is not stretched") }
        }

        func run(in session: Session) async throws {
            guard let secret = try new.secret(apartFrom: global.storePath()) else { return }
            let key = try await session.withStore { store in try await store.maintenance.addKey(secret, derivation: kdf, label: label) }
            try session.output.print(key)
        }
    }

    struct Rotate: Command {
        static let configuration = CommandConfiguration(
            commandName: "rotate", abstract: "Makes a data key, which events are sealed under from now on.",
            discussion: """
                What is sealed stays as it is and opens as before; `recipher` makes a store in which it \
                is sealed anew. A process that has the store open goes over to the new key when it \
                next opens it, or meets an event under it.

                Example: evstore --key-file orders.key key rotate
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Option(help: ArgumentHelp("aes-256-gcm, or aes-256-cbc-hmac-sha256 for older systems.", valueName: "suite"), transform: oneOf)
        var suite: CipherSuite = .gcm

        func run(in session: Session) async throws {
            let key = try await session.withStore { store in try await store.maintenance.rotateKey(suite: suite) }
            try session.output.print(key)
        }
    }

    struct Retire: Command {
        static let configuration = CommandConfiguration(
            commandName: "retire", abstract: "Gives up a slot, or a data key that no event of the log is sealed under.",
            discussion: """
                The last slot and the data key that is written under stay. For a data key the log is \
                read, and nobody else may have the store open (exit 5). Whoever has an older copy of \
                the file `keys` and what opened the slot still has the keys: then `recipher`.

                Example: evstore --key-file orders.key key retire slot 2
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "slot or data.", transform: oneOf) var kind: StoreKey.Kind
        @Argument(help: "Its number.") var number: UInt32

        func run(in session: Session) async throws {
            let key = try await session.withStore { store in
                try await store.maintenance.retireKey(kind, number, progress: session.progress)
            }
            try session.output.print(key.members) {
                "retired    \(kind.rawValue) \(number)" + (key.label.isEmpty ? "" : " (\(key.label))")
            }
        }
    }
}

extension StoreKey: Report {
    var members: Members {
        [
            "kind": kind.rawValue, "id": id, "way": openedBy, "suite": suite?.rawValue,
            "created": created, "label": kind == .slot ? label : nil, "writing": isWriting,
        ]
    }

    var lines: [String] {
        let words = [
            "\(kind.rawValue) \(id)".padded(to: 8), (openedBy ?? suite?.rawValue ?? "").padded(to: 24), created.description.padded(to: 27),
            isWriting ? "written under" : label,
        ].joined(separator: "  ")
        // Without spaces at the end.
        String(words.reversed().drop { $0 == " " }.reversed())
    }
}
