#if Service
    internal import ArgumentParser
    internal import EventModel
    internal import Evstore
    internal import EvstoreService
    internal import EvstoreWeb
    internal import Foundation
    internal import Platform
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

        private static func duration(_ text: String) -> Duration? {
            Duration(text, units: ["s": .seconds(1), "m": .seconds(60), "h": .seconds(3_600), "d": .seconds(86_400)])
        }

        func run(in session: Session) async throws {
            try await session.withStore(isFollowing: true) { store in
                let metrics = ServingMetrics()
                let serving = Serving(
                    address: listen, backups: backup, page: page ? (allowsChanges: allowChanges, tokenFile: tokenFile) : nil)
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
                try await serving.run(services, session)
            }
        }
    }

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
                let serving = Serving(address: listen, backups: backup, page: (allowsChanges: false, tokenFile: nil))
                try await serving.run([serving.service(of: store, ServingMetrics(), session)], session)
            }
        }
    }

    struct ServingMetrics {
        let registry: PrometheusRegistry
        let store: StoreMetrics

        init() {
            registry = PrometheusRegistry(help: StoreMetrics.help)
            store = StoreMetrics(factory: registry)
        }
    }

    /// The parts that `serve` and `inspect` share: an address and a page.
    struct Serving {
        var address: String
        var backups: String?
        var page: (allowsChanges: Bool, tokenFile: String?)?

        static func checkAddress(_ text: String) throws {
            if ListenAddress(text) == nil {
                throw ValidationError("\(quoted(text)) of --listen is neither a port of 127.0.0.1 nor unix:PATH: nothing else is served")
            }
        }

        func service(of store: EventStore, _ metrics: ServingMetrics, _ session: Session) throws -> ServingService {
            guard let address = ListenAddress(address) else { throw EvstoreError.usage("\(quoted(address)) is no address") }
            // The server's own threads, one for each processor, end the process where they can't be started.
            try EvstoreCLI.requireThreads(Processors.count + 4)
            var token: String?
            if let page, case .loopback = address { token = try Self.token(page.tokenFile) }
            let shown = page.map { page in
                Page(
                    store, backups: backups.map(BackupLook.at),
                    changes: page.allowsChanges ? PageChanges(metrics.store.progress) : nil)
            }
            let server = WebServer(store, metrics.store, metrics.registry, backups: backups, at: address, page: shown, token: token)
            // A token that stays the same is not written to a log.
            let said = token.map { token in page?.tokenFile.map { "(the token in \($0))" } ?? token }
            return ServingService(server: server, address: address, saidToken: said, output: session.output)
        }

        /// Runs services until the command is interrupted, which ends them gracefully, one after the other. A backup or a drill that waits for
        /// a directory of backups that hangs can't be ended so.
        func run(_ services: [any ServiceLifecycle.Service], _ session: Session) async throws {
            let group = ServiceGroup(services: services, logger: session.logger)
            let manager = NotifySocket(ProcessInfo.processInfo.environment)
            session.interrupts.areTheNormalEnd()
            if let look = backups.map(BackupLook.at) { session.interrupts.endProgram { look.isSilent } }
            session.interrupts.atFirst { [output = session.output] in
                Task { await group.triggerGracefulShutdown() }
                // A service manager that no longer listens does not affect the server's clients.
                do throws(SystemFailure) { try manager?.tell("STOPPING=1") } catch {
                    // The handling of signals waits for nobody who reads.
                    Task { output.note("note: systemd was not told: \(error)") }
                }
            }
            try await group.run()
        }

        private static func token(_ file: String?) throws -> String {
            guard let file else { return PageSecret.make() }
            let bytes: [UInt8]
            do { bytes = try SecureFile.read(file, .secret, bytesMax: 4_096) } catch { throw EvstoreError.usage("\(file): \(error)") }
            let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            // The token is stored in a cookie, which limits its characters.
            let isToken = line.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic || ("0" ... "9").contains($0) }
            if line.utf8.count < 16 || !isToken { throw EvstoreError.usage("the token in \(file) is not 16 or more letters and digits") }
            return line
        }
    }

    /// A web server as a member of a service group, with notifications to systemd.
    struct ServingService: ServiceLifecycle.Service {
        let server: WebServer
        let address: ListenAddress
        /// The page's token in the form in which it is printed; nil where there is no page, or it needs no token.
        let saidToken: String?
        let output: Output

        func run() async throws {
            let environment = ProcessInfo.processInfo.environment
            let manager = NotifySocket(environment)
            try await withGracefulShutdownHandler {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let (serving, begun) = AsyncStream.makeStream(of: Void.self)
                    group.addTask {
                        defer { begun.finish() }
                        try await server.run { port in
                            say(port)
                            begun.yield()
                        }
                    }
                    if let manager {
                        group.addTask {
                            for await _ in serving { await keepTelling(manager, every: NotifySocket.watchdogInterval(environment)) }
                        }
                    }
                    try await group.waitForAll()
                }
            } onGracefulShutdown: {
                Task { await server.stop() }
            }
        }

        private func say(_ port: Int?) {
            let base = port.map { "http://127.0.0.1:\($0)" } ?? address.description
            if let saidToken { output.note("look at   \(base)/?token=\(saidToken)") }
            output.note("serving   \(base); ^C ends it")
        }

        /// Tells systemd that the program serves, then periodically that it is alive, from the task pool that everything runs on, until a
        /// shutdown.
        private func keepTelling(_ manager: NotifySocket, every interval: Duration?) async {
            await cancelWhenGracefulShutdown {
                do {
                    try await tellReady(manager)
                    guard let interval else { return }
                    while true {
                        // Where systemd does not listen just now, the next sign may reach it.
                        do throws(SystemFailure) { try manager.tell("WATCHDOG=1", patience: 0) } catch {}
                        try await Task.sleep(for: interval.bounded)
                    }
                } catch {
                    // The task was cancelled.
                }
            }
        }

        /// Waits for room in the queue of systemd, without a thread.
        private func tellReady(_ manager: NotifySocket) async throws(CancellationError) {
            for line in ["READY=1", "STATUS=serving \(address.description)"] {
                var isTold = false
                while !isTold {
                    do throws(SystemFailure) {
                        try manager.tell(line, patience: 0)
                        isTold = true
                    } catch {
                        guard error.isBusy else { return output.note("note: systemd was not told: \(error)") }
                        do { try await Task.sleep(for: .milliseconds(100)) } catch { throw CancellationError() }
                    }
                }
            }
        }
    }
#endif
