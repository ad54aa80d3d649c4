import EvstoreTesting
import Foundation
import Platform
import TestSupport
import Testing

@Suite("A command on a node that nobody has open", .serialized)
struct ShortCommandsTests {
    /// A cluster of two nodes on a server: `a` has appended to it since `b` was last open.
    private struct Shop {
        let directory: TemporaryDirectory
        let program: BuiltProgram

        init(_ server: PostgresServer) throws {
            directory = try TemporaryDirectory()
            program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            for (index, text) in ShopHistory.released.prefix(2).enumerated() { try directory.write(text, to: "schemas/v\(index + 1).yaml") }
            try directory.write(ShopCluster.projections, to: "schemas/projections.yaml")
            try program.must("cluster", "create", "--name", "shop", "--schemas", directory.path + "/schemas", "--at", "v1")
            for node in ["a", "b"] { try must(node, "join --name shop --node \(node)") }
            for number in 1 ... 5 {
                try program.must(at("a", ["append", "order-\(number)", "OrderPlaced", #"{"id":"\#(number)","customer":"A","total":1}"#]))
            }
        }

        func at(_ node: String, _ words: [String]) -> [String] { ["--store", "\(directory.path)/\(node)"] + words }

        func run(_ node: String, _ words: String) throws -> BuiltProgram.Outcome {
            try program.run(at(node, words.replacing("DIR", with: directory.path).split(separator: " ").map(String.init)))
        }

        @discardableResult
        func must(_ node: String, _ words: String) throws -> BuiltProgram.Outcome {
            try program.must(at(node, words.replacing("DIR", with: directory.path).split(separator: " ").map(String.init)))
        }
    }

    @Test("sees all that was acknowledged anywhere before it, whichever command it is")
    func caughtUp() throws {
        try withPostgres(.init(fsync: false)) { server in
            let shop = try Shop(server)
            let commands: [(String, String)] = [
                ("status", "at position 5"), ("read order-5 --json", "order-5"), ("export", "order-5"), ("query orders --json", #""5""#),
                ("journal --json", ""), ("snapshot take s --json", #""position":5"#), ("backup DIR/copies --json", #""position":5"#),
                ("verify --json", #""ok":true"#), ("consume mailer --once --json -- true", #""handled":5"#),
                ("consumers list --json", #""position":5"#),
            ]
            for (number, (words, said)) in commands.enumerated() {
                // Each on a node that has nothing yet.
                let node = number == 9 ? "n8" : "n\(number)"
                if number < 9 {
                    try FileManager.default.copyItem(atPath: shop.directory.path + "/b", toPath: "\(shop.directory.path)/\(node)")
                }
                let outcome = try shop.run(node, words)
                #expect(
                    outcome.exit == 0 && (said.isEmpty || outcome.output.contains(said)),
                    "\(words): \(outcome.exit) \(outcome.output)\(outcome.errors)")
                #expect(!outcome.errors.contains("behind"), "\(words): \(outcome.errors)")
            }
        }
    }

    @Test("knows the versions that another node has registered")
    func versions() throws {
        try withPostgres(.init(fsync: false)) { server in
            let shop = try Shop(server)
            try shop.must("a", "--schemas DIR/schemas replay --to v2")
            let plan = try shop.run("b", "plan --to v2")
            #expect(plan.exit == 0, "\(plan.exit) \(plan.errors)")
            try shop.must("b", "replay --to v2")
            #expect(try shop.must("b", "query orders --json").output.contains("cents"))
        }
    }

    @Test("says how old what it shows is where PostgreSQL is away, within seconds; shows it as it is where it is told to")
    func stale() throws {
        try withPostgres(.init(fsync: false)) { server in
            let shop = try Shop(server)
            let fresh = try shop.run("b", "--stale export")
            #expect(fresh.exit == 0 && fresh.output.isEmpty && fresh.errors.isEmpty, "\(fresh)")
            try shop.must("b", "export")
            server.stop(.immediate)
            for words in ["export", "status", "consume mailer --once -- true"] {
                let took = try shortest(.seconds(15)) {
                    let began = Instant.now
                    let outcome = try shop.run("b", words)
                    #expect(
                        outcome.errors.contains("position 5") && outcome.errors.contains("ago"),
                        "\(words): \(outcome.exit) \(outcome.errors)")
                    return began.duration(to: .now)
                }
                #expect(took < .seconds(15), "\(words)")
            }
            let told = try shop.run("b", "--stale export")
            #expect(told.lines.count == 5 && told.errors.isEmpty, "\(told)")
        }
    }
}
