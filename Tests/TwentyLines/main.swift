import Evstore

let (v1, v2) = (SchemaVersion(1), SchemaVersion(2))
let store = try await EventStore.open("orders.store", creatingWith: Schemas.load("Schemas/shop"), version: v1)

let order = try StreamName("order-1")
let placed = NewEvent(
    stream: order, type: "OrderPlaced", payload: Array(#"{"id":"1","customer":"Ada Lovelace","total":"12.50"}"#.utf8),
    id: try EventID("order-1-placed"))
try await store.append(placed, expecting: .noStream)  // on the disk; once, however often this is run

for event in try store.read(order) { print(event.position, event.type, String(decoding: event.payload, as: UTF8.self)) }

let plan = try await store.plan(to: v2)  // what would happen; changes nothing
print("to come:", plan.events, "events,", plan.rebuild, "anew")
let report = try await store.migrate(to: v2)  // beside the live read models, then one flip
print("v2 is live, and writers waited", report.flipPause ?? .zero)

for event in try store.read(order, at: v2) { print(event.position, event.type, String(decoding: event.payload, as: UTF8.self)) }
if let row = try await store.query("orders", at: v2, key: "1") { print(row.key, String(decoding: row.value, as: UTF8.self)) }

try await store.rollback()  // version 1 again, with everything written since
try await store.close()
