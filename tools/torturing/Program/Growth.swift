import Evstore
import Foundation
import TestSupport
import Torturing

/// A store with a history by chance: appends, replays and rollbacks up to a version below the newest, with read models that were
/// followed all the way.
struct Growth {
    /// What a replay to the newest version must come to.
    struct Outcome: Codable {
        var problems: [String] = []
        var numbers: [Int] = []
        var digests: [String: String] = [:]
    }

    let store: String
    let seed: Int

    func run() async throws -> Outcome {
        var (outcome, chance) = (Outcome(), SeededGenerator(seed: UInt64(seed), "growth", 0))
        var options = Worker.options
        options.followBatchEvents = Int.random(in: 1 ... 40, using: &chance)
        options.flipLagEventsMax = Int.random(in: 0 ... 20, using: &chance)
        options.commitEventsMax = Int.random(in: 20 ... 200, using: &chance)
        let store = try await EventStore.create(store, schemas: Order.loaded, version: SchemaVersion(1), options: options)
        for _ in 0 ..< Int.random(in: 2 ... 5, using: &chance) {
            let count = Int.random(in: 1 ... 40, using: &chance)
            _ = try await store.append(try (0 ..< count).map { try Order.event(outcome.numbers.count + $0) })
            outcome.numbers += outcome.numbers.count ..< outcome.numbers.count + count
            try await move(store, &chance)
            try await compare(store, &outcome, &chance)
        }
        let fresh = try await digests(store, at: SchemaVersion(5), jobs: 1)
        for jobs in 2 ... 3 where try await digests(store, at: SchemaVersion(5), jobs: jobs) != fresh {
            outcome.problems.append("a replay with \(jobs) threads comes to other rows")
        }
        outcome.digests = fresh
        try await store.close()
        return outcome
    }

    private func move(_ store: EventStore, _ chance: inout SeededGenerator) async throws {
        let live = try store.versions.live
        let target = SchemaVersion(Int.random(in: 1 ... 4, using: &chance))
        let jobs = Int.random(in: 1 ... 3, using: &chance)
        if target > live { _ = try await store.migrate(to: target, options: MigrationOptions(jobs: jobs)) }
        if target < live { _ = try await store.rollback(to: target) }
    }

    /// The followed read model beside one that is built from the first event.
    private func compare(_ store: EventStore, _ outcome: inout Outcome, _ chance: inout SeededGenerator) async throws {
        let live = try store.versions.live
        try await store.follow()
        let followed = Dictionary(uniqueKeysWithValues: try store.projections().map { ($0.name, $0.digest ?? "") })
        let fresh = try await digests(store, at: live, jobs: Int.random(in: 1 ... 3, using: &chance))
        if followed != fresh { outcome.problems.append("at \(live) the followed rows are not those of a replay") }
    }

    private func digests(_ store: EventStore, at version: SchemaVersion, jobs: Int) async throws -> [String: String] {
        try await store.migrate(to: version, options: MigrationOptions(dryRun: true, jobs: jobs)).digests
    }
}
