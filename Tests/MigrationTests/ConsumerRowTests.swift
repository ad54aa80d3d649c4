import EventLog
import EventModel
import TestStores
import Testing

@testable import Migration

@Suite("Rows of consumers")
struct ConsumerRowTests {
    @Test("are found whatever lies between them, and the events that each has parked are counted and listed apart")
    func parked() async throws {
        let store = try OrdersStore()
        // A hyphen sorts before the slash that parked events have behind the name, and a digit behind it.
        let names = ["a", "a-b", "a0", "b"]
        try await store.log.update { update in
            for (number, name) in names.enumerated() {
                let row = ConsumerRow(name: name, number: number, place: .start, version: SchemaVersion(1), query: nil)
                try update.put(.notes, row.key, row.value)
                for position in 0 ..< 3 * number {
                    let parked = ParkedEvent(
                        at: Checkpoint(epoch: .first, position: Position(UInt64(position + 1))), of: try StreamName("order-1"),
                        type: "OrderPlaced", attempts: 1, error: "no", isToRetry: position % 3 == 0)
                    try update.put(.notes, parked.key(name), parked.value)
                }
            }
            #expect(try ConsumerRow.all(in: update).map(\.name) == names)
        }
        try store.log.read { reader in
            #expect(try ConsumerRow.all(in: reader).map(\.name) == names)
            #expect(try ConsumerRow.named("a0", in: reader)?.number == 2)
            #expect(try ConsumerRow.named("a1", in: reader) == nil)
            for (number, name) in names.enumerated() {
                #expect(try ParkedEvent.count(of: name, in: reader) == UInt64(3 * number))
                let all = try ParkedEvent.all(of: name, in: reader).map(\.position.rawValue)
                #expect(all == (0 ..< 3 * number).map { UInt64($0 + 1) })
                #expect(try ParkedEvent.all(of: name, onlyToRetry: true, in: reader).count == number)
            }
        }
    }
}
