#if Service
    internal import ArgumentParser
    internal import Evstore
    internal import EvstoreService
    internal import ServiceLifecycle

    struct ServeCommand: Command {
        static let configuration = CommandConfiguration(
            commandName: "serve",
            abstract: "Serves health, metrics and a page of the store, and makes backups and drills by schedule.",
            discussion: """
                Health and metrics for this machine alone: /healthz, /readyz, and /metrics for Prometheus. With --page it also shows the store \
                to a browser that has the token; --allow-changes lets the page replay, roll back, retry and drill. Under systemd it says when \
                it is ready, and that it is alive. ^C or SIGTERM ends it with 0; what is under way is left in a valid state.

                Example: evstore serve --listen 127.0.0.1:9464 --backup backups --backup-every 1h --drill-every 1d
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("Where it listens: a port of 127.0.0.1 (0 for any that is free), or unix:PATH.", valueName: "address"))
        var listen = "127.0.0.1:9464"

        @Flag(help: "Show the store to a browser.") var page = false

        @Flag(help: "Let the page change things: replay, roll back, retry, drill.") var allowChanges = false

        @Option(
            help: ArgumentHelp(
                "The token of the page: the first line of a file that nobody else can read; a new one is printed where it is not given.",
                valueName: "file"))
        var tokenFile: String?

        @Option(help: ArgumentHelp("A directory of backups: their age is told, and --backup-every adds to it.", valueName: "dir"))
        var backup: String?

        @Option(help: ArgumentHelp("How often a backup is made, as 30m, 12h or 1d.", valueName: "time")) var backupEvery: String?

        @Option(help: ArgumentHelp("How many backups are kept; all where it is not given.", valueName: "n")) var keep: Int?

        @Option(help: ArgumentHelp("How often a drill is made, as 12h or 1d.", valueName: "time")) var drillEvery: String?

        func validate() throws {
            try Serving.checkAddress(listen)
            for (name, text) in [("--backup-every", backupEvery), ("--drill-every", drillEvery)] {
                if let text, Self.duration(text) == nil {
                    throw ValidationError("\(quoted(text)) of \(name) is no time, such as 30m, 12h or 1d")
                }
            }
            if backupEvery != nil, backup == nil { throw ValidationError("--backup-every needs --backup DIR") }
            if keep != nil, backupEvery == nil { throw ValidationError("--keep needs --backup-every TIME") }
            if let keep, keep < 1 { throw ValidationError("--keep is 1 or more") }
            if allowChanges || tokenFile != nil, !page { throw ValidationError("--allow-changes and --token-file need --page") }
        }

        /// `90s`, `30m`, `12h` or `1d`; nil for anything else.
        static func duration(_ text: String) -> Duration? {
            guard let unit = text.last, let number = Int(text.dropLast()), number > 0, number < 1_000_000 else { return nil }
            let seconds: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
            return seconds[unit].map { .seconds(number * $0) }
        }

        func run(in session: Session) async throws {
            try await session.withStore(isFollowing: true) { store in
                let metrics = ServingMetrics()
                let serving = Serving(
                    address: listen, backups: backup, page: page ? .init(allowsChanges: allowChanges, tokenFile: tokenFile) : nil)
                var services: [any ServiceLifecycle.Service] = [try serving.service(of: store, metrics, session)]
                if let backup, let every = backupEvery.flatMap(Self.duration) {
                    services.append(
                        ScheduleService.backups(of: store, into: backup, every: every, keeping: keep, logger: session.logger))
                }
                if let every = drillEvery.flatMap(Self.duration) {
                    services.append(
                        ScheduleService.drills(
                            of: store, backups: backup, every: every, logger: session.logger, progress: metrics.store.progress))
                }
                try await Serving.run(services, session)
            }
        }
    }
#endif
