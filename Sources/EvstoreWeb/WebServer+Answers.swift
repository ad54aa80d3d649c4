#if Service
    internal import Evstore
    internal import EvstoreService
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1

    extension WebServer {
        /// A read model that is further behind than this is not ready for queries.
        private static let lagMax: UInt64 = 10_000

        func answer(_ request: WebRequest) async -> WebResponse {
            guard Self.isClear(request.head.headers), let host = request.header("Host") else {
                return Self.text(.badRequest, "a request has one Host, and says once how long it is\n")
            }
            // A foreign page whose name is made to resolve to this server sends that name (DNS rebinding).
            guard isOwn(host) else { return Self.text(.forbidden, "this host is not served\n") }
            let path = request.path
            do {
                switch (path, request.head.method) {
                case ("/healthz", .GET), ("/healthz", .HEAD): return try health(request)
                case ("/readyz", .GET), ("/readyz", .HEAD): return try readiness(request)
                case ("/metrics", .GET), ("/metrics", .HEAD): return try figures()
                case (_, .GET), (_, .HEAD), (_, .POST):
                    guard let page else { return Self.text(.notFound, "there is /healthz, /readyz and /metrics\n") }
                    return try await show(page, path, request)
                default: return Self.text(.methodNotAllowed, "GET and POST are answered here\n")
                }
            } catch {
                let words = mayKnow(request) ? error.advised : (error as? EvstoreError)?.code ?? "the store can't be read"
                return Self.text(.serviceUnavailable, words + "\n")
            }
        }

        /// Whether no header that decides where a request goes or ends appears twice: of two, each server on the way might use another one
        /// (RFC 9112, 3.2, 6.1 and 6.3).
        private static func isClear(_ headers: HTTPHeaders) -> Bool {
            ["Host", "Content-Length", "Transfer-Encoding", "Origin", "Authorization"].allSatisfy { headers[$0].count <= 1 }
                && !(headers.contains(name: "Content-Length") && headers.contains(name: "Transfer-Encoding"))
        }

        private func isOwn(_ host: String) -> Bool {
            let parts = host.split(separator: ":", omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            // The port becomes a part of addresses, so it is one.
            let isPort = parts.count == 1 || parts.count == 2 && UInt16(parts[1]).map(String.init) == String(parts[1])
            return isPort && (["127.0.0.1", "localhost"].contains(name) || isPageHost(host))
        }

        private func isPageHost(_ host: String) -> Bool { host.prefix { $0 != ":" }.lowercased() == sessions?.host }

        private func health(_ request: WebRequest) throws -> WebResponse {
            let status = try store.status()
            let endsService = status.complaints.contains(where: \.endsService)
            let lines = status.complaints.map { "complaint: \(words(of: $0, for: request))\n" }.joined()
            return Self.text(
                endsService ? .serviceUnavailable : .ok, (endsService ? "not served" : "ok, position \(status.position)") + "\n" + lines)
        }

        private func readiness(_ request: WebRequest) throws -> WebResponse {
            let status = try store.status()
            let reasons =
                status.complaints.filter(\.endsService).map { words(of: $0, for: request) }
                + status.projections.filter { $0.checkpoint == nil || $0.lag > Self.lagMax }.map {
                    $0.checkpoint == nil ? "\($0.name) is not built" : "\($0.name) is \($0.lag) events behind"
                }
            if reasons.isEmpty { return Self.text(.ok, "ready at \(status.versions.live)\n") }
            return Self.text(.serviceUnavailable, reasons.map { $0 + "\n" }.joined())
        }

        /// The text of a complaint for a client that may see the store; only its code for others, since it may contain paths and users.
        private func words(of complaint: Complaint, for request: WebRequest) -> String {
            mayKnow(request) ? "\(complaint)" : complaint.code
        }

        private func mayKnow(_ request: WebRequest) -> Bool {
            if case .loopback = address, sessions == nil { return false }
            return isAllowed(request)
        }

        private func figures() throws -> WebResponse {
            try metrics.take(of: store, backups: backups)
            return Self.text(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }

        // MARK: The page

        private static let cookie = "evstore"

        private func show(_ page: Page, _ path: String, _ request: WebRequest) async throws -> WebResponse {
            var asked = PageRequest(path: path, query: request.query)
            if let token = asked.query["token"], let sessions { return Self.enter(token, sessions, request) }
            guard isAllowed(request) else { return Self.refused }
            if request.head.method == .POST {
                guard isOwnOrigin(request) else { return Self.text(.forbidden, "a page of another origin can't change anything here\n") }
                asked.take(form: String(decoding: request.body, as: UTF8.self))
            }
            let answer = await page.answer(asked)
            var headers = Self.headers(type: answer.type)
            if let location = answer.location { headers.add(name: "Location", value: location) }
            return WebResponse(status: HTTPResponseStatus(statusCode: answer.status), headers: headers, body: answer.body)
        }

        /// Exchanges the token for a session: from here on the cookie identifies the client, and no address that is kept or copied has the
        /// token.
        private static func enter(_ token: String, _ sessions: PageSessions, _ request: WebRequest) -> WebResponse {
            guard sessions.isToken(token) else { return refused }
            let host = request.header("Host") ?? ""
            var headers = headers(type: "text/plain; charset=utf-8")
            if host.prefix(while: { $0 != ":" }).lowercased() == sessions.host {
                // A link from another site may lead here, but its forms may not.
                let terms = "HttpOnly; SameSite=Lax; Path=/; Max-Age=\(PageSessions.seconds)"
                headers.add(name: "Set-Cookie", value: "\(cookie)=\(sessions.begin()); \(terms)")
                headers.add(name: "Location", value: "/")
            } else {
                // The port is the one that the browser uses, which may be that of a tunnel.
                headers.add(name: "Location", value: "http://\(sessions.host)\(host.drop { $0 != ":" })/?token=\(token)")
            }
            return WebResponse(status: .seeOther, headers: headers)
        }

        /// Whether the client may see the content of the store.
        private func isAllowed(_ request: WebRequest) -> Bool {
            guard let sessions else { return true }
            let (scheme, token) = ("Bearer ", request.header("Authorization") ?? "")
            if token.hasPrefix(scheme) { return sessions.isToken(String(token.dropFirst(scheme.count))) }
            return isPageHost(request.header("Host") ?? "") && sessions.isSession(Self.session(of: request))
        }

        private static let refused = text(
            .unauthorized, "this page wants its token: open the address that evstore printed when it started\n")

        private static func session(of request: WebRequest) -> String {
            let pairs = (request.header("Cookie") ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            return pairs.first { $0.hasPrefix(cookie + "=") }.map { String($0.dropFirst(cookie.count + 1)) } ?? ""
        }

        /// Whether a form comes from a page of this server: a browser sends the origin with each form (Fetch, 3.2).
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
