import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("What a server lets a node do, and how much it is asked", .serialized)
struct ServerAccessTests {
    private static func run(_ server: PostgresServer, _ sql: String, database: String = "postgres") throws {
        let connection = try PostgresConnection(
            server.socketConninfo + " dbname=\(database)", deadline: .now + .patience, application: "tests")
        _ = try connection.run(sql)
    }

    @Test("a role that may not make tables is told what to run, word for word; one that may use them alone joins and appends")
    func rights() throws {
        try withPostgres(.init(fsync: false)) { server in
            for role in ["maker", "\"a user\""] { try Self.run(server, "CREATE ROLE \(role) LOGIN") }
            try Self.run(server, "CREATE DATABASE orders")
            let directory = try TemporaryDirectory()
            try directory.write(ShopHistory.released[0], to: "schemas/v1.yaml")
            func program(_ role: String) -> BuiltProgram {
                BuiltProgram(environment: ["EVSTORE_LOG": "host=\(server.directory) port=\(server.port) dbname=orders user='\(role)'"])
            }
            let create = ["cluster", "create", "--name", "shop", "--schemas", directory.path + "/schemas"]
            let refused = try program("maker").run(create)
            #expect(refused.exit == 3 && refused.errors.contains("maker") && refused.errors.contains("orders"), "\(refused.errors)")
            let grants = refused.errors.matches(of: #/GRANT .*? TO maker/#).map { String($0.0) }
            try #require(grants.count == 2, "\(refused.errors)")
            try Self.run(server, grants[0], database: "orders")
            try program("maker").must(create)
            let stranger = program("a user")
            let store = ["--store", directory.store, "join", "--name", "shop", "--node", "a"]
            let second = try stranger.run(store)
            let grant = try #require(second.errors.firstMatch(of: #/GRANT SELECT.*? TO "a user"/#), "\(second.errors)")
            try Self.run(server, String(grant.0), database: "orders")
            try stranger.must(store)
            try stranger.must(["--store", directory.store, "append", "order-1", "OrderPlaced", #"{"id":"1","customer":"Ada","total":1}"#])
            // The tables are there: another cluster log needs no more than their use.
            try stranger.must(["cluster", "create", "--name", "second", "--schemas", directory.path + "/schemas"])
        }
    }

    @Test("an idle node asks less than ten times a second, and still sees what another appends within half a second or so")
    func idle() async throws {
        let settings = ["log_statement": "all", "log_duration": "off"]
        try await withPostgres(.init(fsync: false, settings: settings)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await shop.close("a")
            try await b.catchUp()
            // On a busy machine it may be idle later, and three seconds of sleep may be more.
            var perSecond = 0.0
            for _ in 0 ..< 10 where perSecond == 0 || perSecond > 5 {
                try await Task.sleep(for: .seconds(7))
                let (before, began) = (try Self.asked(server), Instant.now)
                try await Task.sleep(for: .seconds(3))
                perSecond = Double(try Self.asked(server) - before) / (began.duration(to: .now) / .seconds(1))
            }
            #expect(perSecond > 0 && perSecond <= 5, "\(perSecond) statements a second")
            _ = a
            let writer = try await shop.open("a")
            var took = Duration.patience
            for attempt in 0 ..< 10 where took >= .seconds(2) {
                // Idle again.
                if attempt > 0 { try await Task.sleep(for: .seconds(7)) }
                let last = try await writer.append([ShopCluster.placed("\(attempt)")]).positions.upperBound
                let start = Instant.now
                while try b.last().position < Position(last), start.duration(to: .now) < .patience {
                    try await Task.sleep(for: .milliseconds(10))
                }
                took = start.duration(to: .now)
            }
            #expect(took < .seconds(2), "\(took)")
            try await shop.close()
        }
    }

    private static func asked(_ server: PostgresServer) throws -> Int {
        try server.log.split(separator: "\n").count { $0.contains("LOG:  execute") || $0.contains("LOG:  statement") }
    }
}
