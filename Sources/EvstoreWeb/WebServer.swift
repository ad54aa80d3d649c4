#if Service
    package import Evstore
    package import EvstoreService
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix
    internal import Platform
    internal import Synchronization

    /// Serves a store's health, readiness and metrics over HTTP, and its page.
    ///
    ///     GET /healthz   200 where the store can be read, else 503
    ///     GET /readyz    200 where its live read models are built and near the log's end, else 503, with what is not
    ///     GET /metrics   figures for Prometheus
    ///     GET /…         the page, for who has the token
    ///
    /// On loopback, a browser shows the token once, in `?token=`, and then has a session, at a host name that only this server uses. A
    /// program sends the token with each request (`Authorization: Bearer`). A client that may open a Unix socket needs no token.
    package final class WebServer: Sendable {
        let store: EventStore
        let metrics: StoreMetrics
        let registry: PrometheusRegistry
        let backups: String?
        let page: Page?
        /// Nil where every client of the server may see the page.
        let sessions: PageSessions?
        let address: ListenAddress
        private let state = Mutex(State())

        private struct State {
            var listener: (any Channel)?
            var socket: UnixSocket?
            var isStopped = false
            var clients: [ObjectIdentifier: Client] = [:]
        }

        private struct Client {
            let channel: any Channel
            /// Its connection while that is open, and its request while that is worked on, which a client that is gone does not end.
            var holders = 1
        }

        private struct NoRoom: Error {}

        /// The most clients at a time; the connection of a further one is closed.
        private static let clientsMax = 64
        /// How long open connections may last once the server stops.
        private static let graceSeconds = Int64(3)

        /// - Parameters:
        ///   - page: nil where the server has no page.
        ///   - token: the token that a browser needs for the page; nil where every client of the server may see it.
        package init(
            _ store: EventStore, _ metrics: StoreMetrics, _ registry: PrometheusRegistry, backups: String?, at address: ListenAddress,
            page: Page? = nil, token: String? = nil
        ) {
            (self.store, self.metrics, self.registry, self.backups) = (store, metrics, registry, backups)
            (self.address, self.page) = (address, page)
            sessions = token.map { PageSessions(token: $0, store: store.path) }
        }

        /// The port that it listens on; nil for a Unix socket.
        var port: Int? { state.withLock(\.listener)?.localAddress?.port }

        /// How many clients there are whose connection is open or whose request is worked on.
        package var clientCount: Int { state.withLock { $0.clients.count } }

        /// Serves until it is stopped or cancelled, and then finishes the current requests.
        /// - Parameter listening: called once it can be reached, with the port where there is one.
        /// - Throws: `EvstoreError.usage` where it can't listen at its address; what `listening` throws.
        package func run(listening: (Int?) async throws -> Void) async throws {
            let listener = try await bound()
            let isStopped = state.withLock { state in
                state.listener = listener
                return state.isStopped
            }
            if isStopped { close(listener) }
            try await withTaskCancellationHandler {
                do {
                    if !isStopped { try await listening(port) }
                    try await listener.closeFuture.get()
                } catch {
                    close(listener)
                    throw error
                }
            } onCancel: {
                close(listener)
            }
            await endConnections()
        }

        /// Stops the work that the page has begun, then the server, which finishes the current requests within three seconds.
        package func stop() async {
            await page?.changes?.work.end()
            let listener = state.withLock { state in
                state.isStopped = true
                return state.listener
            }
            if let listener { close(listener) }
        }

        private func close(_ listener: any Channel) {
            if listener.isActive { state.withLock(\.socket)?.remove() }
            listener.close(promise: nil)
        }

        private func bound() async throws -> any Channel {
            let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                // A client may say that its request is whole by closing its side (RFC 9112, 9.6): it gets its answer still.
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { [self] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try admit(channel)
                        let client = ObjectIdentifier(channel)
                        try WebConnection.configure(channel) { request in
                            self.count(client, 1)
                            return {
                                defer { self.count(client, -1) }
                                return await self.answer(request)
                            }
                        }
                    }
                }
            do {
                switch address {
                case .loopback(let port): return try await bootstrap.bind(host: "127.0.0.1", port: Int(port)).get()
                case .socket(let path):
                    let socket = try UnixSocket(boundTo: path)
                    state.withLock { $0.socket = socket }
                    return try await bootstrap.withBoundSocket(socket.descriptor).get()
                }
            } catch {
                throw EvstoreError.usage("\(address.description) can't be listened on: \(Self.reason(error))")
            }
        }

        private static func reason(_ error: any Error) -> String {
            let failure = (error as? IOError).map { SystemFailure(code: $0.errnoCode) } ?? error as? SystemFailure
            guard let failure else { return "\(error)" }
            return failure.isAddressInUse ? "another program does, or another file has that name" : failure.description
        }

        /// Counts a client until its connection is closed and its request is no longer worked on.
        /// - Throws: where there are too many clients, or the server is stopped.
        private func admit(_ channel: any Channel) throws {
            try state.withLock { state in
                if state.isStopped || state.clients.count >= Self.clientsMax { throw NoRoom() }
                state.clients[ObjectIdentifier(channel)] = Client(channel: channel)
            }
            channel.closeFuture.whenComplete { [self] _ in count(ObjectIdentifier(channel), -1) }
        }

        /// Counts holders of a client's place in or out; the last one gives it back.
        private func count(_ client: ObjectIdentifier, _ change: Int) {
            state.withLock { state in
                guard let holders = state.clients[client]?.holders else { return }
                state.clients[client]?.holders = holders + change
                if holders + change == 0 { state.clients[client] = nil }
            }
        }

        /// Waits until the current connections are closed; closes those that are still open after the grace period.
        private func endConnections() async {
            let connections = state.withLock { state in
                state.isStopped = true
                return state.clients.values.map(\.channel)
            }
            let late = connections.map { channel in
                channel.eventLoop.scheduleTask(in: .seconds(Self.graceSeconds)) { channel.close(promise: nil) }
            }
            for channel in connections {
                do { try await channel.closeFuture.get() } catch {
                    // The connection is closed, whatever its client did.
                }
            }
            for task in late { task.cancel() }
        }

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
                let words = mayKnow(request) ? "\(error.advised)" : (error as? EvstoreError)?.code ?? "the store can't be read"
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

    struct WebRequest: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8] = []

        /// The path as it was requested, percent-encoded.
        var path: String { String(head.uri.prefix { $0 != "?" }) }
        var query: String { String(head.uri.drop { $0 != "?" }.dropFirst()) }

        func header(_ name: String) -> String? { head.headers.first(name: name) }
    }

    struct WebResponse: Sendable {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var body: [UInt8] = []
    }

    /// A connection: receives one request, has it answered on the store's threads, and closes. A client that disconnects is not an error.
    final class WebConnection: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        /// Called on the event loop where a request is whole; what it returns makes the response, on a thread of the store's.
        typealias Answer = @Sendable (WebRequest) -> @Sendable () async -> WebResponse

        /// The seconds in which a client must send its request, and in which it must take the response.
        private static let (requestSeconds, answerSeconds) = (Int64(15), Int64(30))
        private static let bodyBytesMax = 64 << 10

        private let answer: Answer
        private var deadline: Scheduled<Void>?
        private var request: WebRequest?
        private var bodyBytes = 0
        private var isAnswered = false

        init(_ answer: @escaping Answer) { self.answer = answer }

        /// Adds the HTTP handlers to a new connection. Runs on its event loop.
        static func configure(_ channel: any Channel, _ answer: @escaping Answer) throws {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: true)
            try pipeline.addHandler(WebConnection(answer))
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let channel = context.channel
            deadline = channel.eventLoop.scheduleTask(in: .seconds(Self.requestSeconds)) { channel.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { deadline?.cancel() }

        /// A client that has closed its side is answered if its request is whole.
        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed? = event as? ChannelEvent, !isAnswered { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                // Only the first request is answered; later ones are ignored.
                if !isAnswered { request = WebRequest(head: head) }
            case .body(let bytes):
                bodyBytes += bytes.readableBytes
                if bodyBytes <= Self.bodyBytesMax { request?.body += bytes.readableBytesView } else { request?.body = [] }
            case .end:
                guard let request, !isAnswered else { return }
                isAnswered = true
                deadline?.cancel()
                if bodyBytes > Self.bodyBytesMax { return Self.send(Self.tooLarge, hasBody: true, on: context.channel) }
                Self.begin(answer, request, on: context.channel)
            }
        }

        private static func begin(_ answer: @escaping Answer, _ request: WebRequest, on channel: any Channel) {
            let response = answer(request)
            Task(executorPreference: StoreThreads.shared) {
                let response = await response()
                send(response, hasBody: request.head.method != .HEAD, on: channel)
            }
        }

        private static let tooLarge = WebResponse(
            status: .payloadTooLarge, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Array("a form of at most \(bodyBytesMax) bytes is taken\n".utf8))

        /// - Parameter hasBody: false for the response to a HEAD request, which only has the length of the body.
        private static func send(_ response: WebResponse, hasBody: Bool, on channel: any Channel) {
            var headers = response.headers
            headers.replaceOrAdd(name: "Content-Length", value: String(response.body.count))
            headers.replaceOrAdd(name: "Connection", value: "close")
            let deadline = channel.eventLoop.scheduleTask(in: .seconds(answerSeconds)) { channel.close(promise: nil) }
            let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            if hasBody { channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: response.body))), promise: nil) }
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
                deadline.cancel()
                channel.close(promise: nil)
            }
        }
    }
#endif
