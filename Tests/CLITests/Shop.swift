import Bytes
import EvstoreTesting
import Foundation
import JSONText
import TestSupport

/// A directory with the shop's first three versions, in which the built program is run.
struct Shop {
    let directory: TemporaryDirectory
    let program: BuiltProgram

    init(environment: [String: String] = [:]) throws {
        directory = try TemporaryDirectory()
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store].merging(environment) { $1 })
        for (index, version) in ShopHistory.versions.prefix(3).enumerated() { try write("schemas/v\(index + 1).yaml", version) }
        try write("schemas/projections.yaml", Self.projections)
    }

    var store: String { directory.store }
    var schemas: String { path("schemas") }

    func path(_ name: String) -> String { directory.path + "/" + name }

    func write(_ name: String, _ text: String) throws { try directory.write(text, to: name) }

    /// What a file of the directory holds so far; nothing where there is none yet.
    func text(_ name: String) throws -> String { FileManager.default.fileExists(atPath: path(name)) ? try directory.text(name) : "" }

    private func words(_ line: String) -> [String] {
        line.split(separator: " ").map { String($0).replacing("SCHEMAS", with: schemas) }
    }

    /// Runs a command line whose words have no spaces.
    @discardableResult
    func run(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome { try program.run(words(line), input: input) }

    /// Runs a command line that must succeed.
    @discardableResult
    func must(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome { try program.must(words(line), input: input) }

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

    static let projections = projections(through: 3)

    static func projections(through version: Int) -> String {
        ShopHistory.projections(through: version) + """
              payments:
                - since: 1
                  key: {value: all}
                  on:
                    OrderPaid: {add: {/count: {value: 1}}}
            """
    }
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
