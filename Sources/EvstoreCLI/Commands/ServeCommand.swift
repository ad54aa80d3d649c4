#if Service
    internal import ArgumentParser
    internal import Evstore
    internal import EvstoreService
    internal import Foundation
    internal import Logging
    internal import ServiceLifecycle
    internal import System

    struct ServeCommand: Command {
        static let configuration = CommandConfiguration(
            commandName: "serve",
            abstract: "Serves health, readiness and metrics of the store, and makes backups and drills by schedule.",
            discussion: """
                On this machine alone: /healthz, /readyz, and /metrics for Prometheus. Under systemd it says when it is ready, and that it is \
                alive. ^C or SIGTERM ends it with 0; what is under way is left in a valid state.

                Example: evstore serve --listen 127.0.0.1:9464 --backup backups --backup-every 1h --drill-every 1d
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("Where it listens: a port of 127.0.0.1, or unix:PATH.", valueName: "address"))
        var listen = "127.0.0.1:9464"

        @Option(help: ArgumentHelp("A directory of backups: their age is told, and --backup-every adds to it.", valueName: "dir"))
        var backup: String?

        @Option(help: ArgumentHelp("How often a backup is made, as 30m, 12h or 1d.", valueName: "time")) var backupEvery: String?

        @Option(help: ArgumentHelp("How many backups are kept; all where it is not given.", valueName: "n")) var keep: Int?

        @Option(help: ArgumentHelp("How often a drill is made, as 12h or 1d.", valueName: "time")) var drillEvery: String?

        func validate() throws {
            if ListenAddress(listen) == nil {
                throw ValidationError("\(quoted(listen)) of --listen is neither a port of 127.0.0.1 nor unix:PATH: nothing else is served")
            }
            for (name, text) in [("--backup-every", backupEvery), ("--drill-every", drillEvery)] {
                if let text, Self.duration(text) == nil { throw ValidationError("\(quoted(text)) of \(name) is no time, such as 30m, 12h or 1d") }
            }
            if backupEvery != nil, backup == nil { throw ValidationError("--backup-every needs --backup DIR") }
            if let keep, keep < 1 { throw ValidationError("--keep is 1 or more") }
        }

        /// `90s`, `30m`, `12h` or `1d`; nil for anything else.
        static func duration(_ text: String) -> Duration? {
            guard let unit = text.last, let number = Int(text.dropLast()), number > 0, number < 1_000_000 else { return nil }
            let seconds: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
            return seconds[unit].map { .seconds(number * $0) }
        }

        func run(in session: Session) async throws {
            guard let address = ListenAddress(listen) else { return }
            try await session.withStore(.writing) { store in
                let registry = PrometheusRegistry()
                let metrics = StoreMetrics(factory: registry)
                let logger = session.logger
                let status = StatusServer(store, metrics, registry, backups: backup, at: address)
                var services: [any ServiceLifecycle.Service] = [ServingService(status, address, session.output)]
                if let backup, let every = backupEvery.flatMap(Self.duration) {
                    services.append(ScheduleService.backups(of: store, into: backup, every: every, keeping: keep, logger: logger))
                }
                if let every = drillEvery.flatMap(Self.duration) {
                    services.append(ScheduleService.drills(of: store, backups: backup, every: every, logger: logger))
                }
                let group = ServiceGroup(services: services, logger: logger)
                let running = Task { try await group.run() }
                try await withTaskCancellationHandler {
                    try await running.value
                } onCancel: {
                    Task { await group.triggerGracefulShutdown() }
                }
            }
        }
    }

    /// The server as a part of a group, and what systemd is told of it.
    private struct ServingService: ServiceLifecycle.Service {
        private let status: StatusServer
        private let address: ListenAddress
        private let output: Output

        init(_ status: StatusServer, _ address: ListenAddress, _ output: Output) {
            (self.status, self.address, self.output) = (status, address, output)
        }

        func run() async throws {
            if case .socket(let path) = address { try? FileManager.default.removeItem(atPath: path) }
            let server = try await status.server()
            let environment = ProcessInfo.processInfo.environment
            let manager = ServiceManager(environment)
            try await withGracefulShutdownHandler {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { do { try await server.run() } catch where Task.isShuttingDownGracefully {} }
                    try await server.waitUntilListening()
                    output.note("serving \(address.description); ^C ends it")
                    try manager?.tell("READY=1", "STATUS=serving \(address.description)")
                    if let manager, let seconds = ServiceManager.watchdogSeconds(environment) {
                        group.addTask {
                            await cancelWhenGracefulShutdown {
                                while !Task.isCancelled {
                                    try? manager.tell("WATCHDOG=1")
                                    try? await Task.sleep(for: .seconds(seconds))
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            } onGracefulShutdown: {
                try? manager?.tell("STOPPING=1")
                Task { await server.stop(timeout: 3) }
            }
        }
    }
#endif
