#if Service
    internal import ArgumentParser
    internal import Evstore
    internal import EvstoreService
    internal import EvstoreWeb
    internal import ServiceLifecycle
    internal import Platform

    /// The metrics of a store, and the registry that formats them.
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
        struct PageOptions {
            var allowsChanges: Bool
            var tokenFile: String?
        }

        var address: String
        var backups: String?
        var page: PageOptions?

        static func checkAddress(_ text: String) throws {
            if ListenAddress(text) == nil {
                throw ValidationError("\(quoted(text)) of --listen is neither a port of 127.0.0.1 nor unix:PATH: nothing else is served")
            }
        }

        func service(of store: EventStore, _ metrics: ServingMetrics, _ session: Session) throws -> ServingService {
            guard let address = ListenAddress(address) else { throw EvstoreError.usage("\(quoted(address)) is no address") }
            var token: String?
            if let page, case .loopback = address { token = try Self.token(page.tokenFile) }
            let shown = page.map { Page(store, backups: backups, changes: $0.allowsChanges ? PageChanges(metrics.store.progress) : nil) }
            let server = WebServer(store, metrics.store, metrics.registry, backups: backups, at: address, page: shown, token: token)
            // A token that stays the same is not written to a log.
            let said = token.map { token in page?.tokenFile.map { "(the token in \($0))" } ?? token }
            return ServingService(server: server, address: address, saidToken: said, output: session.output)
        }

        /// Runs services until the command is interrupted, which ends them gracefully.
        static func run(_ services: [any ServiceLifecycle.Service], _ session: Session) async throws {
            let group = ServiceGroup(services: services, logger: session.logger)
            session.interrupts.atFirst { Task { await group.triggerGracefulShutdown() } }
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
#endif
