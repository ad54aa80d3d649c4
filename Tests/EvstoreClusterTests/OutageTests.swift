import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Platform
import PostgreSQL
import SchemaEvolution
import TestSupport
import Testing

@Suite("A cluster log that is away", .serialized)
struct OutageTests {
    @Test("without PostgreSQL reads, queries and local work go on, appends wait until their deadline, and nothing is written")
    func away() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            try await shop.close("a")
            let a = try await shop.open("a", deadline: 1)
            try await ShopCluster.patiently { try await a.append([ShopCluster.placed("1", id: "one")]) }
            server.stop()
            let took = await shortest(.seconds(5)) {
                let begin = Instant.now
                let refused = await #expect(throws: EvstoreError.self) { try await a.append([ShopCluster.placed("2")]) }
                // On a busy machine it may have passed before the log was missed.
                if refused?.code == "deadlinePassed" { return .patience }
                #expect(refused?.code == "logUnavailable", "\(refused?.code ?? "")")
                return begin.duration(to: .now)
            }
            #expect(took < .seconds(5))
            #expect(try a.last().position == Position(1))
            #expect(try await a.count("orders").rows == 1)
            _ = try await ShopCluster.patiently { try await a.takeSnapshot("mine") }
            // It is told for how long, by `status` and the metrics.
            #expect(try await Self.trouble(of: a) { $0 > .milliseconds(300) } > .milliseconds(300))
            #expect(try a.status().complaints.contains { $0.message.contains("can't be asked") })
            try server.start()
            try await ShopCluster.patiently { try await a.append([ShopCluster.placed("2", id: "two")]) }
            #expect(try await Self.trouble(of: a) { $0 == .zero } == .zero)
            #expect(try a.last().position == Position(2))
            try await shop.close()
        }
    }

    /// For how long a node could not follow, once that is as expected, or after a while.
    private static func trouble(of store: EventStore, until isSo: (Duration) -> Bool) async throws -> Duration {
        let end = Instant.now + .patience
        while true {
            let trouble = try store.status().cluster?.trouble ?? .seconds(-1)
            if isSo(trouble) || .now > end { return trouble }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test("a server that says nothing is not waited for longer than an opening may; the node says so, and follows later")
    func silent() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await shop.join("b")
            try await shop.close("b")
            try await a.append([ShopCluster.placed("1")])
            // Who asks for frames hears nothing until this transaction ends.
            let holder = try server.connect()
            for words in ["BEGIN", "LOCK TABLE evstore_frame"] { _ = try holder.run(words) }
            var options = ShopCluster.options()
            options.catchUpLimit = .milliseconds(300)
            // An answer of which some bytes have come would have five seconds each time; a busy machine may take as long at times.
            var shortest = Duration.seconds(10)
            for _ in 0 ..< 5 where shortest >= .seconds(4) {
                let begin = Instant.now
                let b = try await EventStore.open(shop.path("b"), schemas: shop.schemas, options: options)
                shortest = min(shortest, begin.duration(to: .now))
                #expect(try b.status().complaints.map(\.code).contains("clusterUnreachable"))
                #expect(try await ShopCluster.lines(b).isEmpty)
                try await b.close()
            }
            #expect(shortest < .seconds(4))
            _ = try holder.run("ROLLBACK")
            let b = try await shop.open("b")
            try await b.catchUp()
            #expect(try await ShopCluster.lines(b) == ShopCluster.lines(a))
            try await shop.close()
        }
    }

    @Test("appends that wait go on when PostgreSQL comes back before their deadline")
    func back() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            server.stop(.immediate)
            async let waiting = a.append([ShopCluster.placed("1")])
            try await Task.sleep(for: .milliseconds(700))
            try server.start()
            let receipt = try await waiting
            #expect(receipt.positions == 1 ... 1)
            try await shop.close()
        }
    }

    @Test(
        "appends are refused while PostgreSQL's disk is full, and go on when there is room again",
        .enabled(if: PostgresServer.canMount, "this user may mount nothing"))
    func fullDisk() async throws {
        var options = PostgresServer.Options()
        (options.diskBytes, options.settings) = (160 << 20, ["max_wal_size": "32MB", "min_wal_size": "32MB"])
        try await withPostgres(options) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            try await shop.close("a")
            let quick = try await shop.open("a", deadline: 2)
            try server.fillDisk(true)
            let note = String(repeating: "no room ", count: 4_000)
            var (told, refused): ([String], EvstoreError?) = ([], nil)
            for number in 0 ..< 2_000 where refused == nil {
                let event = try ShopCluster.placed("\(number)", number, id: "\(number)", customer: note)
                do throws(EvstoreError) {
                    try await quick.append([event])
                    told.append("\(number)")
                } catch {
                    // That is the machine's doing.
                    if error.code != "deadlinePassed" { refused = error }
                }
            }
            #expect(["logUnavailable", "commitOutcomeUnknown"].contains(refused?.code), "\(refused?.code ?? "") \(refused?.message ?? "")")
            #expect(try quick.last().position >= Position(UInt64(told.count)))
            try server.fillDisk(false)
            // PostgreSQL ends where its own log finds no room.
            if !server.isRunning { try server.start() }
            try await shop.close("a")
            let again = try await shop.open("a")
            try await again.append([ShopCluster.placed("last", id: "last")])
            let other = try await shop.join("b")
            let lines = try await ShopCluster.lines(other)
            #expect(try await ShopCluster.lines(again) == lines)
            for id in told + ["last"] { #expect(lines.count { $0.contains("\"id\":\"\(id)\",") } >= 1, "\(id)") }
            print("a full disk: \(told.count) appends, then \(refused?.message ?? "")")
            try await shop.close()
        }
    }

    @Test(
        "a message that is lost anywhere between node and PostgreSQL leaves the append made once, or not at all",
        arguments: FaultyProxy.Fault.allCases)
    func lost(_ fault: FaultyProxy.Fault) async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let proxy = try FaultyProxy(to: server.port)
            let (a, b) = (try await shop.join("a", port: proxy.port), try await shop.join("b"))
            for number in 0 ..< 10 {
                proxy.arm(fault)
                // No id: nothing but the frame tells whether it was made.
                async let first = a.append([ShopCluster.placed("a", number)])
                async let second = b.append([ShopCluster.placed("b", number)])
                _ = try await (first, second)
            }
            try await a.catchUp()
            try await b.catchUp()
            #expect(proxy.broken == 10)
            let lines = try await ShopCluster.lines(a)
            #expect(lines.count == 20)
            #expect(try await ShopCluster.lines(b) == lines)
            try await shop.close()
        }
    }

    @Test("what is not known at the deadline is said so, and is found out by the next append with the id")
    func unknown() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let proxy = try FaultyProxy(to: server.port)
            try await shop.join("a", port: proxy.port)
            try await shop.close("a")
            let a = try await shop.open("a", deadline: 0.8)
            try await ShopCluster.patiently { try await a.append([ShopCluster.placed("0", id: "zero")]) }
            proxy.arm(.dropsAnswer, thenRefusing: true)
            var unknown: EvstoreError?
            // On a busy machine the deadline may pass before anything is sent.
            for _ in 0 ..< 20 where proxy.broken == 0 {
                unknown = await #expect(throws: EvstoreError.self) { try await a.append([ShopCluster.placed("1", 1, id: "one")]) }
            }
            #expect(unknown?.code == "commitOutcomeUnknown", "\(unknown?.code ?? "")")
            proxy.refuse(false)
            let receipt = try await ShopCluster.patiently { try await a.append([ShopCluster.placed("1", 1, id: "one")]) }
            #expect(receipt.duplicate && receipt.positions == 2 ... 2)
            try await shop.close()
        }
    }
}
