import EventLog
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Several processes that migrate at their start", .serialized)
struct MigratingTests {
    private func start(_ orders: Orders, deadline: Int = 300) throws -> Running {
        try BuiltProgram("StoreWorker").start(
            ["migrating", orders.store, Orders.schemas, "5", String(deadline), orders.directory.path + "/waiting"])
    }

    @Test("started at once, one migrates, the others wait for it, and all open")
    func atOnce() throws {
        let orders = try Orders(count: 3_000)
        for outcome in try (0 ..< 4).map({ _ in try start(orders) }).map({ try $0.wait() }) {
            #expect(outcome.exit == 0 && outcome.lines == ["live v5"], "\(outcome)")
        }
        #expect(try orders.program.must("journal").lines.count { $0.contains(" flip ") && $0.contains("-> v5") } == 1)
    }

    @Test("one that finds another's migration waits until it is over, or names who is at it when its deadline has passed")
    func another() throws {
        let orders = try Orders(count: 10)
        let lock = try StoreLock.migration.acquire(at: orders.store, what: "evstore replay --to v5")
        let late = try start(orders, deadline: 0).wait()
        #expect(late.exit != 0 && late.errors.contains("process \(getpid()) (evstore replay --to v5)"), "\(late)")
        let patient = try start(orders)
        while patient.isRunning, !FileManager.default.fileExists(atPath: orders.directory.path + "/waiting") {
            usleep(10_000)
        }
        #expect(patient.isRunning)
        try lock.release()
        let outcome = try patient.wait()
        #expect(outcome.exit == 0 && outcome.lines == ["live v5"], "\(outcome)")
    }
}
