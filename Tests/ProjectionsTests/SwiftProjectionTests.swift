import EventModel
import Foundation
import SchemaEvolution
import Testing

@testable import Projections

/// Orders by customer: what no fold of a file can say.
private struct Customers: SwiftProjection {
    struct Row: Codable {
        var orders: [String]
        var longest: Int
    }

    struct Refused: Error, CustomStringConvertible { var description = "no negative totals" }

    private struct Payload: Codable {
        var id: String
        var total: Double?
        var customer: String?
    }

    let name = "customers"
    let since = SchemaVersion(1)
    var revision = 1
    let consumes: Set = ["OrderPlaced", "OrderVoided"]

    func keys(of event: RecordedEvent) throws -> [String] {
        let payload = try JSONDecoder().decode(Payload.self, from: Data(event.payload))
        return payload.customer.map { [$0, "everyone"] } ?? []
    }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws {
        let payload = try JSONDecoder().decode(Payload.self, from: Data(event.payload))
        if let total = payload.total, total < 0 { throw Refused() }
        if event.type == "OrderVoided" {
            row?.orders.removeAll { $0 == payload.id }
            if row?.orders.isEmpty == true { row = nil }
            return
        }
        var orders = row?.orders ?? []
        orders.append("\(payload.id)@\(event.position)")
        row = Row(orders: orders, longest: max(row?.longest ?? 0, payload.id.count))
    }
}

private let empty = "evstore: 1\nprojections: {}\n"

@Test("a Swift projection gives the same rows by following as by building: JSON with sorted members")
func swiftProjection() async throws {
    let store = try TestStore(empty, swift: [Customers()])
    try await store.append([
        ("OrderPlaced", #"{"id":"a","total":1,"customer":"Ann"}"#), ("OrderPlaced", #"{"id":"bb","total":1,"customer":"Ann"}"#),
        ("OrderPlaced", #"{"id":"c","total":-1,"customer":"Bob"}"#), ("OrderVoided", #"{"id":"x"}"#),
    ])
    let definition = try store.definition("customers")
    let followed = try store.generation(definition)
    try Follower(store.evolving).catchUp(followed, definition)
    let built = try store.build("customers")
    #expect(
        try built.texts() == [
            "Ann": #"{"longest":2,"orders":["a@1","bb@2"]}"#, "everyone": #"{"longest":2,"orders":["a@1","bb@2"]}"#,
        ])
    #expect(try built.checkedHeader().digest == followed.checkedHeader().digest)
    #expect(try built.quarantined() == followed.quarantined())
    #expect(try built.quarantined().map(\.reason) == [#"no negative totals (row "Bob")"#])
    try await store.end()
}

@Test("without its program a store knows of a Swift projection only its name and fingerprint")
func missingProgram() async throws {
    let store = try TestStore(empty, swift: [Customers()])
    let other = VersionedLog(store.log)
    let definition = try other.current().definition(named: "customers", at: SchemaVersion(1))
    let known = try store.definition("customers")
    #expect(definition.fingerprint == known.fingerprint && definition.isSwift && !definition.isAvailable)
    let generation = try store.generation(definition)
    try await store.append([("OrderPlaced", #"{"id":"a","total":1,"customer":"Ann"}"#)])
    #expect(throws: EvstoreError.programNeeded(what: "the projection customers")) { try Follower(other).catchUp(generation, definition) }
    var revised = Customers()
    revised.revision = 2
    let newer = try VersionedLog(store.log, swiftProjections: [revised]).current().definition(named: "customers", at: SchemaVersion(1))
    #expect(newer.fingerprint != known.fingerprint)
    try await store.end()
}
