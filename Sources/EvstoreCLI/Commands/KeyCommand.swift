internal import ArgumentParser
internal import EventModel
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

struct ForgetCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Makes the personal data of streams unreadable, for good.",
        discussion: """
            In a store whose events are sealed, what version files call personal is sealed once more, under a key for \
            each stream. This overwrites that key: from then on the members have their plainest value (null, or an empty \
            text), at every version, and all else stays. Read models are built anew when they are asked for. Names of \
            streams, ids and metadata are not personal.

            Archives of cuts are written anew without it. What was copied elsewhere before still holds it: prune older \
            backups (backup --keep).

            What was written before a member was personal, before the store was sealed, or at a version that does not \
            mark its member, is not separate, and stays: the command tells how many events still show it, and how many have no image with the plainest value, each \
            with the first position (exit 8). It also names archives with lines that it can't read, which may hold the \
            data still, and copies that a running drill works with (exit 8).

            Example: evstore forget customer-17 --for-good
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("The streams.", valueName: "stream")) var streams: [String]

    @Flag(help: "Says that it is meant: nothing brings it back.") var forGood = false

    func run(in session: Session) async throws {
        let names = try streams.map { try StreamName($0) }
        guard forGood else {
            throw EvstoreError.consentNeeded(
                what: "the personal data of \(counted(names.count, "stream")) would be unreadable for good", how: "--for-good")
        }
        let report = try await session.withStore { store in try await store.forget(names) }
        try session.output.print(report.members) { report.words }
        if !report.isComplete { throw Exit.quarantined }
    }
}

extension ForgetReport.EventsOfStream: PrintableObject {
    var members: Members { ["stream": stream, "events": count, "first": first] }
}

extension ForgetReport {
    fileprivate var members: Members {
        [
            "forgotten": forgotten, "before": before, "unknown": unknown, "readModels": readModels, "archives": archives, "lines": lines,
            "inUse": inUse, "fileSystem": fileSystem, "stillShown": stillShown, "withoutImage": withoutImage,
        ]
    }

    @TextLines fileprivate var words: [String] {
        for name in forgotten { "forgotten  \(name)" }
        for name in before { "forgotten  \(name), before" }
        let shown = Set(stillShown.map(\.stream))
        for name in unknown where !shown.contains(name) { "nothing    \(name) never had personal data" }
        for events in stillShown {
            "SHOWN      \(events.stream): \(counted(events.count, "event")) from position \(grouped(events.first.rawValue)) on "
                + "still show personal data at a promised version: they were written before it was personal, before the "
                + "store was sealed, or where their own version does not mark it"
        }
        for events in withoutImage {
            "HIDDEN     \(events.stream): \(counted(events.count, "event")) from position \(grouped(events.first.rawValue)) on "
                + "have no image at the live version: a step can't convert what is in the place of personal data"
        }
        if readModels > 0 {
            "read models \(readModels) taken away; they are built anew when they are asked for"
        }
        if lines > 0 { "archives   \(counted(lines, "line")) written anew without it" }
        for file in archives {
            "unread     \(file) has lines that can't be read, and may hold it: delete it when you can"
        }
        for copy in inUse { "in use     \(copy) is a copy that a drill works with: it goes when that ends" }
        if let kind = fileSystem {
            "warning    \(kind) has copies of what is overwritten: the old keys may be on the disk until their room is used again, "
                + "and in snapshots; delete those, and trim or fill what is free"
        }
    }
}
