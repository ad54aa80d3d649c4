#if Service
    internal import NIOCore
    internal import NIOHTTP1

    /// What was asked for over HTTP.
    struct WebRequest: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8] = []

        /// As it was asked for, percent-encoded.
        var path: String { String(head.uri.prefix { $0 != "?" }) }
        var query: String { String(head.uri.drop { $0 != "?" }.dropFirst()) }

        func header(_ name: String) -> String? { head.headers.first(name: name) }
    }

    /// What is answered over HTTP.
    struct WebResponse: Sendable {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var body: [UInt8] = []
    }

    /// A connection, on which one request is answered.
    struct WebConnection: Sendable {
        typealias Channel = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

        /// Seconds without a byte after which a connection is closed, and bytes that a body may have.
        static let (idleSeconds, bodyBytesMax) = (Int64(15), 64 << 10)

        let channel: Channel

        /// What reads and writes HTTP on a new connection.
        static func make(on channel: any NIOCore.Channel) -> EventLoopFuture<WebConnection> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(idleSeconds)))
                try pipeline.addHandler(ClosingWhenIdle())
                try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: true)
                return WebConnection(channel: try Channel(wrappingChannelSynchronously: channel))
            }
        }

        /// Answers the request that comes, and closes the connection. A client that goes away is nobody's failure.
        func answer(_ body: @Sendable (WebRequest) async -> WebResponse) async {
            do {
                try await channel.executeThenClose { parts, answers in
                    guard let request = try await Self.request(of: parts) else { return }
                    var response = await body(request)
                    response.headers.replaceOrAdd(name: "Content-Length", value: String(response.body.count))
                    response.headers.replaceOrAdd(name: "Connection", value: "close")
                    try await answers.write(.head(HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)))
                    // What a HEAD is answered says how long the body would be.
                    if request.head.method != .HEAD { try await answers.write(.body(.byteBuffer(ByteBuffer(bytes: response.body)))) }
                    try await answers.write(.end(nil))
                }
            } catch {
                // The client has closed it, was idle, or did not speak HTTP.
            }
        }

        /// Nil where the client says nothing, or sends more than a form of the page has.
        private static func request(of parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>) async throws -> WebRequest? {
            var request: WebRequest?
            for try await part in parts {
                switch part {
                case .head(let head): request = WebRequest(head: head)
                case .body(let bytes):
                    request?.body += bytes.readableBytesView
                    if request?.body.count ?? 0 > bodyBytesMax { return nil }
                case .end: return request
                }
            }
            return nil
        }
    }

    /// Closes a connection on which nothing has happened for so long.
    private final class ClosingWhenIdle: ChannelInboundHandler, Sendable {
        typealias InboundIn = NIOAny

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is IdleStateHandler.IdleStateEvent { return context.close(promise: nil) }
            context.fireUserInboundEventTriggered(event)
        }
    }
#endif
