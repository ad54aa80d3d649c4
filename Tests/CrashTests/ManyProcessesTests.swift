import Evstore
import EvstoreTesting
import Foundation
import Platform
import TestSupport
import Testing
import Torturing

@Suite("Several processes on one store", .serialized)
struct ManyProcessesTests {
    @Test("of two processes that expect the same revision exactly one wins each race")
    func races() throws {
        let orders = try Orders(count: 1)
        let payload = #"{"id":"race","customer":"Ada Lovelace","total":"1.00","placedAt":1,"note":"n"}"#
        for round in 0 ..< 15 {
            let expected = round == 0 ? "none" : String(round - 1)
            let arguments = ["append", "order-race", "OrderPlaced", payload, "--expect", expected]
            let racers = try [orders.program.start(arguments), orders.program.start(arguments)]
            let exits = try racers.map { try $0.wait().exit }.sorted()
            #expect(exits == [0, 3], "round \(round)")
        }
        #expect(try orders.program.must("read", "order-race").lines.count == 15)
        try orders.program.must("verify")
    }

    @Test("appends by another process go on during a replay, and none is missed")
    func appendsDuringReplay() throws {
        let orders = try Orders(count: 3_000)
        let replay = try orders.program.start(["replay", "--to", "v5", "--schemas", Orders.schemas])
        var appended = 0
        while replay.isRunning || appended < 5 {
            let line = Orders.lines(10_000 + appended ..< 10_001 + appended)
            try orders.program.must("import", "-", "--as", "v1", input: line)
            appended += 1
        }
        #expect(try replay.wait().exit == 0)
        #expect(try orders.live == 5)
        #expect(try orders.status()["position"] as? Int == 3_000 + appended)
        let fresh = try orders.program.must("replay", "--to", "v5", "--dry-run", "--json").output
        let digest = try #require(try orders.digests(at: 5)["orders"])
        #expect(fresh.contains(digest))
    }

    @Test("a process that appends without a pause lets another one in for each of its appends")
    func letsIn() async throws {
        let notes = try await TemporaryStore.notes()
        let isDone = Monitor(false)
        let count = Monitor(0)
        let appending = Task {
            while !isDone.withLock({ $0 }) {
                _ = try await notes.store.append([Note.event(count.withLock { $0 } * 70, stream: "busy")])
                count.change { $0 += 1 }
            }
        }
        while count.withLock({ $0 }) < 20 { try await Task.sleep(for: .milliseconds(1)) }
        let program = BuiltProgram(environment: ["EVSTORE_STORE": notes.path])
        for number in 0 ..< 10 { try program.must("append", "guest", "Noted", #"{"id":"\#(number)","text":"t"}"#) }
        isDone.change { $0 = true }
        try await appending.value
        #expect(try program.must("read", "guest").lines.count == 10)
        try await notes.store.close()
    }

    @Test("a v4 process beside a v5 process reads and writes at v4 after the flip")
    func twoReleases() throws {
        let orders = try Orders(count: 100)
        try orders.program.must("replay", "--to", "v4", "--schemas", Orders.schemas)
        try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas)
        try orders.program.must("append", "order-new", "OrderPlaced", Orders.v5Payload("new"))

        let atV4 = try orders.program.must("query", "orders", "new", "--at", "v4").output
        #expect(atV4.contains(#""cents":900"#) && atV4.contains(#""first":"Grace""#))
        let old =
            #"{"id":"old","name":{"first":"Alan"},"contact":{"emails":[]},"placedAt":"2026-11-20T11:00:00Z","note":"","totalCents":7,"currency":"USD"}"#
        try orders.program.must("append", "order-old", "OrderPlaced", old, "--at", "v4")
        #expect(try orders.program.must("read", "order-old").output.contains(#""total":{"amount":7,"currency":"USD"}"#))
        #expect(try orders.program.must("query", "orders", "old").output.contains(#""cents":7"#))
    }

    @Test("a first import that another one outruns while it makes the store goes into the store of the other")
    func outrun() throws {
        let directory = try TemporaryDirectory()
        let program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
        let command = ["import", "-", "--as", "v1", "--schemas", Orders.schemas]
        // It has seen that there is no store, and stops where it writes down what the new one is.
        let outrun = try program.withFault(DiskFault(.stop, at: 1), at: "write", of: "/evstore.json")
            .start(command, input: Orders.lines(0 ..< 20))
        func isMaking() -> Bool {
            FileManager.default.subpaths(atPath: directory.path)?.contains { $0.hasSuffix("/evstore.json") } ?? false
        }
        while outrun.isRunning, !isMaking() { usleep(5_000) }
        try program.must(command, input: Orders.lines(20 ..< 50))
        outrun.send(signal: SIGCONT)
        let outcome = try outrun.wait()
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(try program.must("export").lines.count == 50)
    }

    @Test("an import that is killed anywhere and run again adds every line once")
    func killedImport() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        let orders = try Orders(count: 1)
        let file = orders.directory.path + "/lines.jsonl"
        let withoutIDs = Orders.lines(1 ..< 40_001).replacing(#/"id":"line-\d+",/#, with: "")
        try withoutIDs.write(toFile: file, atomically: true, encoding: .utf8)
        for _ in 0 ..< 6 {
            let run = try orders.program.start(["import", file, "--as", "v1"])
            Thread.sleep(forTimeInterval: Double.random(in: 0.02 ... 0.6, using: &chance))
            run.send(signal: SIGKILL)
            _ = try run.wait()
        }
        try orders.program.must("import", file, "--as", "v1")
        #expect(try orders.status()["position"] as? Int == 40_001, "seed \(seed)")
        try orders.program.must("verify", "--deep")
    }
}
