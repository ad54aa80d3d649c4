#if Service
    package import Evstore
    package import EvstoreService
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix
    internal import Synchronization
    internal import Platform

    /// Health, readiness and metrics of a store over HTTP, and its page.
    ///
    ///     GET /healthz   200 where the store can be read, else 503
    ///     GET /readyz    200 where its live read models are built and near the log's end, else 503, with what is not
    ///     GET /metrics   figures for Prometheus
    ///     GET /…         the page, for who has the token
    ///
    /// On loopback a browser shows the token once, in `?token=`, and then as a cookie; whoever may open a Unix socket needs none.
    package final class WebServer: Sendable {
        private let store: EventStore
        private let metrics: StoreMetrics
        private let registry: PrometheusRegistry
        private let backups: String?
        private let address: ListenAddress
        private let page: Page?
        private let token: String?
        /// What it listens on, and whether it was stopped.
        private let listener = Mutex<(channel: (any Channel)?, isStopped: Bool)>((nil, false))
        private let connections = Atomic(0)

        /// A read model that is further behind is not ready to be asked.
        private static let lagMax: UInt64 = 10_000
        /// Connections at once, and milliseconds that those have at the end.
        private static let (connectionsMax, graceMilliseconds) = (64, 3_000)

        /// - Parameters:
        ///   - page: nil where nothing is to be looked at.
        ///   - token: what a browser must have for the page; nil where whoever reaches the server may see it.
        package init(
            _ store: EventStore, _ metrics: StoreMetrics, _ registry: PrometheusRegistry, backups: String?, at address: ListenAddress,
            page: Page? = nil, token: String? = nil
        ) {
            (self.store, self.metrics, self.registry, self.backups) = (store, metrics, registry, backups)
            (self.address, self.page, self.token) = (address, page, token)
        }

        /// Serves until it is stopped or cancelled.
        /// - Parameter listening: called once it can be reached, with the port where there is one.
        package func run(listening: (Int?) async throws -> Void) async throws {
            let server = try await bound()
            let isStopped = listener.withLock { listener in
                listener.channel = server.channel
                return listener.isStopped
            }
            try await withThrowingDiscardingTaskGroup { group in
                try await server.executeThenClose { connections in
                    if isStopped { return }
                    try await listening(server.channel.localAddress?.port)
                    for try await connection in connections { if begins() { group.addTask { await self.serve(connection) } } }
                }
                for _ in 0 ..< Self.graceMilliseconds / 10 where connections.load(ordering: .relaxed) > 0 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                group.cancelAll()
            }
        }

        /// Ends once the work that the page has begun has stopped, and the requests at hand are answered, or after three seconds.
        package func stop() async {
            await page?.changes?.work.end()
            let channel = listener.withLock { listener in
                listener.isStopped = true
                return listener.channel
            }
            channel?.close(promise: nil)
        }

        private func bound() async throws -> NIOAsyncChannel<WebConnection, Never> {
            let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            switch address {
            case .loopback(let port): return try await bootstrap.bind(host: "127.0.0.1", port: Int(port)) { WebConnection.make(on: $0) }
            case .socket(let path):
                // Only its owner and group may connect, from the beginning.
                return try await FileMask.with(0o660) {
                    try await bootstrap.bind(unixDomainSocketPath: path) { WebConnection.make(on: $0) }
                }
            }
        }

        /// Whether there is room for one more connection, which then counts.
        private func begins() -> Bool {
            if connections.add(1, ordering: .relaxed).newValue <= Self.connectionsMax { return true }
            connections.subtract(1, ordering: .relaxed)
            return false
        }

        private func serve(_ connection: WebConnection) async {
            await connection.answer { await self.answer($0) }
            connections.subtract(1, ordering: .relaxed)
        }

        // MARK: Answers

        private func answer(_ request: WebRequest) async -> WebResponse {
            // A page elsewhere whose name is made to lead here asks by that name (DNS rebinding).
            guard Self.isOwn(host: request.header("Host")) else { return Self.text(.forbidden, "this host is not served\n") }
            let path = request.path
            do {
                switch (path, request.head.method) {
                case ("/healthz", .GET), ("/healthz", .HEAD): return try health()
                case ("/readyz", .GET), ("/readyz", .HEAD): return try readiness()
                case ("/metrics", .GET), ("/metrics", .HEAD): return try figures()
                case (_, .GET), (_, .HEAD), (_, .POST):
                    guard let page else { return Self.text(.notFound, "there is /healthz, /readyz and /metrics\n") }
                    return try await show(page, path, request)
                default: return Self.text(.methodNotAllowed, "GET and POST are answered here\n")
                }
            } catch {
                return Self.text(.serviceUnavailable, ((error as? EvstoreError)?.message ?? "\(error)") + "\n")
            }
        }

        static func isOwn(host: String?) -> Bool {
            guard let host else { return false }
            let parts = host.split(separator: ":", omittingEmptySubsequences: false)
            return ["127.0.0.1", "localhost"].contains(parts[0].lowercased()) && parts.count <= 2
        }

        private func health() throws -> WebResponse {
            let status = try store.status()
            let lines = status.complaints.map { "complaint: \($0)\n" }.joined()
            return Self.text(.ok, "ok, position \(status.position)\n" + lines)
        }

        private func readiness() throws -> WebResponse {
            let status = try store.status()
            let behind = status.projections.filter { $0.checkpoint == nil || $0.lag > Self.lagMax }
            if behind.isEmpty { return Self.text(.ok, "ready at \(status.versions.live)\n") }
            let lines = behind.map { $0.checkpoint == nil ? "\($0.name) is not built\n" : "\($0.name) is \($0.lag) events behind\n" }
            return Self.text(.serviceUnavailable, lines.joined())
        }

        private func figures() throws -> WebResponse {
            try metrics.take(of: store, backups: backups)
            return Self.text(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }

        // MARK: The page

        private static let cookie = "evstore"

        private func show(_ page: Page, _ path: String, _ request: WebRequest) async throws -> WebResponse {
            var asked = PageRequest(path: path, query: request.query)
            if let token {
                if let given = asked.query["token"] {
                    guard PageSecret.equal(given, token) else { return Self.refused }
                    // From here on the cookie says it, and no address that is kept or copied has it.
                    var headers = Self.headers(type: "text/plain; charset=utf-8")
                    headers.add(name: "Set-Cookie", value: "\(Self.cookie)=\(token); HttpOnly; SameSite=Strict; Path=/")
                    headers.add(name: "Location", value: "/")
                    return WebResponse(status: .seeOther, headers: headers)
                }
                guard PageSecret.equal(Self.cookie(of: request), token) else { return Self.refused }
            }
            if request.head.method == .POST {
                guard isOwnOrigin(request) else { return Self.text(.forbidden, "a page of another origin can't change anything here\n") }
                asked.take(form: String(decoding: request.body, as: UTF8.self))
            }
            let answer = await page.answer(asked)
            var headers = Self.headers(type: answer.type)
            if let location = answer.location { headers.add(name: "Location", value: location) }
            return WebResponse(status: HTTPResponseStatus(statusCode: answer.status), headers: headers, body: answer.body)
        }

        private static let refused = text(
            .unauthorized, "this page wants its token: open the address that evstore printed when it started\n")

        private static func cookie(of request: WebRequest) -> String {
            let pairs = (request.header("Cookie") ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            return pairs.first { $0.hasPrefix(cookie + "=") }.map { String($0.dropFirst(cookie.count + 1)) } ?? ""
        }

        /// A browser says with each form where it comes from (Fetch, 3.2).
        private func isOwnOrigin(_ request: WebRequest) -> Bool {
            guard let origin = request.header("Origin"), let host = request.header("Host") else { return false }
            return origin == "http://\(host)" || origin == "https://\(host)"
        }

        private static func headers(type: String) -> HTTPHeaders {
            let policy = """
                default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; \
                frame-ancestors 'none'
                """
            return [
                "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": policy,
                "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            ]
        }

        private static func text(
            _ status: HTTPResponseStatus, _ text: String, type: String = "text/plain; charset=utf-8"
        ) -> WebResponse { WebResponse(status: status, headers: headers(type: type), body: Array(text.utf8)) }
    }
#endif
