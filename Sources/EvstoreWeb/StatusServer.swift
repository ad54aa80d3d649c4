#if Service
    internal import EvstoreService
    internal import Evstore
    internal import FlyingFox
    internal import FlyingSocks
    internal import Foundation

    /// Where a server listens: this machine alone can reach it.
    enum ListenAddress: Sendable {
        case loopback(port: UInt16)
        case socket(path: String)

        /// `127.0.0.1:9464`, `9464` or `unix:/run/evstore/status.sock`; nil for anything else.
        init?(_ text: String) {
            if text.hasPrefix("unix:/") {
                self = .socket(path: String(text.dropFirst("unix:".count)))
                return
            }
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 1 || parts.count == 2 && ["127.0.0.1", "localhost"].contains(parts[0]), let last = parts.last,
                let port = UInt16(last)
            else { return nil }
            self = .loopback(port: port)
        }

        var description: String {
            switch self {
            case .loopback(let port): "http://127.0.0.1:\(port)"
            case .socket(let path): "unix:\(path)"
            }
        }
    }

    /// Health, readiness and metrics of a store over HTTP. Reads alone.
    ///
    ///     GET /healthz   200 where the store can be read, else 503
    ///     GET /readyz    200 where its live read models are built and near the log's end, else 503, with what is not
    ///     GET /metrics   figures for Prometheus
    struct StatusServer: Sendable {
        private let store: EventStore
        private let metrics: StoreMetrics
        private let registry: PrometheusRegistry
        private let backups: String?
        private let address: ListenAddress

        /// A read model that is further behind is not ready to be asked.
        static let lagMax: UInt64 = 10_000

        init(_ store: EventStore, _ metrics: StoreMetrics, _ registry: PrometheusRegistry, backups: String?, at address: ListenAddress) {
            (self.store, self.metrics, self.registry, self.backups, self.address) = (store, metrics, registry, backups, address)
        }

        func server() async throws -> HTTPServer {
            let server: HTTPServer
            switch address {
            case .loopback(let port):
                server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port), logger: .disabled)
            case .socket(let path):
                server = HTTPServer(address: .unix(path: path), logger: .disabled)
            }
            await server.appendRoute("GET,HEAD /healthz") { request in answer(request, health) }
            await server.appendRoute("GET,HEAD /readyz") { request in answer(request, readiness) }
            await server.appendRoute("GET,HEAD /metrics") { request in answer(request, figures) }
            await server.appendRoute("*") { _ in Self.response(.notFound, "there is /healthz, /readyz and /metrics\n") }
            return server
        }

        /// A page of another origin that has this machine's browser ask is refused by the name it asks for.
        private func answer(_ request: HTTPRequest, _ body: () throws -> HTTPResponse) -> HTTPResponse {
            guard Self.isOwn(host: request.headers[.host]) else { return Self.response(.forbidden, "this host is not served\n") }
            do { return try body() } catch {
                return Self.response(.serviceUnavailable, ((error as? EvstoreError)?.message ?? "\(error)") + "\n")
            }
        }

        static func isOwn(host: String?) -> Bool {
            guard let host else { return true }
            let name = host.split(separator: ":").first.map(String.init) ?? ""
            return ["127.0.0.1", "localhost"].contains(name) || name.isEmpty
        }

        private func health() throws -> HTTPResponse {
            let status = try store.status()
            let lines = status.complaints.map { "complaint: \($0)\n" }.joined()
            return Self.response(.ok, "ok, position \(status.position)\n" + lines)
        }

        private func readiness() throws -> HTTPResponse {
            let status = try store.status()
            let behind = status.projections.filter { $0.checkpoint == nil || $0.lag > Self.lagMax }
            if behind.isEmpty { return Self.response(.ok, "ready at \(status.versions.live)\n") }
            let lines = behind.map { $0.checkpoint == nil ? "\($0.name) is not built\n" : "\($0.name) is \($0.lag) events behind\n" }
            return Self.response(.serviceUnavailable, lines.joined())
        }

        private func figures() throws -> HTTPResponse {
            try metrics.take(of: store, backups: backups)
            return Self.response(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }

        private static func response(
            _ code: HTTPStatusCode, _ text: String, type: String = "text/plain; charset=utf-8"
        ) -> HTTPResponse {
            let headers: HTTPHeaders = [
                .contentType: type, HTTPHeader("Cache-Control"): "no-store", HTTPHeader("X-Content-Type-Options"): "nosniff",
            ]
            return HTTPResponse(statusCode: code, headers: headers, body: Data(text.utf8))
        }
    }
#endif
