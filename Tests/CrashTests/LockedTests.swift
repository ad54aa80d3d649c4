import EventLog
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A store that someone else holds", .serialized)
struct LockedTests {
    @Test("a second migration is refused with exit 5 and the name of the first", arguments: ["replay --to v5", "rollback", "finalize v1"])
    func secondMigration(command: String) throws {
        let orders = try Orders(count: 10)
        let held = try StoreLock.migration.acquire(at: orders.store, what: "a migration of the test")
        let outcome = try orders.program.run(command.split(separator: " ").map(String.init) + ["--schemas", Orders.schemas, "--json"])
        #expect(outcome.exit == 5)
        #expect(outcome.output.contains(#""code":"migrationInProgress""#) && outcome.output.contains("\(getpid())"))
        try held.release()
        #expect(try orders.live == 1)
    }

    @Test("appends and reads go on while a migration holds its lock")
    func appendsGoOn() throws {
        let orders = try Orders(count: 10)
        let held = try StoreLock.migration.acquire(at: orders.store, what: "a migration of the test")
        try orders.program.must("import", "-", "--as", "v1", input: Orders.lines(10 ..< 12))
        #expect(try orders.program.must("export").lines.count == 12)
        try held.release()
    }

    @Test("an argument that is not UTF-8 is refused, not mended")
    func brokenArgument() throws {
        let orders = try Orders(count: 1)
        let shell = BuiltProgram(path: "/bin/sh", environment: orders.program.environment)
        let payload = #"{"id":"b","customer":"\377","total":"1.00","placedAt":1,"note":""}"#
        let outcome = try shell.run("-c", "\(orders.program.path) append order-b OrderPlaced \"$(printf '\(payload)')\"")
        #expect(outcome.exit == 2, "\(outcome.errors)")
        #expect(try orders.status()["position"] as? Int == 1)
    }
}
