import Evstore
import Foundation
import TestSupport
import Torturing

/// A store by chance, backed up again and again, and what can be made of its backups, whole and damaged.
struct Safekeeping {
    let scene: String
    let seed: Int

    private var store: String { scene + "/store" }
    private var backup: String { scene + "/backup" }

    func run() async throws -> [String] {
        var (problems, numbers): ([String], [Int]) = ([], [])
        /// How many events there were after each append: a restore never takes a part of one.
        var ends: [Int] = []
        var chance = SeededGenerator(seed: UInt64(seed), "backups", 0)
        let store = try await EventStore.create(store, schemas: Order.loaded, version: SchemaVersion(1), options: Worker.options)
        for round in 0 ..< Int.random(in: 2 ... 4, using: &chance) {
            for _ in 0 ..< Int.random(in: 1 ... 12, using: &chance) {
                let (first, count) = (10_000 * round + numbers.count, Int.random(in: 1 ... 20, using: &chance))
                _ = try await store.append(try (first ..< first + count).map { try Order.event($0) })
                numbers += first ..< first + count
                ends.append(numbers.count)
            }
            if round == 1, Bool.random(using: &chance) { try await cut(store, &numbers) }
            _ = try await store.maintenance.backUp(into: backup, keeping: 3)
        }
        problems += try await restore("newest", nil, numbers)
        let some = Int.random(in: (ends.first ?? 1) ... numbers.count, using: &chance)
        let whole = ends.last { $0 <= some } ?? 0
        problems += try await restore("some", .position(Position(UInt64(some))), Array(numbers.prefix(whole)))
        problems += try await damaged(numbers, &chance)
        let drill = try await store.maintenance.drill(to: SchemaVersion(5), backups: backup)
        if !drill.passed { problems.append("a drill failed: \(drill.steps.last { !$0.ok }?.detail ?? "")") }
        if drill.steps.isEmpty { problems.append("a drill did nothing") }
        try await store.close()
        return problems
    }

    /// Takes a snapshot, appends, and cuts that off.
    private func cut(_ store: EventStore, _ numbers: inout [Int]) async throws {
        _ = try await store.takeSnapshot("here")
        _ = try await store.append([Order.event(900_000)])
        _ = try await store.maintenance.backUp(into: backup)
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
    }

    private func restore(_ name: String, _ target: RestoreTarget?, _ wanted: [Int]) async throws -> [String] {
        let made = scene + "/" + name
        _ = try await StoreMaintenance.restore(from: backup, into: made, to: target, options: Worker.options)
        let facts = await Facts.look(at: made)
        let problems = ([facts.refused].compactMap(\.self) + facts.findings).map { "\(name): \($0)" }
        return facts.numbers == wanted ? problems : problems + ["\(name): \(facts.numbers.count) events came back, not \(wanted.count)"]
    }

    /// A backup with a changed byte is refused, or as good as it was; and a drill on one that is refused fails.
    private func damaged(_ numbers: [Int], _ chance: inout SeededGenerator) async throws -> [String] {
        let broken = scene + "/broken"
        try SparseFile.copy(backup, to: broken)
        guard let damage = try Damage(in: broken, of: nil, &chance) else { return [] }
        do { _ = try await StoreMaintenance.restore(from: broken, into: scene + "/from-broken", options: Worker.options) } catch {
            let isAbsent = await Facts.look(at: scene + "/from-broken").refused?.hasPrefix("storeNotFound") == true
            return isAbsent ? [] : ["what a damaged backup gave is there in part"]
        }
        let facts = await Facts.look(at: scene + "/from-broken")
        return facts.numbers == numbers ? [] : ["with \(damage.file), \(damage.what), other events came back: \(facts.refused ?? "")"]
    }
}

extension TortureCase {
    static let backups = TortureCase(
        "R12", "random stores: backed up, damaged or not, restored to the end and to any position, drilled",
        goal: 50, seconds: 25, floor: 1, runsPerTrial: 1
    ) { trial in
        try trial.ask("keep")
        trial.runs += 1
    }
}
