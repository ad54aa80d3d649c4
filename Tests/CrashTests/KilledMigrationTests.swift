import EvstoreTesting
import Foundation
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
}

@Suite("A migration that is killed", .serialized)
struct KilledMigrationTests {
    @Test("kill -9 at any point of a replay leaves the old or the new state, and running it again finishes", arguments: KilledStep.replays)
    func replay(step: KilledStep) throws {
        let orders = try Orders(count: 200)
        defer { try? orders.remove() }
        try killedThenFinished(step, orders)
        #expect(try orders.digests(at: 5) == undisturbed(orders, at: 5))
    }

    @Test(
        "kill -9 at any point of a rollback leaves the old or the new state, and running it again finishes", arguments: KilledStep.rollbacks
    )
    func rollback(step: KilledStep) throws {
        let orders = try Orders(count: 200)
        defer { try? orders.remove() }
        try orders.mustSucceed("replay", "--to", "v5", "--schemas", Orders.schemas)
        try orders.mustSucceed("append", "order-new", "OrderPlaced", Orders.v5Payload("new"))
        try killedThenFinished(step, orders)
        #expect(try orders.digests(at: 1) == undisturbed(orders, at: 1))
        #expect(try orders.mustSucceed("query", "orders", "new").output.contains("9.00"))
    }

    @Test("kill -9 at any point of a finalize leaves a window that is open or closed, never half", arguments: KilledStep.finalizes)
    func finalize(step: KilledStep) throws {
        let orders = try Orders(count: 50)
        defer { try? orders.remove() }
        try orders.mustSucceed("replay", "--to", "v5", "--schemas", Orders.schemas)
        try killedThenFinished(step, orders)
        #expect(try orders.status()["floor"] as? Int == 5)
        #expect(try orders.status()["window"] as? Bool == false)
    }

    /// Kills the command at its phase, looks at what is there, and runs it again.
    private func killedThenFinished(_ step: KilledStep, _ orders: Orders) throws {
        var killer = orders.program
        killer.environment["EVSTORE_KILL_AT"] = step.phase
        let killed = try killer.run(step.command + ["--schemas", Orders.schemas])
        #expect(killed.signal == SIGKILL, "the phase was not reached: exit \(killed.exit) \(killed.errors)")

        let live = try orders.live
        #expect(live == step.before || live == step.after)
        try orders.mustSucceed("verify", "--deep")

        if live == step.after, step.command[0] == "rollback" { return }
        try orders.mustSucceed(array: step.command + ["--schemas", Orders.schemas])
        #expect(try orders.live == step.after)
        try orders.mustSucceed("verify", "--deep")
    }

    /// The digests that a replay from scratch gives, on the same log.
    private func undisturbed(_ orders: Orders, at version: Int) throws -> [String: String] {
        let outcome = try orders.mustSucceed("replay", "--to", "v\(version)", "--dry-run", "--json")
        let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        return report?["digests"] as? [String: String] ?? [:]
    }
}
