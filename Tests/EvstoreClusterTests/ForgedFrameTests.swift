import Bytes
import EventModel
import Evstore
import EvstoreCluster
import Foundation
import Hashing
import PostgreSQL
import TestSupport
import Testing

@testable import ClusterLog

@Suite("Frames by who has PostgreSQL's password", .serialized)
struct ForgedFrameTests {
    /// Adds a frame that follows, as any node's does, with what nobody has judged.
    private static func add(_ rows: [UInt8], blocks: [UInt8] = [], last: Checkpoint? = nil, to server: PostgresServer) throws {
        let connection = try server.connect()
        let row = try connection.run("SELECT frame, link, epoch, position FROM evstore_log")
        let (number, link, epoch, position) = (row.int(0, 0) ?? 0, row.bytes(0, 1) ?? [], row.int(0, 2) ?? 0, row.int(0, 3) ?? 0)
        let end = ClusterLogEnd(number: UInt64(number), link: link)
        let own = Checkpoint(epoch: Epoch(UInt32(epoch)), position: Position(UInt64(position)))
        let frame = ClusterFrame.encoded(after: end, last ?? own, rows: rows.lent, blocks: blocks.lent)
        let place: [PostgresValue] = [.int(Int64(frame.end.number)), .int(Int64(clamping: frame.last.position.rawValue))]
        _ = try connection.run(
            "UPDATE evstore_log SET frame = $1, position = $2, link = $3, epoch = $4",
            place + [.bytes(frame.end.link), .int(Int64(frame.last.epoch.rawValue))])
        _ = try connection.run(
            "INSERT INTO evstore_frame (log, number, last, bytes) VALUES ('shop', $1, $2, $3)", place + [.bytes(frame.bytes)])
    }

    private static func row(_ table: String, _ key: [UInt8], _ value: [UInt8]?) -> [UInt8] {
        var rows = ByteBuffer()
        SharedRows.append(table, key, value, to: &rows)
        return rows.array()
    }

