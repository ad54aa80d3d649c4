import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The guide to several machines", .serialized)
struct ClusterGuideTests {
    @Test("works word for word on a server of PostgreSQL where nothing is yet: roles, databases, rights, nodes, pruning")
    func follow() throws {
        try withPostgres(.init(fsync: false)) { server in
            let directory = try TemporaryDirectory()
            let orders = #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1","customer":"Ada","total":1}}"#
            try directory.write(ShopHistory.released[0], to: "Schemas/orders/v1.yaml")
            try directory.write(String(repeating: orders + "\n", count: 3), to: "orders.jsonl")
            let program = BuiltProgram()
            let shell = BuiltProgram(
                path: "/bin/sh",
                environment: [
                    "PATH": URL(filePath: program.path).deletingLastPathComponent().path + ":/usr/lib/postgresql/15/bin:/usr/bin:/bin",
                    "PGHOST": server.directory, "PGPORT": "\(server.port)", "PGUSER": "postgres",
                    "EVSTORE_LOG": "host=\(server.directory) port=\(server.port) dbname=orders user=orders",
                ])
            let blocks = try DocPage("SeveralMachines").blocks.filter { $0.kind == "sh" && !$0.text.hasPrefix("# Not run by the tests") }
            #expect(blocks.count >= 5)
            for block in blocks {
                let outcome = try shell.run(["-ec", "cd \(directory.path)\n" + block.text])
                #expect(outcome.exit == 0, "SeveralMachines.md:\(block.line): \(outcome.errors)\(outcome.output)")
            }
            // The last role has what it needs, and no more.
            let own = "host=\(server.directory) port=\(server.port) dbname=orders user=nodes"
            let status = try BuiltProgram(environment: ["EVSTORE_LOG": own]).must(["--json", "cluster", "status", "--name", "orders"])
            #expect(status.output.contains(#""position":3"#) && status.output.contains(#""node":"b""#), "\(status.output)")
        }
    }
}
