// A service's own program: every command of evstore, and a read model in Swift.
import EventModel
import EvstoreCLI
import Foundation
import Projections

/// How many orders each customer's key has; refuses every event while `ORDERS_REFUSE` is set, as broken code would.
struct Reviews: SwiftProjection {
    struct Row: Codable {
        var orders = 0
    }

    struct Refused: Error {}

    let name = "reviews"
    let since = SchemaVersion(1)
    let revision = 1
    let consumes: Set<String> = ["OrderPlaced"]

    func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws {
        if ProcessInfo.processInfo.environment["ORDERS_REFUSE"] != nil { throw Refused() }
        row = Row(orders: (row?.orders ?? 0) + 1)
    }
}

await EvstoreCLI.run(Array(CommandLine.arguments.dropFirst()), projections: [Reviews()])
