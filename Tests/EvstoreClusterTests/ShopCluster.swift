import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Platform
import PostgreSQL
import SchemaEvolution
import TestSupport

/// A cluster log of shops on a server of its own, and its nodes, each a store of this process.
final class ShopCluster {
    let server: PostgresServer
    let directory: TemporaryDirectory
    let name: String
    private(set) var nodes: [String: EventStore] = [:]

    static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /total: /total}, add: {/events: {value: 1}}}
                OrderPaid: {set: {/paid: {value: true}}, add: {/events: {value: 1}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /cents: /cents}, add: {/events: {value: 1}}}
                OrderPaid: {set: {/paid: {value: true}}, add: {/events: {value: 1}}}
        """

    init(_ server: PostgresServer, name: String = "shop", at version: Int = 1) async throws {
        (self.server, self.name) = (server, name)
        directory = try TemporaryDirectory()
        for (index, text) in ShopHistory.released.prefix(3).enumerated() { try directory.write(text, to: "schemas/v\(index + 1).yaml") }
        try directory.write(Self.projections, to: "schemas/projections.yaml")
        try await cluster().create(schemas: schemas, version: SchemaVersion(version))
    }

    var schemas: Schemas { get throws { try Schemas.load(directory.path + "/schemas") } }

    /// - Parameter port: of a proxy in front of the server; the server's own where nil.
    func cluster(port: Int? = nil) throws(EvstoreError) -> Cluster { try Cluster(name, connection: conninfo(port)) }

    func conninfo(_ port: Int? = nil) -> String { "host=127.0.0.1 port=\(port ?? server.port) user=postgres dbname=postgres" }

    func path(_ node: String) -> String { directory.path + "/" + node }

    /// Makes a node and opens it.
    @discardableResult
    func join(_ node: String, port: Int? = nil, replacing: Bool = false) async throws -> EventStore {
        try await StoreMaintenance.join(cluster(port: port), as: node, into: path(node), replacing: replacing, options: Self.options())
        return try await open(node)
    }

    /// Opens a node as a program at `version` does.
    @discardableResult
    func open(_ node: String, deadline: Double = Double(Patience.seconds), version: Int? = nil) async throws -> EventStore {
        let store = try await EventStore.open(
            path(node), schemas: schemas, version: version.map { SchemaVersion($0) }, options: Self.options(deadline: deadline))
        nodes[node] = store
        return store
    }

    func close(_ node: String) async throws { try await nodes.removeValue(forKey: node)?.close() }

    func close() async throws { for node in nodes.keys.sorted() { try await close(node) } }

    subscript(node: String) -> EventStore {
        guard let store = nodes[node] else { preconditionFailure("the node \(node) is open") }
        return store
    }

    static func options(deadline: Double = Double(Patience.seconds)) -> Options {
        var options = Options()
        (options.mapBytes, options.ballastBytes, options.appendDeadline) = (1 << 28, 0, .seconds(deadline))
        options.joinsClusters(as: "tests")
        return options
    }

    /// Does, again where it was too late, what a node with a short deadline may have no time for on a busy machine. An append that may be
    /// made twice so has an id.
    @discardableResult
    static func patiently<R>(_ body: () async throws -> R) async throws -> R {
        let end = Instant.now + .patience
        while true {
            do { return try await body() } catch let error as EvstoreError {
                let isLate = ["deadlinePassed", "logUnavailable", "commitOutcomeUnknown"].contains(error.code)
                if !isLate || .now > end { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    static func placed(_ order: String, _ number: Int = 0, id: String? = nil, customer: String = "Ada") throws -> NewEvent {
        NewEvent(
            stream: try StreamName("order-\(order)"), type: "OrderPlaced",
            payload: Array(#"{"id":"\#(order)","customer":"\#(customer)","total":\#(number)}"#.utf8),
            id: try id.map { try EventID($0) }, version: SchemaVersion(1))
    }

    static func placedAtV2(_ order: String) throws -> NewEvent {
        NewEvent(
            stream: try StreamName("order-\(order)"), type: "OrderPlaced",
            payload: Array(#"{"id":"\#(order)","customer":"Ada","cents":1,"currency":"USD"}"#.utf8), version: SchemaVersion(2))
    }

    static func paid(_ order: String) throws -> NewEvent {
        NewEvent(
            stream: try StreamName("order-\(order)"), type: "OrderPaid", payload: Array(#"{"id":"\#(order)"}"#.utf8),
            version: SchemaVersion(1))
    }

    /// The format of rows and blocks in a node's manifest.
    func format(of node: String) throws -> Int? {
        let text = try String(contentsOfFile: path(node) + "/evstore.json", encoding: .utf8)
        return text.firstMatch(of: #/"layout" : (\d+)/#).flatMap { Int($0.1) }
    }

    /// The files of a node's archive, by name.
    func archives(_ node: String) throws -> [String: Data] {
        let directory = path(node) + "/archive"
        if !FileManager.default.fileExists(atPath: directory) { return [:] }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)"))) })
    }

    /// Sets the cluster log back to a frame, as by a failover to a standby that was behind.
    func setBack(to frame: UInt64) throws {
        let connection = try server.connect()
        for statement in [
            """
            UPDATE evstore_log l SET frame = f.number, position = f.last, link = substring(f.bytes FROM 41 FOR 32)
            FROM evstore_frame f WHERE f.number = \(frame)
            """,
            "DELETE FROM evstore_frame WHERE number > \(frame)",
        ] { _ = try connection.run(statement) }
    }

    /// The lines of all events of a node, at their birth versions.
    static func lines(_ store: EventStore) async throws -> [String] {
        var text: [UInt8] = []
        try await store.export { lines in
            text += lines
            return true
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
