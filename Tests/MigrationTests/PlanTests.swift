import EventModel
import TestStores
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
