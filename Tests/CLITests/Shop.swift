import Bytes
import EvstoreTesting
import Foundation
import JSONText
import Testing

/// A directory with a schema of three versions, in which the built program is run. Version 2 renames a
/// member; version 3 adds one and makes a number of a text, which not every text is.
final class Shop {
    let directory: URL
    let program: BuiltProgram

    init(environment: [String: String] = [:]) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "evstore-cli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory.appending(path: "schemas"), withIntermediateDirectories: true)
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.appending(path: "store").path].merging(environment) { $1 })
        try write("schemas/v1.yaml", Self.v1)
        try write("schemas/v2.yaml", Self.v2)
        try write("schemas/v3.yaml", Self.v3)
        try write("schemas/projections.yaml", Self.projections)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var store: String { path("store") }
    var schemas: String { path("schemas") }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// Writes a file, and makes the directories that it lies in.
    func write(_ name: String, _ text: String) throws {
        let file = directory.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// What a file of the directory holds so far; nothing where there is none yet.
    func text(_ name: String) throws -> String {
        if !FileManager.default.fileExists(atPath: path(name)) { return "" }
        return try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    }

    /// Runs a command line whose words have no spaces.
    @discardableResult
    func run(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome {
        try program.run(line.split(separator: " ").map { String($0).replacing("SCHEMAS", with: schemas) }, input: input)
    }

    /// Runs a command line that must succeed.
    @discardableResult
    func must(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome {
        let outcome = try run(line, input: input)
        try #require(outcome.exit == 0, "\(line): \(outcome.errors)\(outcome.output)")
        return outcome
    }

    /// A store at v1 with four events: three orders, of which the first is paid.
    static func open() throws -> Shop {
        let shop = try Shop()
        try shop.write("orders.jsonl", orders)
        try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        return shop
    }

    /// The same, migrated to v3.
    static func migrated() throws -> Shop {
        let shop = try open()
        try shop.must("replay --to v3 --schemas SCHEMAS")
        return shop
    }

    /// A line of version 1.
    static func order(_ id: String, total: Int) -> String {
        #"{"stream":"order-\#(id)","type":"OrderPlaced","data":{"id":"\#(id)","customer":"Ada","total":\#(total)}}"# + "\n"
    }

    static let orders = """
        {"stream":"order-1","type":"OrderPlaced","data":{"id":"1","customer":"Ada","total":500}}
        {"stream":"order-2","type":"OrderPlaced","data":{"id":"2","customer":"Bo","total":700,"code":"12"}}
        {"stream":"order-3","type":"OrderPlaced","data":{"id":"3","customer":"Cy","total":900}}
        {"stream":"order-1","type":"OrderPaid","data":{"id":"1"},"id":"paid-1"}

        """

    static let v1 = """
        evstore: 1
        version: 1
        labels: [1.0.0]
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, total]
            properties:
              id: {type: string}
              customer: {type: string}
              total: {type: integer}
              code: {type: string}
          OrderPaid:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

    static let v2 = """
        evstore: 1
        version: 2
        labels: [1.1.0]
        upcast:
          - on: OrderPlaced
            do:
              - move: {from: /total, path: /cents}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, cents]
            properties:
              id: {type: string}
              customer: {type: string}
              cents: {type: integer}
              code: {type: string}
          OrderPaid:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

    static let v3 = """
        evstore: 1
        version: 3
        labels: [1.2.0]
        upcast:
          - on: OrderPlaced
            do:
              - add: {path: /currency, value: USD}
              - convert: {path: /code, to: integer, using: integer-text}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, cents, currency]
            properties:
              id: {type: string}
              customer: {type: string}
              cents: {type: integer}
              currency: {type: string}
              code: {type: integer}
          OrderPaid:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

    static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /amount: /total}}
                OrderPaid: {set: {/paid: {value: true}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /amount: /cents}}
                OrderPaid: {set: {/paid: {value: true}}}
          payments:
            - since: 1
              key: {value: all}
              on:
                OrderPaid: {add: {/count: {value: 1}}}
        """
}

extension BuiltProgram.Outcome {
    /// The first line of the results; an empty object where there is none.
    var line: String { lines.first ?? "{}" }
}

/// The names of a JSON object's members, in their order.
func keys(_ line: String) throws -> [String] {
    guard case .object(let members) = try JSONValue(parsing: Array(line.utf8).lent) else { return [] }
    return members.map(\.name)
}

/// The JSON text of a member of a JSON object, below several names.
func member(_ line: String, _ path: String...) throws -> String? {
    var value: JSONValue? = try JSONValue(parsing: Array(line.utf8).lent)
    for name in path { value = value?[name] }
    return value?.text
}
