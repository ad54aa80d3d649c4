#if Service
    internal import ArgumentParser
    internal import Evstore

    struct InspectCommand: Command {
        static let configuration = CommandConfiguration(
            commandName: "inspect",
            abstract: "Shows the store in a browser, and changes nothing.",
            discussion: """
                Prints an address with a token: open it in a browser of this machine. ^C ends it with 0.

                Example: evstore inspect --store orders
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("Where it listens: a port of 127.0.0.1 (0 for any that is free), or unix:PATH.", valueName: "address"))
        var listen = "127.0.0.1:0"

        @Option(help: ArgumentHelp("A directory of backups, to show them too.", valueName: "dir")) var backup: String?

        func validate() throws { try Serving.checkAddress(listen) }

        func run(in session: Session) async throws {
            try await session.withStore(.reading) { store in
                let serving = Serving(address: listen, backups: backup, page: .init(allowsChanges: false, tokenFile: nil))
                try await Serving.run([serving.service(of: store, ServingMetrics(), session)], session)
            }
        }
    }
#endif
