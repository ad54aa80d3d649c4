import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import SchemaEvolution
import TestSupport
import Testing
import Torturing

@Suite("A node's clock", .serialized)
struct ClockTests {
    static let century = 36_500

    @Test("may be wrong by a century, either way: positions order, and all that a node does goes on", arguments: [-century, century])
    func wrong(days: Int) async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            var right = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            var wrong = try right.withClock(off: days)
            (right.environment["EVSTORE_STORE"], wrong.environment["EVSTORE_STORE"]) = (shop.path("a"), shop.path("b"))
            try wrong.must("join", "--name", shop.name, "--node", "b")
            func append(_ program: BuiltProgram, _ number: Int) throws {
                let data = #"{"id":"\#(number % 3)","customer":"Ada","total":\#(number)}"#
                try program.must("append", "order-\(number % 3)", "OrderPlaced", data, "--at", "v1")
            }
            for number in 0 ..< 6 { try append(number % 2 == 0 ? wrong : right, number) }
            try wrong.must("cluster", "catch-up")
            try wrong.must("snapshot", "take", "good")
            try append(right, 6)
            try wrong.must("replay", "--to", "v2", "--schemas", shop.directory.path + "/schemas")
            try append(wrong, 7)
            try wrong.must("rollback")
            let cut = try wrong.must("--json", "rollback", "--to-snapshot", "good", "--discard-tail")
            #expect(cut.output.contains(#""tail":2"#))
            try append(right, 8)
            try append(wrong, 9)
            let a = shop["a"]
            try await a.catchUp()
            let b = try await shop.open("b")
            try await b.catchUp()
            #expect(
                try await ShopCluster.lines(a) == ShopCluster.lines(b) && a.last() == Checkpoint(epoch: Epoch(2), position: Position(8)))
            var years: [Int] = []
            for position in 1 ... 8 as ClosedRange<UInt64> {
                let time = try #require(try a.event(position: Position(position))).time
                years.append(Int(time.microseconds / 1_000_000 / 86_400 / 365))
            }
            // Times are what the clocks said.
            #expect(abs(years[0] - years[1]) >= 99 && years[0] == years[2] && years[1] == years[3])
            for store in [a, b] {
                #expect(try await store.count("orders").rows == 3)
                #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
            }
            // What leaves the cluster gets an epoch of its own by the clock, and others after it.
            try await shop.close("b")
            try wrong.must("cluster", "leave")
            try wrong.must("backup", shop.path("copies"))
            let restored = shop.path("restored")
            try wrong.must("--store", restored, "restore", shop.path("copies"), "--into", restored)
            try append(wrong, 10)
            try wrong.must("verify", "--deep")
            try await shop.close()
        }
    }
}
