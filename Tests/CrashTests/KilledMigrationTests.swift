import EvstoreTesting
import Foundation
import Migration
import TestSupport
import Testing

/// One command that is killed at a point of its work, and the versions that may be live before and after it.
struct KilledStep: CustomTestStringConvertible, Sendable {
    let phase: String
    let command: [String]
    let before: Int
    let after: Int

    var testDescription: String { "\(command.joined(separator: " ")) killed at \(phase)" }

    private static func each(_ phases: [String], _ command: String, _ before: Int, _ after: Int) -> [KilledStep] {
        phases.map { KilledStep(phase: $0, command: command.split(separator: " ").map(String.init), before: before, after: after) }
    }

    static let replays = each(
        [
            "register.before", "register.inside", "register.after", "snapshot.inside", "snapshot.after", "sweep.after", "build.after",
            "catch-up.after", "verify.after", "ready.after", "flip.inside", "flip.after",
        ], "replay --to v5", 1, 5)
    static let rollbacks = each(
        ["rollback.followed", "rollback.verified", "rollback.inside", "rollback.after"], "rollback", 5, 1)
    static let finalizes = each(["finalize.inside", "finalize.after", "prune.after"], "finalize v5", 5, 5)
    static let cuts = each(
        ["archive.written", "archive.synced", "cut.rebuilt", "cut.inside", "cut.after", "prune.after"],
        "rollback --to-snapshot here --discard-tail", 5, 5)
    static let retries = each(["retry.inside", "retry.after"], "quarantine retry", 1, 1)
}

@Suite("A migration that is killed", .serialized)
struct KilledMigrationTests {
    @Test("kill -9 at any point of a replay leaves the old or the new state, and running it again finishes", arguments: KilledStep.replays)
    func replay(step: KilledStep) throws {
        let orders = try Orders(count: 200)
        try killedThenFinished(step, orders)
        #expect(try orders.digests(at: 5) == undisturbed(orders, at: 5))
    }

    @Test(
        "kill -9 at any point of a rollback leaves the old or the new state, and running it again finishes", arguments: KilledStep.rollbacks
    )
    func rollback(step: KilledStep) throws {
        let orders = try Orders(count: 200)
        try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas)
        try orders.program.must("append", "order-new", "OrderPlaced", Orders.v5Payload("new"))
        try killedThenFinished(step, orders)
        #expect(try orders.digests(at: 1) == undisturbed(orders, at: 1))
        #expect(try orders.program.must("query", "orders", "new").output.contains("9.00"))
    }

    @Test("kill -9 at any point of a finalize leaves a window that is open or closed, never half", arguments: KilledStep.finalizes)
    func finalize(step: KilledStep) throws {
        let orders = try Orders(count: 50)
        try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas)
        try killedThenFinished(step, orders)
        #expect(try orders.status()["floor"] as? Int == 5)
        #expect(try orders.status()["window"] as? Bool == false)
    }

    @Test(
        "kill -9 at any point of a cut leaves the whole log or the log up to the snapshot, and loses no event", arguments: KilledStep.cuts)
    func cut(step: KilledStep) throws {
        let orders = try Orders(count: 60)
        try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas)
        try orders.program.must("snapshot", "take", "here")
        let rows = try orders.digests(at: 5)
        for order in ["a", "b", "c"] { try orders.program.must("append", "order-\(order)", "OrderPlaced", Orders.v5Payload(order)) }
        let whole = try orders.program.must("export").output
        try killedThenFinished(step, orders)
        #expect(try orders.status()["position"] as? Int == 60)
        #expect(try orders.digests(at: 5) == rows)

        // The archive brings back what was cut off: every tail that was written is whole.
        let archive = orders.directory.url("store/archive")
        for file in try FileManager.default.contentsOfDirectory(atPath: archive.path) where file.hasSuffix(".jsonl") {
            try orders.program.must("import", archive.appending(path: file).path, "--as", "v5")
        }
        #expect(try Self.content(orders.program.must("export").output) == Self.content(whole))
    }

    /// Export lines without the epoch, which a cut moves on.
    private static func content(_ lines: String) -> [String] {
        lines.split(separator: "\n").map { String($0).replacing(#/,"epoch":\d+/#, with: "") }
    }

    @Test("kill -9 at any point of a quarantine's retry leaves the old or the better read model", arguments: KilledStep.retries)
    func retry(step: KilledStep) throws {
        let orders = try Orders(count: 60)
        var service = BuiltProgram("OrdersService", environment: orders.program.environment)
        try #require(try service.run("replay", "--to", "v1").exit == 0)
        service.environment["ORDERS_REFUSE"] = "1"
        try orders.program.must("import", "-", "--as", "v1", input: Orders.lines(60 ..< 65))
        #expect(try service.run("query", "reviews", "--count").exit == 0)
        #expect(try orders.program.must("quarantine", "list", "--json").lines.count == 5)

        service.environment["ORDERS_REFUSE"] = nil
        var killer = service
        killer.environment["EVSTORE_KILL_AT"] = step.phase
        let killed = try killer.run(step.command)
        #expect(killed.signal == SIGKILL, "the phase was not reached: exit \(killed.exit) \(killed.errors)")
        #expect(try [0, 8].contains(orders.program.run("verify", "--deep").exit), "8 says that events are quarantined")
        let left = try orders.program.must("quarantine", "list", "--json").lines.count
        #expect(left == (step.phase == "retry.inside" ? 5 : 0))

        let again = try service.run(step.command)
        #expect(again.exit == 0, "\(again.errors)")
        #expect(try orders.program.must("quarantine", "list", "--json").lines.isEmpty)
        #expect(try service.run("query", "reviews", "order-o24").output.contains(#""orders":2"#) == true)
        #expect(try orders.status()["healthy"] as? Bool == true)
    }

    @Test("every point that a migration can be killed at is killed at by a test here")
    func everyPhase() {
        let killed = Set(
            [KilledStep.replays, KilledStep.rollbacks, KilledStep.finalizes, KilledStep.cuts, KilledStep.retries].joined().map(\.phase))
        #expect(Set(MigrationPhase.allCases.map(\.rawValue)) == killed)
    }

    /// Kills the command at its phase, looks at what is there, and runs it again.
    private func killedThenFinished(_ step: KilledStep, _ orders: Orders) throws {
        var killer = orders.program
        killer.environment["EVSTORE_KILL_AT"] = step.phase
        let killed = try killer.run(step.command + ["--schemas", Orders.schemas])
        #expect(killed.signal == SIGKILL, "the phase was not reached: exit \(killed.exit) \(killed.errors)")

        let live = try orders.live
        #expect(live == step.before || live == step.after)
        try orders.program.must("verify", "--deep")

        // A rollback that is done would go back once more, to the version before.
        if live == step.after, step.command == ["rollback"] { return }
        try orders.program.must(step.command + ["--schemas", Orders.schemas])
        #expect(try orders.live == step.after)
        try orders.program.must("verify", "--deep")
    }

    /// The digests that a replay from scratch gives, on the same log.
    private func undisturbed(_ orders: Orders, at version: Int) throws -> [String: String] {
        let outcome = try orders.program.must("replay", "--to", "v\(version)", "--dry-run", "--json")
        let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        return report?["digests"] as? [String: String] ?? [:]
    }
}
