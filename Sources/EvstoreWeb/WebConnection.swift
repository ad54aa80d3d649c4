#if Service
    internal import NIOCore
    internal import NIOHTTP1
    internal import Platform

    /// An HTTP request.
    struct WebRequest: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8] = []

        /// The path as it was requested, percent-encoded.
        var path: String { String(head.uri.prefix { $0 != "?" }) }
        var query: String { String(head.uri.drop { $0 != "?" }.dropFirst()) }

        func header(_ name: String) -> String? { head.headers.first(name: name) }
    }

    /// An HTTP response.
    struct WebResponse: Sendable {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var body: [UInt8] = []
    }

    /// A connection: receives one request, has it answered on the store's threads, and closes. A client that disconnects is not an error.
    final class WebConnection: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias Answer = @Sendable (WebRequest) async -> WebResponse

        /// The seconds in which a client must send its request, and in which it must take the response.
        private static let (requestSeconds, answerSeconds) = (Int64(15), Int64(30))
        /// The most bytes of a form.
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
            Task(executorPreference: StoreThreads.shared) {
                let response = await answer(request)
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
