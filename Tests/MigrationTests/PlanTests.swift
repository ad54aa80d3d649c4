import EventModel
import TestStores
import TestSupport
import Testing

@testable import Migration

@Suite("Plan")
struct PlanTests {
    @Test("a plan counts events by type and birth version, lists what is rebuilt, and changes nothing")
    func counts() async throws {
        let store = try OrdersStore(at: 3)
        for order in 1 ... 30 { try await store.place(order, born: 3) }
        for order in 1 ... 10 { try await store.pay(order, born: 3) }
        _ = try await store.migrate(to: 4)
        let (state, generations) = (try store.state, store.generations)
        let plan = try Plan.run(
            store.context(), to: SchemaVersion(5), files: store.history, definitions: store.definitions)
        #expect((plan.from, plan.to, plan.events) == (SchemaVersion(4), SchemaVersion(5), 40))
        #expect(plan.rebuild == ["methods", "orders"] && plan.carry == ["names"] && plan.new.isEmpty)
        #expect(plan.pending && plan.oneWay.isEmpty)
        #expect(plan.duration > .zero && plan.bytes > 0 && plan.sample == 40)
        #expect(plan.types.map(\.type) == ["OrderPaid", "OrderPlaced"])
        #expect(plan.types.map(\.count) == [10, 30])
        #expect(plan.types.map(\.becomes) == [["PaymentCaptured"], ["OrderPlaced"]])
        #expect(plan.types.map(\.failures) == [0, 0])
        #expect(try store.state == state)
        #expect(store.generations == generations)
    }

    @Test("no two windows of a sample have an event in common, and together they have as many as may be sampled, up to the log's end")
    func windows() {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 2_000 {
            let (most, count) = (UInt64.random(in: 1 ... 200, using: &random), UInt64.random(in: 0 ... 400, using: &random))
            let start = Position(UInt64.random(in: 0 ... 50, using: &random))
            let windows = SampleWindows(after: start, through: start.plus(count), eventsMax: most)
            let sampled = windows.ranges.flatMap { Array($0) }
            #expect(Set(sampled).count == sampled.count && sampled.allSatisfy { start.rawValue < $0 && $0 <= start.plus(count).rawValue })
            #expect(UInt64(sampled.count) <= most && sampled.count > Int(min(most, count)) / 2 || count == 0)
            if count <= most { #expect(sampled.count == count) }
            if count > 0, most > 1 { #expect(sampled.last == start.plus(count).rawValue) }
        }
    }

    @Test("a plan counts events without an image, and nothing is left to do after a replay with quarantine")
    func failures() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "many", born: 2)
        let plan = try Plan.run(store.context(), to: SchemaVersion(3), files: store.history, definitions: store.definitions)
        #expect(plan.types.map(\.failures) == [1])
        _ = try await store.migrate(to: 3, MigrationOptions(onError: .quarantine))
        let after = try Plan.run(store.context(), to: SchemaVersion(3), files: store.history, definitions: store.definitions)
        #expect(!after.pending && after.rebuild.isEmpty && after.duration == .zero)
    }
}
