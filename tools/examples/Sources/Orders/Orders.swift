import Evstore
import HTTPTypes
import Hummingbird
import Logging

/// The commands and queries of the service, at its release's version.
struct Orders: Sendable {
    enum Refused: Error { case isThere, isNotThere }

    let store: EventStore
    private let release: Release
    private let fold: StreamFold<OrderState>
    private let cache = StateCache<OrderState>()

    init(_ store: EventStore, _ release: Release) throws {
        (self.store, self.release, fold) = (store, release, try release.fold())
    }

    struct Placing: Decodable {
        var buyer: String
        var total: Int
        var channel: String?
    }

    /// - Parameter request: the request's own id: whoever repeats it gets the same answer, and nothing happens twice.
    func place(_ id: String, _ order: Placing, request: String) async throws -> Position {
        let decision = try await decide(id, request) { state in
            if state.isPlaced { throw Refused.isThere }
            return [release.placed(id, by: order.buyer, total: order.total, through: order.channel ?? "web")]
        }
        return decision.receipt?.position ?? .start
    }

    func pay(_ id: String, request: String) async throws {
        try await decide(id, request) { state in
            guard state.isPlaced else { throw Refused.isNotThere }
            return state.isPaid ? [] : [release.paid(id)]
        }
    }

    @discardableResult
    private func decide(
        _ id: String, _ request: String, _ body: (OrderState) throws -> [any Event]
    ) async throws -> Decision<OrderState> {
        try await store.decide(on: StreamName("order-\(id)"), fold, cache: cache, id: EventID(request), body)
    }

    // MARK: Over HTTP

    func routes() -> Router<BasicRequestContext> {
        let router = Router()
        router.put("/orders/{id}") { request, context in
            let order = try await request.decode(as: Placing.self, context: context)
            return try await answer {
                let position = try await place(context.parameters.require("id"), order, request: key(of: request))
                return Response(status: .created, body: .init(byteBuffer: ByteBuffer(string: "{\"position\":\(position)}\n")))
            }
        }
        router.post("/orders/{id}/payment") { request, context in
            try await answer {
                try await pay(context.parameters.require("id"), request: key(of: request))
                return Response(status: .noContent)
            }
        }
        router.get("/orders/{id}") { _, context in
            try await answer {
                guard let row = try await store.query("orders", key: context.parameters.require("id")) else {
                    return Response(status: .notFound)
                }
                return json(row.value)
            }
        }
        // A page of orders, and where the next one begins.
        router.get("/orders") { request, _ in
            try await answer {
                let cursor = request.uri.queryParameters["after"].map { QueryCursor(after: String($0)) }
                let page = try await store.query("orders", limit: 50, after: cursor)
                let rows = page.rows.map { "{\"id\":\"\($0.key)\",\"order\":\(String(decoding: $0.value, as: UTF8.self))}" }
                return json(Array("[\(rows.joined(separator: ","))]\n".utf8))
            }
        }
        return router
    }

    /// What a client sends again where it did not hear the answer.
    private func key(of request: Request) throws -> String {
        guard let name = HTTPField.Name("Idempotency-Key"), let key = request.headers[name] else {
            throw HTTPError(.badRequest, message: "say Idempotency-Key, so that the request can be sent again")
        }
        return key
    }

    private func json(_ bytes: [UInt8]) -> Response {
        Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The store's errors as HTTP says them.
    private func answer(_ body: () async throws -> Response) async throws -> Response {
        do { return try await body() } catch Refused.isThere {
            throw HTTPError(.conflict, message: "there is such an order")
        } catch Refused.isNotThere {
            throw HTTPError(.notFound, message: "there is no such order")
        } catch let error as EvstoreError {
            switch error {
            case .invalidEvent, .invalidStreamName, .invalidEventID: throw HTTPError(.unprocessableContent, message: error.message)
            case .expectationFailed, .idReused: throw HTTPError(.conflict, message: error.message)
            default: throw HTTPError(.serviceUnavailable, message: error.message)
            }
        }
    }
}
