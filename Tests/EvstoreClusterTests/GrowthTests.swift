import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import TestSupport
import Testing

@Suite("A node whose map grows", .serialized)
struct GrowthTests {
    private static let clusters = 2

    /// A cluster log of its own with one node, whose map has 1 to 2 MiB.
    private static func small(
        _ server: PostgresServer, _ name: String, _ chance: inout SeededGenerator
    ) async throws -> (ShopCluster, EventStore) {
        let shop = try await ShopCluster(server, name: name)
        var options = ShopCluster.options()
        options.mapBytes = Int.random(in: 256 ... 512, using: &chance) * 4_096
        try await StoreMaintenance.join(shop.cluster(), as: "a", into: shop.path("a"), options: options)
        return (shop, try await EventStore.open(shop.path("a"), schemas: shop.schemas, options: options))
    }

    @Test("what PostgreSQL has when the map of a commit is full is made once, appends and flips alike")
    func grown() async throws {
        var chance = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            for number in 0 ..< Self.clusters {
                let (shop, node) = try await Self.small(server, "shop\(number)", &chance)
                var (events, flips, bytes) = (0, 0, 0)
                while bytes < 12 << 20 {
                    let size = Int.random(in: 1 ... 30_000, using: &chance)
                    // Without ids: nothing but the node itself knows that it was made already.
                    try await node.append([ShopCluster.placed("\(events % 7)", events, customer: String(repeating: "x", count: size))])
                    (events, bytes) = (events + 1, bytes + size)
                    // At which version the node works is a row of all nodes.
                    guard events % 40 == 0 else { continue }
                    flips += 1
                    if flips % 2 == 1 {
                        try await node.migrate(to: SchemaVersion(2))
                    } else {
                        try await node.rollback(to: SchemaVersion(1))
                    }
                }
                #expect(try node.last().position == Position(UInt64(events)))
                let frames = try await shop.cluster().status().frames
                // The cluster's beginning, the node's own row and the files of version 2 are frames, too.
                #expect(frames <= UInt64(events + flips + 4), "\(frames) frames of \(events) events and \(flips) flips")
                let lines = try await ShopCluster.lines(node)
                for line in 0 ..< events { #expect(lines[line].contains(#""total":\#(line)}"#), "event \(line)") }
                let other = try await shop.join("b")
                #expect(try await ShopCluster.lines(other) == lines)
                #expect(try await node.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
                try await node.close()
                try await shop.close()
            }
        }
    }

    @Test("a change of rows that PostgreSQL has when the map is full is one frame")
    func rows() async throws {
        var chance = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            for number in 0 ..< Self.clusters {
                let (shop, node) = try await Self.small(server, "shop\(number)", &chance)
                let before = try await shop.cluster().status().frames
                var sizes: [Int] = []
                while sizes.reduce(0, +) < 4 << 20 {
                    let (name, size) = ("filler\(sizes.count)", Int.random(in: 1 ... 3_000, using: &chance))
                    sizes.append(size)
                    try await node.log.update { try $0.put(.definitions, Array(name.utf8), [UInt8](repeating: 7, count: size)) }
                }
                #expect(try await shop.cluster().status().frames == before + UInt64(sizes.count))
                let rows = try node.log.read { try $0.rows(.definitions, prefix: Array("filler".utf8)) }
                #expect(rows.map(\.value.count).reduce(0, +) == sizes.reduce(0, +))
                try await node.close()
                try await shop.close()
            }
        }
    }
}
