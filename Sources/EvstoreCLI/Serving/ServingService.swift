#if Service
    internal import EventModel
    internal import EvstoreService
    internal import EvstoreWeb
    internal import Foundation
    internal import ServiceLifecycle
    internal import Platform

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
                    group.addTask {
                        try await server.run { port in
                            say(port)
                            tell(manager, "READY=1", "STATUS=serving \(address.description)")
                        }
                    }
                    if let manager, let interval = NotifySocket.watchdogInterval(environment) {
                        group.addTask { await Self.keepAlive(manager, every: interval) }
                    }
                    try await group.waitForAll()
                }
            } onGracefulShutdown: {
                tell(manager, "STOPPING=1")
                Task { await server.stop() }
            }
        }

        private func say(_ port: Int?) {
            let base = port.map { "http://127.0.0.1:\($0)" } ?? address.description
            if let saidToken { output.note("look at   \(base)/?token=\(saidToken)") }
            output.note("serving   \(base); ^C ends it")
        }

        /// A service manager that no longer listens does not affect the server's clients.
        private func tell(_ manager: NotifySocket?, _ lines: String...) {
            do { for line in lines { try manager?.tell(line) } } catch { output.note("note: systemd was not told: \(error)") }
        }

        /// Notifies systemd periodically that the program is alive, from the task pool that everything runs on, until a shutdown.
        private static func keepAlive(_ manager: NotifySocket, every interval: Duration) async {
            await cancelWhenGracefulShutdown {
                do {
                    while true {
                        try manager.tell("WATCHDOG=1")
                        try await Task.sleep(for: interval.bounded)
                    }
                } catch {
                    // The task was cancelled, or nobody listens: systemd then acts as it is configured.
                }
            }
        }
    }
#endif
