#if Service
    internal import Evstore
    internal import EvstoreService
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1

    extension WebServer {
        /// A read model that is further behind is not ready to be asked.
        private static let lagMax: UInt64 = 10_000

        func answer(_ request: WebRequest) async -> WebResponse {
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

        /// A browser gives a cookie to all ports of a host, so that each has a name of its own.
        private var cookie: String { "evstore-\(port ?? 0)" }

        private func show(_ page: Page, _ path: String, _ request: WebRequest) async throws -> WebResponse {
            var asked = PageRequest(path: path, query: request.query)
            if let token {
                if let given = asked.query["token"] {
                    guard PageSecret.equal(given, token) else { return Self.refused }
                    // From here on the cookie says it, and no address that is kept or copied has it.
                    var headers = Self.headers(type: "text/plain; charset=utf-8")
                    // A link from elsewhere may lead here; forms from elsewhere may not.
                    headers.add(name: "Set-Cookie", value: "\(cookie)=\(token); HttpOnly; SameSite=Lax; Path=/")
                    headers.add(name: "Location", value: "/")
                    return WebResponse(status: .seeOther, headers: headers)
                }
                guard PageSecret.equal(cookie(of: request), token) else { return Self.refused }
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

        private func cookie(of request: WebRequest) -> String {
            let cookie = cookie
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
