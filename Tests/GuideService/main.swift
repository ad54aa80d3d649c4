// Sources/service/main.swift
import Dispatch
import Evstore
import Foundation
import Logging

struct OrderPlaced: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(1)
    var id: String
    var customer: String
    var total: String
}

struct OrderPaid: Event {
    static let type = "OrderPaid"
    static let version = SchemaVersion(1)
    var id: String
}

struct Order {
    var isPlaced = false
    var isPaid = false
}

struct Shop: Sendable {
    let store: EventStore
    private let orders: StreamFold<Order>
    private let cache = StateCache<Order>()

    init(_ store: EventStore) throws {
        self.store = store
        orders = try StreamFold("order", revision: 1, initial: Order()) {
            StateHandler(OrderPlaced.self) { order, _, _ in order.isPlaced = true }
            StateHandler(OrderPaid.self) { order, _, _ in order.isPaid = true }
        }
    }

    /// What a request asks for: `request` is its own id, so that a client that repeats it changes nothing. Where somebody else is faster, it
    /// is decided anew.
    func pay(_ id: String, request: String) async throws {
        try await store.decide(on: StreamName("order-\(id)"), orders, cache: cache, id: EventID(request)) { order in
            order.isPlaced && !order.isPaid ? [OrderPaid(id: id)] : []
        }
    }

    /// Tells of each payment, from where the run before has stopped.
    func mail(placeIn file: String) async throws {
        let place = URL(filePath: file)
        let decoder = JSONDecoder()
        let seen = FileManager.default.fileExists(atPath: file) ? try decoder.decode(Checkpoint.self, from: Data(contentsOf: place)) : nil
        for try await event in store.subscribe(after: seen, matching: .type(OrderPaid.type)) {
            print("mail: \(event.stream) is paid")
            try JSONEncoder().encode(event.checkpoint).write(to: place, options: .atomic)
        }
    }
}

/// Calls `body` when the process is told to end. The closure is `Sendable`, since it is not called on the main thread.
func onTermination(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler(handler: body)
    source.resume()
    return source
}

let log = Logger(label: "shop")
let store = try await EventStore.open(
    "shop", creatingWith: Schemas.load("Schemas/shop"), version: SchemaVersion(1), policy: .migrate(when: .lossless), logger: log)
let shop = try Shop(store)

let mailing = Task { try await shop.mail(placeIn: "mailed.json") }
let termination = onTermination { [mailing] in mailing.cancel() }

let order = try StreamName("order-1")
try await store.append(
    OrderPlaced(id: "1", customer: "Ada Lovelace", total: "12.50"), to: order, expecting: .any, id: EventID("order-1-placed"))
try await shop.pay("1", request: "request-17")

try await mailing.value  // until the process is told to end
try await store.close()
print("closed")
