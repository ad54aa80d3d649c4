import EventLog
import EventModel
import TestStores
import TestSupport
import Testing

@testable import Migration

@Suite("Random histories")
struct HistoryModelTests {
    /// What the four numbers and the log's length have to be.
    private struct Model {
        var floor = 1, live = 1, top = 1, head = 1
        var position: UInt64 = 0
        var cameFrom: [Int: Int] = [:]
        var numbers: [Int] { [floor, live, top, head] }
    }

    @Test("after any appends, replays, rollbacks and finalizes, the live read models equal a replay from scratch", arguments: 0 ..< 6)
    func model(round: UInt64) async throws {
        let seed = UInt64.random(in: 0 ... .max) &+ round
        var generator = SeededGenerator(seed: seed)
        var model = Model()
        let store = try OrdersStore()
        for _ in 0 ..< 25 {
            try await step(store, &model, &generator, seed)
            #expect(try store.numbers == model.numbers, "seed \(seed)")
            #expect(try store.last.rawValue == model.position, "seed \(seed)")
        }
        // Before its first replay a store has no read models.
        if try store.state.generations.isEmpty { return }
        #expect(try await store.freshDigests(at: model.live) == store.liveDigests(), "seed \(seed)")
    }

    private func step(_ store: OrdersStore, _ model: inout Model, _ generator: inout SeededGenerator, _ seed: UInt64) async throws {
        switch Int.random(in: 0 ..< 20, using: &generator) {
        case 0 ..< 13:
            for _ in 0 ..< Int.random(in: 1 ... 8, using: &generator) {
                try await append(store, born: Int.random(in: model.floor ... model.top, using: &generator), &generator)
                model.position += 1
            }
        case 13 ..< 16:
            let target = min(5, model.live + Int.random(in: 0 ... 2, using: &generator))
            let report = try await store.migrate(to: target, MigrationOptions(onError: .quarantine))
            #expect(report.quarantined == 0, "seed \(seed)")
            if target > model.live { model.cameFrom[target] = model.live }
            (model.live, model.top, model.head) = (target, max(model.top, target), max(model.head, target))
            #expect(try await store.freshDigests(at: target) == store.liveDigests(), "seed \(seed)")
        case 16 ..< 18:
            guard model.live > model.floor else { return }
            let target = Int.random(in: model.floor ..< model.live, using: &generator)
            _ = try await store.rollback(to: target)
            model.live = target
            #expect(try await store.freshDigests(at: target) == store.liveDigests(), "seed \(seed)")
        case 18:
            guard let target = model.cameFrom[model.live], target >= model.floor else { return }
            #expect(try await store.rollback().to.number == target, "seed \(seed)")
            model.live = target
        default:
            // A window that is closed below events born above it would hide what is live.
            guard model.live == model.top else { return }
            _ = try await Finalize.run(store.context(), SchemaVersion(model.live))
            model.floor = model.live
        }
    }

    private func append(_ store: OrdersStore, born: Int, _ generator: inout SeededGenerator) async throws {
        let order = Int.random(in: 1 ... 12, using: &generator)
        switch Int.random(in: 0 ..< 10, using: &generator) {
        case 0 where born >= 4: try await store.void(order, born: born)
        case 0 ..< 4: try await store.pay(order, by: ["card", "cash"].randomElement(using: &generator) ?? "card", born: born)
        default:
            let amount = String(Int.random(in: 0 ... 99_999, using: &generator))
            try await store.place(order, amount: amount, name: "n\(order % 4)", born: born)
        }
    }
}
