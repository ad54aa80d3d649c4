// Sources/shop/main.swift
import Evstore

struct OrderPlaced: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(2)
    var id: String
    var customer: String
    var cents: Int
}

struct Order: Decodable, Sendable {
    var customer: String
    var cents: Int
}

let store = try await EventStore.open("shop", version: SchemaVersion(2))

let order = try StreamName("order-5")
let placed = OrderPlaced(id: "5", customer: "Barbara Liskov", cents: 4200)
try await store.append(placed, to: order, expecting: .noStream, id: EventID("order-5-placed"))

for event in try store.read(order) { print(event.position, event.type, event.born) }

let page = try await store.query("orders", as: Order.self, limit: 100)
for row in page.rows { print(row.key, row.value.customer, row.value.cents) }

for try await event in store.subscribe() {
    print("the first event is an", event.type)
    break  // a service stays: the next event comes with the next append
}
try await store.close()
