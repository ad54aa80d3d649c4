import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Hashing
import PostgreSQL
import TestSupport
import Testing

@Suite("Nodes that are killed", .serialized)
struct KilledNodesTests {
    /// Each process has so many writers.
    private static let writers = 4
    private static let nodes = ["a", "b", "c"]
    /// The processes, and the nodes whose stores they have open: two share one.
    private static let processes = ["a": "a", "b": "b", "c": "c", "d": "a"]
    private static let names = processes.keys.sorted()

    /// How many events each writer appends: by hand 10,050, which makes 160,800 of all.
    private static var events: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_EVENTS"].flatMap(Int.init) ?? 120 }

    @Test(
        "processes and backends of PostgreSQL are killed at random while three nodes append, one by two processes: nothing acknowledged is lost, nothing is there twice"
    )
    func killed() async throws {
        let seed = ProcessInfo.processInfo.environment["EVSTORE_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            for node in Self.nodes { try await shop.join(node) }
            try await shop.close()
            var acknowledged: [String: String] = [:]
            var left = Set(Self.names)
            var kills = (nodes: 0, backends: 0)
            var running: [String: Running] = [:]
            // The last append that a writer has had an answer to is made again.
            var next = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, [Int](repeating: 0, count: Self.writers)) })
            func start(_ name: String) throws {
                let from = next[name, default: []].map(String.init)
                let store = shop.path(Self.processes[name, default: ""])
                running[name] = try BuiltProgram("StoreWorker").start(["node", store, name, "\(Self.events)"] + from)
            }
            func collect(_ name: String) throws {
                guard let outcome = try running.removeValue(forKey: name)?.wait() else { return }
                for line in outcome.lines where line.hasPrefix("ack ") {
                    let words = line.split(separator: " ").map(String.init)
                    // The last line may have been cut by a kill.
                    guard words.count == 3, words[2].allSatisfy(\.isNumber) else { continue }
                    #expect(
                        acknowledged[words[1]] == nil || acknowledged[words[1]] == words[2], "\(line) and \(acknowledged[words[1]] ?? "")")
                    acknowledged[words[1]] = words[2]
                    let (writer, number) = try Self.place(of: words[1])
                    next[name]?[writer] = number
                }
                if outcome.lines.last == "done" {
                    left.remove(name)
                } else if outcome.signal == nil {
                    Issue.record("\(name): \(outcome.errors)")
                }
            }
            for name in Self.names { try start(name) }
            while !left.isEmpty {
                try await Task.sleep(for: .milliseconds(Int.random(in: 20 ... 300, using: &chance)))
                if Bool.random(using: &chance), let name = left.sorted().randomElement(using: &chance), let process = running[name] {
                    process.send(signal: SIGKILL)
                    kills.nodes += 1
                } else if let backend = try Self.backend(server, &chance) {
                    server.send(SIGTERM, toBackend: backend)
                    kills.backends += 1
                }
                for name in Self.names where running[name]?.isRunning == false {
                    try collect(name)
                    if left.contains(name) { try start(name) }
                }
            }
            for name in Self.names { try collect(name) }
            try await expectWhole(shop, acknowledged, "seed \(seed), \(kills.nodes) processes and \(kills.backends) backends killed")
        }
    }

    private func expectWhole(_ shop: ShopCluster, _ acknowledged: [String: String], _ note: Comment) async throws {
        let total = Self.processes.count * Self.writers * Self.events
        var links: Set<String> = []
        for node in Self.nodes {
            let store = try await shop.open(node)
            try await store.catchUp()
            #expect(try store.last().position == Position(UInt64(total)), note)
            links.insert(try store.log.read { try $0.lastLink.hex })
            #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, note)
        }
        #expect(links.count == 1, note)
        let lines = try await ShopCluster.lines(shop["a"])
        var found: [String: String] = [:]
        var revisions: [Substring: Int] = [:]
        for (index, line) in lines.enumerated() {
            let id = try #require(line.firstMatch(of: #/"id":"([a-d]-\d+-\d+)"/#)).1
            #expect(found.updateValue("\(index + 1)", forKey: String(id)) == nil, "\(id) is there twice; \(note)")
            let stream = try #require(line.firstMatch(of: #/"stream":"([^"]+)"/#)).1
            #expect(line.contains("\"revision\":\(revisions[stream, default: 0]),"), "\(line); \(note)")
            revisions[stream, default: 0] += 1
        }
        #expect(found == acknowledged, note)
        print("killed nodes: \(total) events, \(note)")
        try await shop.close()
    }

    /// Which writer has appended an id, and as its how manieth.
    private static func place(of id: String) throws -> (writer: Int, number: Int) {
        let parts = id.split(separator: "-").compactMap { Int($0) }
        try #require(parts.count == 2)
        return (parts[0], parts[1])
    }

    /// The process of a connection of one of the nodes.
    private static func backend(_ server: PostgresServer, _ chance: inout SeededGenerator) throws -> Int64? {
        let rows = try server.connect().run(
            "SELECT pid::bigint FROM pg_stat_activity WHERE application_name LIKE 'evstore %'")
        return rows.count == 0 ? nil : rows.int(Int.random(in: 0 ..< rows.count, using: &chance), 0)
    }
}
