import Evstore

// Release 1 and release 2 of the service, in one program so that both can run beside each other on one store.

struct OrderPlacedV1: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(1)
    var id: String
    var customer: String
    var total: Int
}

struct OrderPlaced: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(2)
    var id: String
    var buyer: String
    var total: Int
    var channel: String
}

struct OrderPaidV1: Event {
    static let type = "OrderPaid"
    static let version = SchemaVersion(1)
    var id: String
}

struct OrderPaid: Event {
    static let type = "OrderPaid"
    static let version = SchemaVersion(2)
    var id: String
}

/// What a command decides on.
struct OrderState: Sendable {
    var isPlaced = false
    var isPaid = false
}

enum Release: Int {
    case one = 1
    case two

    var version: SchemaVersion { SchemaVersion(UInt32(rawValue)) }

    func fold() throws -> StreamFold<OrderState> {
        switch self {
        case .one:
            try StreamFold("order", revision: 1, initial: OrderState()) {
                StateHandler(OrderPlacedV1.self) { order, _, _ in order.isPlaced = true }
                StateHandler(OrderPaidV1.self) { order, _, _ in order.isPaid = true }
            }
        case .two:
            try StreamFold("order", revision: 1, initial: OrderState()) {
                StateHandler(OrderPlaced.self) { order, _, _ in order.isPlaced = true }
                StateHandler(OrderPaid.self) { order, _, _ in order.isPaid = true }
            }
        }
    }

    func placed(_ id: String, by buyer: String, total: Int, through channel: String) -> any Event {
        switch self {
        case .one: OrderPlacedV1(id: id, customer: buyer, total: total)
        case .two: OrderPlaced(id: id, buyer: buyer, total: total, channel: channel)
        }
    }

    func paid(_ id: String) -> any Event {
        switch self {
        case .one: OrderPaidV1(id: id)
        case .two: OrderPaid(id: id)
        }
    }
}
