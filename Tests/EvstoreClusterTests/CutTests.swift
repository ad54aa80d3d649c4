import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import SchemaEvolution
import Synchronization
import TestSupport
import Testing

private struct OrderPlaced: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(1)
    var id: String
    var customer: String
    var total: Int
}

@Suite("A cut of a cluster's log", .serialized)
struct ClusterCutTests {
    private static func expectSame(_ shop: ShopCluster, _ nodes: [String]) async throws {
        for node in nodes { try await shop[node].catchUp() }
        let lines = try await ShopCluster.lines(shop[nodes[0]])
        for node in nodes {
            #expect(try await ShopCluster.lines(shop[node]) == lines, "\(node)")
            #expect(try shop[node].log.read { try $0.lastLink } == shop[nodes[0]].log.read { try $0.lastLink }, "\(node)")
            #expect(try await shop[node].count("orders").rows == shop[nodes[0]].count("orders").rows, "\(node)")
            #expect(try await shop[node].maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, "\(node)")
        }
    }

    @Test("every node archives and cuts when it meets the frame, also one that was away, and all go on with one log")
    func everyNode() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in ["a", "b", "c"] { try await shop.join(node) }
            let a = shop["a"]
            for number in 0 ..< 40 { try await shop[number % 2 == 0 ? "a" : "b"].append([ShopCluster.placed("\(number % 7)", number)]) }
            try await a.catchUp()
            let kept = try await ShopCluster.lines(a)
            _ = try await a.takeSnapshot("good")
            for number in 40 ..< 60 { try await shop[number % 2 == 0 ? "a" : "b"].append([ShopCluster.placed("\(number % 9)", number)]) }
            try await shop["b"].catchUp()
            try await shop["b"].migrate(to: SchemaVersion(2))
            try await shop["c"].catchUp()
            #expect(try await shop["c"].count("orders").rows == 9)
            try await shop.close("c")
            let unasked = await #expect(throws: EvstoreError.self) { try await a.rollback(toSnapshot: "good", discardTail: false) }
            #expect(unasked?.code == "consentNeeded")
            let report = try await a.rollback(toSnapshot: "good", discardTail: true)
            #expect(report.tail == 20 && report.archive.map { FileManager.default.fileExists(atPath: $0) } == true, "\(report)")
            #expect(try await ShopCluster.lines(a) == kept)
            // Its version is the newest that is promised now.
            try await shop["b"].catchUp()
            #expect(try (shop["b"].versions.live, shop["b"].versions.top) == (SchemaVersion(1), SchemaVersion(1)))
            try await shop["b"].append([ShopCluster.placed("new", 1)])
            try await shop.open("c")
            try await Self.expectSame(shop, ["a", "b", "c"])
            #expect(try shop["c"].last() == Checkpoint(epoch: Epoch(2), position: Position(41)))
            let archives = try ["a", "b", "c"].map { try shop.archives($0) }
            #expect(archives[0].count == 2 && archives[0] == archives[1] && archives[1] == archives[2])
            let lines = try String(contentsOfFile: report.archive ?? "", encoding: .utf8)
            #expect(lines.split(separator: "\n").count == 20)
            for node in ["a", "b", "c"] {
                let rows = try shop[node].maintenance.journal().filter { $0.kind == .cut }
                #expect(rows.count == 1 && rows[0].outcome == "to good by a, 20 events archived", "\(rows)")
            }
            // What was taken off comes back by an import, on whatever node.
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("c")])
            try program.must("import", report.archive ?? "", "--as", "v1")
            try await Self.expectSame(shop, ["a", "b", "c"])
            #expect(try shop["a"].last().position == Position(61))
            try await shop.close()
        }
    }

    @Test("appends of other nodes go on meanwhile; each is in the log or in the archive of every node")
    func underLoad() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 30 { try await a.append([ShopCluster.placed("\(number % 7)", number, id: "first-\(number)")]) }
            _ = try await a.takeSnapshot("good")
            // However quick the machine is, it appends until both cuts are made.
            let cuts = CutCount()
            let appending = Task {
                var acknowledged: [String] = []
                while cuts.made < 2 || acknowledged.count < 100 {
                    let number = acknowledged.count
                    try await b.append([ShopCluster.placed("\(number % 9)", number, id: "b-\(number)")])
                    acknowledged.append("b-\(number)")
                    try await Task.sleep(for: .milliseconds(1))
                }
                return acknowledged
            }
            defer { appending.cancel() }
            // Two cuts to the same snapshot, each of what had come since: to ask for one again is not to ask for another.
            for epoch in 1 ... 2 as ClosedRange<UInt32> {
                let before = try a.last().position.rawValue
                while try a.last().position.rawValue < before + 20 { try await Task.sleep(for: .milliseconds(2)) }
                for wrong in epoch == 1 ? [Epoch(2)] : [nil, Epoch(1)] {
                    let refused = await #expect(throws: EvstoreError.self) {
                        try await a.rollback(toSnapshot: "good", discardTail: true, epoch: wrong)
                    }
                    #expect(refused?.code == "consentNeeded" && refused?.message.contains("nothing was changed") == true)
                }
                let report = try await a.rollback(toSnapshot: "good", discardTail: true, epoch: epoch == 1 ? nil : Epoch(epoch))
                #expect(report.tail >= 20)
                cuts.add()
            }
            let acknowledged = try await appending.value
            try await Self.expectSame(shop, ["a", "b"])
            #expect(try a.last().epoch == Epoch(3))
            for node in ["a", "b"] {
                let all =
                    try await ShopCluster.lines(shop[node]).joined()
                    + shop.archives(node).values.map { String(decoding: $0, as: UTF8.self) }.joined()
                for id in acknowledged { #expect(all.components(separatedBy: "\"id\":\"\(id)\"").count == 2, "\(id) on \(node)") }
            }
            try await shop.close()
        }
    }

    @Test("who joins behind a cut has the log as it is: a new node, and a replica of a backup from before and from behind it")
    func joining() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            for number in 0 ..< 50 { try await a.append([ShopCluster.placed("\(number % 7)", number)]) }
            _ = try await a.takeSnapshot("good")
            for number in 50 ..< 90 { try await a.append([ShopCluster.placed("\(number % 7)", number)]) }
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            try program.must("backup", shop.path("before"))
            try await a.rollback(toSnapshot: "good", discardTail: true)
            try program.must("backup", shop.path("at"))
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number % 7)", number)]) }
            try program.must("backup", shop.path("behind"))
            try await a.append([ShopCluster.placed("last")])
            for copy in ["before", "at", "behind"] {
                try program.must("--store", shop.path("of-\(copy)"), "follow", "--from", shop.path(copy), "--once")
                try await shop.join("of-\(copy)")
            }
            try await shop.join("new")
            try await Self.expectSame(shop, ["a", "of-before", "of-at", "of-behind", "new"])
            #expect(try shop["of-before"].last() == Checkpoint(epoch: Epoch(2), position: Position(61)))
            try await shop.close()
        }
    }

    @Test("a snapshot beyond an earlier cut is refused, and so is a second cut that another node has made needless")
    func beyond() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number)", number)]) }
            _ = try await a.takeSnapshot("early")
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number)", number)]) }
            try await b.catchUp()
            _ = try await b.takeSnapshot("late")
            try await a.rollback(toSnapshot: "early", discardTail: true)
            let refused = await #expect(throws: EvstoreError.self) { try await b.rollback(toSnapshot: "late", discardTail: true) }
            #expect(refused?.code == "epochChanged", "\(refused?.message ?? "")")
            #expect(try b.last() == Checkpoint(epoch: Epoch(2), position: Position(10)))
            try await Self.expectSame(shop, ["a", "b"])
            try await shop.close()
        }
    }

    @Test("a floor above another node's version is refused before it is a frame that this one could never take in")
    func floor() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            _ = try await a.takeSnapshot("low")
            for store in [a, b] {
                try await store.catchUp()
                try await store.migrate(to: SchemaVersion(2))
            }
            try await a.finalize(SchemaVersion(2))
            _ = try await a.takeSnapshot("high")
            try await a.rollback(toSnapshot: "low", discardTail: true)
            try await b.catchUp()
            #expect(try (b.versions.floor, b.versions.live) == (SchemaVersion(1), SchemaVersion(1)))
            let refused = await #expect(throws: EvstoreError.self) { try await a.rollback(toSnapshot: "high", discardTail: true) }
            #expect(
                refused?.code == "verificationFailed" && refused?.message.contains("node b is at v1") == true, "\(refused?.message ?? "")")
            try await b.append([ShopCluster.placed("2")])
            try await Self.expectSame(shop, ["a", "b"])
            try await shop.close()
        }
    }

    @Test("a node that would go down is named, and goes down only with consent, with a line in its journal")
    func lowered() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            _ = try await a.takeSnapshot("low")
            try await b.catchUp()
            try await b.migrate(to: SchemaVersion(2))
            let refused = await #expect(throws: EvstoreError.self) { try await a.rollback(toSnapshot: "low", discardTail: false) }
            #expect(
                refused?.code == "consentNeeded" && refused?.message.contains("node b would go back from v2 to v1") == true,
                "\(refused?.message ?? "")")
            try await b.catchUp()
            #expect(try b.versions.live == SchemaVersion(2))
            #expect(try await a.finalize(SchemaVersion(1)).top == SchemaVersion(2), "the window stays open for b")
            let report = try await a.rollback(toSnapshot: "low", discardTail: true)
            #expect(report.nodes == ["b"] && report.tail == 0)
            try await b.catchUp()
            #expect(try (b.versions.live, b.versions.top) == (SchemaVersion(1), SchemaVersion(1)))
            let last = try #require(try b.maintenance.journal().last)
            #expect(last.kind == .cut && last.from == SchemaVersion(2) && last.to == SchemaVersion(1), "\(last)")
            try await Self.expectSame(shop, ["a", "b"])
            try await shop.close()
        }
    }

    @Test("a replica with events that a failover took away is refused, also where a cut of the cluster has passed them")
    func replicaAhead() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number)")]) }
            try await b.catchUp()
            try await shop.close("b")
            let frames = try await shop.cluster().status().frames
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number)")]) }
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            try program.must("backup", shop.path("copies"))
            try program.must("--store", shop.path("c"), "follow", "--from", shop.path("copies"), "--once")
            try await shop.close("a")
            try shop.setBack(to: frames)
            let again = try await shop.open("b")
            _ = try await again.takeSnapshot("good")
            try await again.append([ShopCluster.placed("x")])
            try await again.rollback(toSnapshot: "good", discardTail: true)
            let refused = await #expect(throws: EvstoreError.self) { try await shop.join("c") }
            #expect(refused?.code == "clusterWentBack", "\(refused?.message ?? "")")
            try await shop.close()
        }
    }

    @Test("what was decided on events that a cut took off is decided again, also where others have come to their revisions")
    func decided() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("first")])
            _ = try await a.takeSnapshot("good")
            try await a.append([ShopCluster.placed("7", 5)])
            try await b.catchUp()
            let stream = try StreamName("order-7")
            let fold = try StreamFold("total", revision: 1, initial: 0) {
                StateHandler(OrderPlaced.self) { sum, placed, _ in sum += placed.total }
            }
            let before = try b.state(of: stream, fold)
            var seen: [Int] = []
            let decision = try await b.decide(on: stream, fold) { total in
                seen.append(total)
                if seen.count == 1 { try Self.cut(a, b) }
                return [OrderPlaced(id: "7", customer: "Ada", total: 1)]
            }
            #expect(seen == [5, 100] && decision.attempts == 2)
            #expect(try b.state(of: stream, fold).value == 101)
            let late = try ShopCluster.placed("7")
            let condition = StreamCondition(stream, before.expectation, asOf: before.checkpoint)
            let refused = await #expect(throws: EvstoreError.self) { try await b.append([late], conditions: [condition]) }
            #expect(refused?.code == "epochChanged", "\(refused?.message ?? "")")
            try await shop.close()
        }
    }

    @Test("a query on a node that meets cut after cut is answered each time")
    func queried() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 200 { try await a.append([ShopCluster.placed("\(number)", number)]) }
            _ = try await a.takeSnapshot("good")
            let querying = Task {
                var answers = 0
                while !Task.isCancelled {
                    do { #expect(try await b.count("orders").rows <= 201) } catch {
                        // What ends the test ends the last query too.
                        if !Task.isCancelled { throw error }
                    }
                    answers += 1
                }
                return answers
            }
            for epoch in 1 ... 25 as ClosedRange<UInt32> {
                try await a.append([ShopCluster.placed("more")])
                try await b.catchUp()
                try await a.rollback(toSnapshot: "good", discardTail: true, epoch: Epoch(epoch))
                try await b.catchUp()
            }
            querying.cancel()
            #expect(try await querying.value > 3)
            try await Self.expectSame(shop, ["a", "b"])
            try await shop.close()
        }
    }

    /// Takes off what node a has since its snapshot, brings the stream to the revision that it had, by another event, and has b meet that.
    private static func cut(_ a: EventStore, _ b: EventStore) throws {
        try BuiltProgram(environment: ["EVSTORE_STORE": a.path]).must("rollback", "--to-snapshot", "good", "--discard-tail")
        let data = #"{"id":"7","customer":"Ada","total":100}"#
        try BuiltProgram(environment: ["EVSTORE_STORE": a.path]).must("append", "order-7", "OrderPlaced", data, "--at", "v1")
        try BuiltProgram(environment: ["EVSTORE_STORE": b.path]).must("cluster", "catch-up")
    }
}

/// How many cuts were made, for a task that goes on until then.
private final class CutCount: Sendable {
    private let count = Mutex(0)

    var made: Int { count.withLock { $0 } }

    func add() { count.withLock { $0 += 1 } }
}
