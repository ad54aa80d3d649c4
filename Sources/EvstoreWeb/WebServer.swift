#if Service
    package import Evstore
    package import EvstoreService
    internal import FlyingFox
    internal import FlyingSocks
    internal import Foundation

    /// Health, readiness and metrics of a store over HTTP, and its page.
    ///
    ///     GET /healthz   200 where the store can be read, else 503
    ///     GET /readyz    200 where its live read models are built and near the log's end, else 503, with what is not
    ///     GET /metrics   figures for Prometheus
    ///     GET /…         the page, for who has the token
    ///
    /// On loopback a browser shows the token once, in `?token=`, and then as a cookie; whoever may open a Unix socket needs none.
    package struct WebServer: Sendable {
        private let store: EventStore
        private let metrics: StoreMetrics
        private let registry: PrometheusRegistry
        private let backups: String?
        private let address: ListenAddress
        private let page: Page?
        private let token: String?
        private let server: HTTPServer

        /// A read model that is further behind is not ready to be asked.
        private static let lagMax: UInt64 = 10_000

        /// - Parameters:
        ///   - page: nil where nothing is to be looked at.
        ///   - token: what a browser must have for the page; nil where whoever reaches the server may see it.
        package init(
            _ store: EventStore, _ metrics: StoreMetrics, _ registry: PrometheusRegistry, backups: String?, at address: ListenAddress,
            page: Page? = nil, token: String? = nil
        ) throws {
            (self.store, self.metrics, self.registry, self.backups) = (store, metrics, registry, backups)
            (self.address, self.page, self.token) = (address, page, token)
            switch address {
            case .loopback(let port):
                server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port), logger: .disabled)
            case .socket(let path): server = HTTPServer(address: .unix(path: path), logger: .disabled)
            }
        }

        /// Serves until it is stopped or cancelled.
        /// - Parameter listening: called once it can be reached, with the port where there is one.
        package func run(listening: @Sendable @escaping (UInt16?) async throws -> Void) async throws {
            await server.appendRoute("*") { request in await answer(request) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.run() }
                try await server.waitUntilListening()
                try await listening(port(of: server.listeningAddress))
                try await group.waitForAll()
            }
        }

        /// Ends once the requests at hand are answered, or after three seconds, and once the work that the page has begun has stopped.
        package func stop() async {
            await page?.changes?.work.end()
            await server.stop(timeout: 3)
        }

        private func port(of address: Socket.Address?) -> UInt16? {
            if case .ip4(_, let port) = address { port } else { nil }
        }

        // MARK: Answers

        private func answer(_ request: HTTPRequest) async -> HTTPResponse {
            // A page elsewhere whose name is made to lead here asks by that name (DNS rebinding).
            guard Self.isOwn(host: request.headers[.host]) else { return Self.text(.forbidden, "this host is not served\n") }
            let path = request.target.path(percentEncoded: true)
            do {
                switch (path, request.method) {
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

        private func health() throws -> HTTPResponse {
            let status = try store.status()
            let lines = status.complaints.map { "complaint: \($0)\n" }.joined()
            return Self.text(.ok, "ok, position \(status.position)\n" + lines)
        }

        private func readiness() throws -> HTTPResponse {
            let status = try store.status()
            let behind = status.projections.filter { $0.checkpoint == nil || $0.lag > Self.lagMax }
            if behind.isEmpty { return Self.text(.ok, "ready at \(status.versions.live)\n") }
            let lines = behind.map { $0.checkpoint == nil ? "\($0.name) is not built\n" : "\($0.name) is \($0.lag) events behind\n" }
            return Self.text(.serviceUnavailable, lines.joined())
        }

        private func figures() throws -> HTTPResponse {
            try metrics.take(of: store, backups: backups)
            return Self.text(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }

        // MARK: The page

        private static let cookie = "evstore"
        /// More than any form of the page has.
        private static let formBytesMax = 64 << 10

        private func show(_ page: Page, _ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
            let query = request.target.query(percentEncoded: true)
            var asked = PageRequest(path: path, query: query)
            if let token {
                if let given = asked.query["token"] {
                    guard PageSecret.equal(given, token) else { return Self.refused }
                    // From here on the cookie says it, and no address that is kept or copied has it.
                    var headers = Self.headers(type: "text/plain; charset=utf-8")
                    headers[HTTPHeader("Set-Cookie")] = "\(Self.cookie)=\(token); HttpOnly; SameSite=Strict; Path=/"
                    headers[HTTPHeader("Location")] = path
                    return HTTPResponse(statusCode: .seeOther, headers: headers)
                }
                guard PageSecret.equal(Self.cookie(of: request), token) else { return Self.refused }
            }
            if request.method == .POST {
                guard isOwnOrigin(request) else { return Self.text(.forbidden, "a page of another origin can't change anything here\n") }
                guard let size = request.headers[.contentLength].flatMap(Int.init), size <= Self.formBytesMax else {
                    return Self.text(.payloadTooLarge, "a form has at most \(Self.formBytesMax) bytes\n")
                }
                asked = PageRequest(path: path, query: query, form: String(decoding: try await request.bodyData, as: UTF8.self))
            }
            let answer = await page.answer(asked)
            var headers = Self.headers(type: answer.type)
            if let location = answer.location { headers[HTTPHeader("Location")] = location }
            let code = HTTPStatusCode(answer.status, phrase: "")
            return HTTPResponse(statusCode: code, headers: headers, body: request.method == .HEAD ? Data() : Data(answer.body))
        }

        private static let refused = text(
            .unauthorized, "this page wants its token: open the address that evstore printed when it started\n")

        private static func cookie(of request: HTTPRequest) -> String {
            let pairs = (request.headers[HTTPHeader("Cookie")] ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            return pairs.first { $0.hasPrefix(cookie + "=") }.map { String($0.dropFirst(cookie.count + 1)) } ?? ""
        }

        /// A browser says with each form where it comes from (Fetch, 3.2).
        private func isOwnOrigin(_ request: HTTPRequest) -> Bool {
            guard let origin = request.headers[HTTPHeader("Origin")], let host = request.headers[.host] else { return false }
            return origin == "http://\(host)" || origin == "https://\(host)"
        }

        private static func headers(type: String) -> HTTPHeaders {
            let policy = """
                default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; \
                frame-ancestors 'none'
                """
            return [
                .contentType: type, HTTPHeader("Cache-Control"): "no-store", HTTPHeader("X-Content-Type-Options"): "nosniff",
                HTTPHeader("Content-Security-Policy"): policy, HTTPHeader("Referrer-Policy"): "same-origin",
                HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin", HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
            ]
        }

        private static func text(_ code: HTTPStatusCode, _ text: String, type: String = "text/plain; charset=utf-8") -> HTTPResponse {
            HTTPResponse(statusCode: code, headers: headers(type: type), body: Data(text.utf8))
        }
    }
#endif