    private static func bytes(_ numbers: UInt32...) -> [UInt8] {
        numbers.flatMap { number in (0 ..< 4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    }

    private static let hash = [UInt8](repeating: 7, count: 32)

    /// What breaks a node that would take it in.
    private static let harmful: [(name: String, rows: [UInt8])] = [
        ("a version that is none", row("schemas", [0, 0, 0, 2], hash + Array("{}".utf8))),
        ("a version under no number", row("schemas", [1], hash)), ("the first version removed", row("schemas", [0, 0, 0, 1], nil)),
        ("a projection that is none", row("definitions", Array("orders".utf8) + [0, 0, 0, 0, 1], Array("[]".utf8))),
        ("a type under another number", row("types", Array("OrderPlaced".utf8), bytes(77))),
        ("a number that another type has", row("types", Array("OrderMade".utf8), bytes(1))),
        ("a number far behind the others'", row("types", Array("OrderMade".utf8), bytes(1_000))),
        ("a type of no number", row("types", Array("OrderMade".utf8), [1])), ("an epoch that is none", row("epochs", [0, 0, 0, 2], [1])),
        ("a node that is none", row("notes", Array("node/a".utf8), [1, 2, 3])),
        ("a node of no name", row("notes", Array("node/../x".utf8), bytes(1, 0, 0))),
        ("a mark of an import that is none", row("imports", hash, [1])),
        ("numbers out of order", row("numbers", Array("shared".utf8), bytes(3, 2, 1, 1) + hash)),
        ("numbers of versions that nobody has", row("numbers", Array("shared".utf8), bytes(1, 1, 4_000_000_000, 1) + hash)),
        ("numbers with another digest", row("numbers", Array("shared".utf8), bytes(1, 1, 1, 1) + hash)),
        ("a table of the node's own", row("journal", [0, 0, 0, 0, 0, 0, 0, 9], [1])), ("a row that does not end", [9, 115, 99]),
        ("a cut at no place", row("cut", Array("shared".utf8), [UInt8](repeating: 255, count: 12) + hash)),
        ("a cut of another log", row("cut", Array("shared".utf8), [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0] + hash)),
    ]

    private static func code(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "none"
        } catch { return (error as? EvstoreError)?.code ?? "\(error)" }
    }

    /// A node reads whatever the cluster log holds, opened anew and by each command.
    private static func expectReading(_ shop: ShopCluster, _ what: String) async throws {
        let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
        for words in ["read order-1", "query orders --count", "status", "export"] {
            let outcome = try program.run(words.split(separator: " ").map(String.init))
            #expect(outcome.exit == 0, "\(what): \(words): \(outcome.exit) \(outcome.errors)")
        }
        let refused = try program.run(["append", "order-9", "OrderPaid", #"{"id":"9"}"#])
        #expect([6, 7].contains(refused.exit), "\(what): \(refused.exit) \(refused.errors)")
        #expect(try shop.archives("a").isEmpty, "\(what)")
    }

    @Test("a frame with rows that nobody could read is refused before it is taken in; the node reads on, and follows once it is gone")
    func harmful() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            var a = try await shop.join("a")
            for number in 0 ..< 3 { try await a.append([ShopCluster.placed("1", number)]) }
            let frames = try await shop.cluster().status().frames
            for (name, rows) in Self.harmful {
                try Self.add(rows, to: server)
                let (node, code) = (a, await Self.code { [a] in try await a.catchUp() })
                #expect(["clusterDamaged", "schemaNewer"].contains(code), "\(name): \(code)")
                #expect(try await ShopCluster.lines(node).count == 3 && node.last().position == Position(3), "\(name)")
                try await shop.close("a")
                try await Self.expectReading(shop, name)
                let joined = await Self.code { try await StoreMaintenance.join(shop.cluster(), as: "b", into: shop.path("b")) }
                #expect(joined == code, "\(name): \(joined)")
                try shop.setBack(to: frames)
                a = try await shop.open("a")
                try await a.catchUp()
            }
            let receipt = try await a.append([ShopCluster.placed("2")])
            #expect(receipt.positions == 4 ... 4)
            #expect(try await a.maintenance.verify(deep: true).ok)
            try await shop.close()
        }
    }

    @Test("frames of rows at random, and rows of a cluster's that are changed at random, end no node")
    func random() async throws {
        var generator = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            var a = try await shop.join("a")
            try await a.append([ShopCluster.placed("1")])
            let asked = try server.connect().run("SELECT bytes FROM evstore_frame WHERE number = 1")
            let first = asked.bytes(0, 0) ?? []
            let head = try #require(ClusterFrame.Head(first))
            let real = Array(first[ClusterFrame.headerBytes...].prefix(head.rowsBytes))
            for round in 0 ..< 60 {
                var rows = real
                for _ in 0 ..< Int.random(in: 1 ... 4, using: &generator) {
                    let place = Int.random(in: 0 ..< rows.count, using: &generator)
                    rows[place] = [0, 1, 127, 128, 255, rows[place] ^ 1].randomElement(using: &generator) ?? 0
                }
                if round % 3 == 0 { rows.removeLast(Int.random(in: 0 ..< rows.count, using: &generator)) }
                let frames = try await shop.cluster().status().frames
                try Self.add(rows, to: server)
                let code = await Self.code { [a] in try await a.catchUp() }
                try await shop.close("a")
                a = try await shop.open("a")
                #expect(try await ShopCluster.lines(a).count == 1 && a.status().versions.head.rawValue > 0, "round \(round): \(code)")
                #expect(try await a.count("orders").rows == 1, "round \(round): \(code)")
                if code != "none" { try shop.setBack(to: frames) }
            }
            #expect(try await a.maintenance.verify(deep: true).ok)
            try await shop.close()
        }
    }

    @Test("a format that the program does not know, of the tables or of a frame, is said, exit 6; the node reads on and writes nothing")
    func newer() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a").append([ShopCluster.placed("1")])
            try await shop.close("a")
            func run(_ sql: String) throws { _ = try server.connect().run(sql) }
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            for (newer, back) in [
                ("UPDATE evstore_log SET format = 99", "UPDATE evstore_log SET format = 1"),
                ("UPDATE evstore_frame SET bytes = set_byte(bytes, 3, 99) WHERE number = (SELECT max(number) FROM evstore_frame)", nil),
            ] as [(String, String?)] {
                let frames = try await shop.cluster().status().frames
                if back == nil { try Self.add(Self.row("types", Array("OrderMade".utf8), Self.bytes(9)), to: server) }
                try run(newer)
                let refused = try program.run(["append", "order-9", "OrderPaid", #"{"id":"9"}"#])
                #expect(refused.exit == 6 && refused.errors.contains("99"), "\(refused.exit) \(refused.errors)")
                for words in [["read", "order-1"], ["query", "orders", "--count"]] {
                    let outcome = try program.run(words)
                    #expect(outcome.exit == 0, "\(words) \(outcome.errors)")
                }
                if let back { try run(back) } else { try shop.setBack(to: frames) }
            }
            try await shop.open("a").append([ShopCluster.placed("2")])
            try await shop.close()
        }
    }
}
