import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("A node that meets a cut and does not get to its end", .serialized)
struct KilledCutTests {
    /// How many of the calls, which lie evenly: by hand all of them.
    private static var calls: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_CALLS"].flatMap(Int.init) ?? 16 }
    private static var states: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_STATES"].flatMap(Int.init) ?? 30 }
    private static let tail = 12

    /// Has node b append events, lets node a take them in, and cuts them off on b.
    private static func cut(_ shop: ShopCluster, _ name: String) async throws {
        let b = shop["b"]
        try await b.catchUp()
        _ = try await b.takeSnapshot(name)
        for number in 0 ..< tail { try await b.append([ShopCluster.placed("\(number % 5)", number, id: "\(name)-\(number)")]) }
        let a = try await shop.open("a")
        try await a.catchUp()
        #expect(try a.last() == b.last())
        try await shop.close("a")
        let report = try await b.rollback(toSnapshot: name, discardTail: true)
        #expect(report.tail == UInt64(tail))
    }

    private static func expectSame(_ shop: ShopCluster, _ node: String, _ note: Comment) async throws {
        let store = try await shop.open(node)
        try await store.catchUp()
        try await shop["b"].catchUp()
        #expect(try await ShopCluster.lines(store) == ShopCluster.lines(shop["b"]), note)
        #expect(try store.last() == shop["b"].last(), note)
        #expect(try await store.count("orders").rows == shop["b"].count("orders").rows, note)
        #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, note)
        try await shop.close(node)
        #expect(try shop.archives(node) == shop.archives("b"), note)
    }

    @Test("killed at any call of its disk, it has the cut and the whole archive when it is opened again")
    func killed() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("b")
            try await shop.join("a")
            try await shop.close("a")
            func work(_ name: String, _ fault: DiskFault?) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
                var disk = FaultyDisk(root: shop.path("a"))
                (disk.fault, disk.counter) = (fault, shop.directory.path + "/calls")
                try disk.resetCounter()
                let worker = BuiltProgram("StoreWorker", environment: try disk.environment)
                return (try worker.run(["node", shop.path("a"), name, "2", "0"]), try disk.count().calls)
            }
            try await Self.cut(shop, "counted")
            let count = try work("counted", nil).calls
            try await Self.expectSame(shop, "a", "counted")
            var kills = 0
            for call in stride(from: 1, through: count, by: max(count / Self.calls, 1)) {
                try await Self.cut(shop, "at-\(call)")
                if try work("w-\(call)", DiskFault(.kill, at: call)).outcome.signal != nil { kills += 1 }
                try await Self.expectSame(shop, "a", "killed at call \(call) of \(count)")
            }
            #expect(kills > 8, "\(kills) kills of \(count) calls")
            print("killed cuts: \(kills) kills of \(count) calls")
            try await shop.close()
        }
    }

    @Test("after a power cut it has the cut, with the whole archive on the disk, or meets it again")
    func powerCut() async throws {
        var chance = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("b")
            try await shop.join("a")
            try await shop.close("a")
            try await Self.cut(shop, "good")
            var disk = FaultyDisk(root: shop.path("a"))
            disk.log = shop.directory.path + "/recording"
            var state = try CrashState(shop.path("a"))
            let outcome = try BuiltProgram("StoreWorker", environment: disk.environment).run(["node", shop.path("a"), "w", "6", "0"])
            #expect(outcome.exit == 0, "\(outcome.errors)")
            let recording = try Recording(shop.directory.path + "/recording")
            var taken = 0
            for cut in (0 ..< Self.states).map({ _ in Int.random(in: 0 ... recording.calls.count, using: &chance) }).sorted() {
                while taken < cut {
                    try state.take(recording.calls[taken])
                    taken += 1
                }
                try state.draw(&chance).write(to: shop.path("drawn"))
                try await Self.expectSame(shop, "drawn", "power cut at call \(cut) of \(recording.calls.count)")
                try FileManager.default.removeItem(atPath: shop.path("drawn"))
            }
            try await shop.close()
        }
    }

    @Test("another process that has the node open reads, queries and appends behind the cut")
    func otherProcess() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("b")
            let a = try await shop.join("a")
            let before = try await a.takeSnapshot("own")
            try await shop["b"].append([ShopCluster.placed("kept", 1)])
            _ = try await shop["b"].takeSnapshot("good")
            for number in 0 ..< 20 { try await shop["b"].append([ShopCluster.placed("\(number % 5)", number)]) }
            try await a.catchUp()
            #expect(try await a.count("orders").rows == 6 && before.position == .start)
            try await shop["b"].rollback(toSnapshot: "good", discardTail: true)
            // Another process of the node meets the cut.
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            let met = try program.run(["cluster", "catch-up"])
            #expect(met.exit == 0, "\(met)")
            #expect(try a.last() == Checkpoint(epoch: Epoch(2), position: Position(1)))
            #expect(try await a.count("orders").rows == 1)
            try await a.append(ShopCluster.placed("kept", 2), expecting: .revision(Revision(0)))
            #expect(try await ShopCluster.lines(a).count == 2)
            try await Self.expectSame(shop, "a", "both")
            try await shop.close()
        }
    }

    @Test("rescue finds what only a node has behind a cut that both have, where the cluster log was set back")
    func rescue() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let b = try await shop.join("b")
            for number in 0 ..< 10 { try await b.append([ShopCluster.placed("\(number % 5)", number)]) }
            try await shop.join("a")
            try await Self.cut(shop, "good")
            for number in 0 ..< 8 { try await b.append([ShopCluster.placed("\(number % 5)", number)]) }
            let frames = try await shop.cluster().status().frames
            try shop.setBack(to: frames - 3)
            var lines = 0
            let report = try await b.maintenance.rescue { text in
                lines += text.count { $0 == UInt8(ascii: "\n") }
                return true
            }
            #expect(report.common == Position(15) && report.last == Position(18) && lines == 3, "\(report)")
            try await shop.close()
        }
    }

    @Test("rescue behind a cut that the cluster log has lost finds the common beginning in the epoch before")
    func rescueOfLostCut() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let b = try await shop.join("b")
            for number in 0 ..< 5 { try await b.append([ShopCluster.placed("\(number)")]) }
            _ = try await b.takeSnapshot("low")
            for number in 0 ..< 5 { try await b.append([ShopCluster.placed("\(number)")]) }
            try await shop.join("a")
            try await Self.cut(shop, "good")
            let frames = try await shop.cluster().status().frames
            try await b.rollback(toSnapshot: "low", discardTail: true)
            for number in 0 ..< 3 { try await b.append([ShopCluster.placed("\(number)")]) }
            try shop.setBack(to: frames)
            var lines = 0
            let report = try await b.maintenance.rescue { text in
                lines += text.count { $0 == UInt8(ascii: "\n") }
                return true
            }
            #expect(report.common == Position(5) && report.last == Position(8) && lines == 3, "\(report)")
            try await shop.close()
        }
    }
}
