import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A join into a store that is there", .serialized)
struct JoinsIntoStoresTests {
    @Test("ends with an error and leaves the store as it was, whatever store it is", .timeLimit(.minutes(10)))
    func refused() throws {
        try withPostgres(.init(fsync: false)) { server in
            let directory = try TemporaryDirectory()
            try directory.write(ShopHistory.released[0], to: "schemas/v1.yaml")
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            let schemas = directory.path + "/schemas"
            func at(_ store: String, _ words: String) -> [String] {
                ["--store", "\(directory.path)/\(store)"] + words.split(separator: " ").map(String.init)
            }
            func placed(_ order: String) -> [String] {
                ["append", "order-\(order)", "OrderPlaced", #"{"id":"\#(order)","customer":"A","total":1}"#]
            }
            for log in ["shop", "other"] { try program.must("cluster", "create", "--name", log, "--schemas", schemas) }
            for (node, log) in [("a", "shop"), ("b", "shop"), ("gone", "shop"), ("elsewhere", "other")] {
                try program.must(at(node, "join --name \(log) --node \(node)") as [String])
            }
            try program.must(at("plain", "init --schemas \(schemas)") as [String])
            for store in ["a", "plain", "gone", "elsewhere"] { try program.must(at(store, "") + placed(store)) }
            // Another store takes the place of this one, which does not know it yet.
            try program.must(at("new", "join --name shop --node gone --replace") as [String])
            for (store, node) in [
                ("a", "a"), ("a", "b"), ("a", "c"), ("plain", "a"), ("plain", "c"), ("gone", "gone"), ("gone", "c"), ("elsewhere", "c"),
            ] {
                for replace in [[], ["--replace"]] {
                    let outcome = try program.run(at(store, "join --name shop --node \(node)") + replace)
                    #expect(
                        outcome.exit == 2 && outcome.errors.contains("already something"),
                        "\(store) as \(node) \(replace): \(outcome.exit) \(outcome.errors)")
                    let lines = try program.must(at(store, "--stale export") as [String]).lines
                    #expect(lines.contains { $0.contains("order-\(store)") }, "\(store) as \(node) \(replace): \(lines)")
                }
            }
        }
    }
}
