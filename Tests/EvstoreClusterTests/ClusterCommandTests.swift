import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The commands of cluster logs", .serialized)
struct ClusterCommandTests {
    /// The members of the commands' objects, as the page tells them.
    private static func told() throws -> [String: [String]] {
        var told: [String: [String]] = [:]
        for row in try DocPage("SeveralMachines").rows(below: "What the commands print") where row[0].hasPrefix("`") {
            told[row[0].filter { $0 != "`" }] = row[1].replacing(#/\(.*\)/#, with: "").matches(of: #/`(\w+)`/#).map { String($0.1) }
        }
        return told
    }

    private static func keys(_ line: String) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return Set(try #require(object).keys)
    }

    @Test("each prints the members that the page tells, from a first node to the last one that leaves")
    func members() throws {
        let told = try Self.told()
        try withPostgres(.init(fsync: false)) { server in
            let directory = try TemporaryDirectory()
            for (index, text) in ShopHistory.released.prefix(2).enumerated() { try directory.write(text, to: "schemas/v\(index + 1).yaml") }
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            func run(_ words: String) throws -> String {
                let arguments = words.replacing("DIR", with: directory.path).split(separator: " ").map(String.init)
                let outcome = try program.must(["--json"] + arguments)
                return try #require(outcome.lines.last)
            }
            let lines = [
                ("cluster create", "cluster create --name shop --schemas DIR/schemas --at v1"),
                ("join", "--store DIR/a join --name shop --node a"), ("cluster status", "cluster status --name shop"),
                ("cluster catch-up", "--store DIR/a cluster catch-up"),
                ("cluster check", "--store DIR/a cluster check"), ("cluster accept-server", "--store DIR/a cluster accept-server"),
                ("cluster rescue", "--store DIR/a cluster rescue --into DIR/rescued.jsonl"),
                ("cluster prune", "--store DIR/a cluster prune DIR/backups"), ("cluster leave", "--store DIR/a cluster leave"),
                ("cluster copy", "--store DIR/a cluster copy --name second --node first"),
            ]
            #expect(Set(told.keys) == Set(lines.map(\.0)))
            for (command, words) in lines { #expect(try Self.keys(run(words)) == Set(told[command] ?? []), "\(command)") }
            let status = try run("--store DIR/a status")
            #expect(status.contains(#""cluster":{"log":"second","node":"first","frames":1}"#), "\(status)")
        }
    }

    @Test("a note names commands, and no calls of the library")
    func notes() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            let frames = try await shop.cluster().status().frames
            try await a.append([ShopCluster.placed("1")])
            try await shop.close()
            try shop.setBack(to: frames)
            let read = try BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")]).run("read")
            #expect(read.errors.contains("evstore cluster rescue") && !read.errors.contains("maintenance."), "\(read.errors)")
        }
    }

    @Test("a store from the backup of a node begins a cluster log of its own, without the nodes of the other one")
    func copied() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, _) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            try await shop.close()
            let (copies, restored) = (shop.path("copies"), shop.path("restored"))
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            try program.must("--store", shop.path("a"), "backup", copies)
            try program.must("restore", copies, "--into", restored)
            try program.must("--store", restored, "cluster", "copy", "--name", "second", "--node", "first")
            try program.must("--store", restored, "replay", "--to", "v2", "--schemas", shop.directory.path + "/schemas", "--yes")
            try program.must("--store", restored, "finalize", "v2")
            try Data(repeating: 7, count: 32).write(to: URL(filePath: shop.path("key")))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: shop.path("key"))
            let sealed = try program.run("--store", shop.path("x"), "--key-file", shop.path("key"), "join", "--name", "shop", "--node", "x")
            #expect(sealed.exit == 2 && sealed.errors.contains("a node can't be sealed"), "\(sealed.errors)")
        }
    }

    @Test("a version that is live on another node can't be redefined, and a watch shows what others append")
    func others() throws {
        try withPostgres(.init(fsync: false)) { server in
            let directory = try TemporaryDirectory()
            let v1 = "evstore: 1\nversion: 1\nevents: {Put: {stream: \"s\", required: [n], properties: {n: {type: integer}}}}\n"
            for (name, member) in [("x", "cents"), ("y", "pence")] {
                let v2 = v1.replacing("version: 1", with: "version: 2\nupcast: [{on: Put, do: [{move: {from: /n, path: /\(member)}}]}]")
                    .replacing("[n]", with: "[\(member)]").replacing("{n: ", with: "{\(member): ")
                try directory.write(v1, to: "\(name)/v1.yaml")
                try directory.write(v2, to: "\(name)/v2.yaml")
            }
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            let (a, b) = (directory.path + "/a", directory.path + "/b")
            try program.must("cluster", "create", "--name", "l", "--schemas", directory.path + "/x", "--at", "v1")
            for node in ["a", "b"] { try program.must("--store", "\(directory.path)/\(node)", "join", "--name", "l", "--node", node) }
            try program.must("--store", a, "replay", "--to", "v2", "--schemas", directory.path + "/x")
            let refused = try program.run("--store", b, "replay", "--to", "v2", "--schemas", directory.path + "/y")
            #expect(refused.exit == 3 && refused.errors.contains("is not what the store has registered"), "\(refused.errors)")
            let (seen, told) = (directory.path + "/seen", directory.path + "/told")
            func wait(for condition: String) -> String {
                "for i in $(seq \(Patience.seconds * 10)); do \(condition) && break; sleep 0.1; done"
            }
            let watch = "timeout \(Patience.seconds * 3) \(program.path) --store \(b) watch >\(seen) 2>\(told)"
            let watching = "\(watch) & \(wait(for: "grep -q watching \(told)"))"
            let appending = "\(program.path) --store \(a) append s Put '{\"cents\":7}' >/dev/null"
            let waiting = "\(wait(for: "test -s \(seen)")); kill $!; cat \(seen) \(told)"
            let shown = try BuiltProgram(path: "/bin/sh", environment: program.environment)
                .run("-c", "\(watching); \(appending); \(waiting)")
            #expect(shown.output.contains(#""n":7"#), "\(shown.output) \(shown.errors)")
        }
    }

    @Test("a rescue that fails leaves no file that could be taken for whole, and one that is there stays as it is")
    func failedRescue() throws {
        let directory = try TemporaryDirectory()
        try directory.write(ShopHistory.released[0], to: "schemas/v1.yaml")
        let program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
        try program.must("init", "--schemas", directory.path + "/schemas")
        let before = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        let outcome = try program.run("cluster", "rescue", "--into", directory.path + "/rescued.jsonl")
        #expect(outcome.exit == 2 && outcome.errors.contains("belongs to no cluster log"), "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == before)
        try directory.write("other", to: "rescued.jsonl")
        let again = try program.run("cluster", "rescue", "--into", directory.path + "/rescued.jsonl")
        #expect(again.exit == 2 && again.errors.contains("is there already"), "\(again.errors)")
        #expect(try directory.text("rescued.jsonl") == "other")
    }

    @Test("they go over TLS where the connection string asks for it, and refuse a server that is not the one it names")
    func tls() throws {
        try withPostgres(.init(fsync: false, hasTLS: true)) { server in
            let directory = try TemporaryDirectory()
            try directory.write(ShopHistory.released[0], to: "schemas/v1.yaml")
            let checked = server.conninfo + " sslmode=verify-full sslrootcert="
            let program = BuiltProgram(environment: ["EVSTORE_LOG": checked + server.certificate, "EVSTORE_STORE": directory.store])
            try program.must("cluster", "create", "--name", "shop", "--schemas", directory.path + "/schemas")
            try program.must("join", "--name", "shop", "--node", "a")
            try program.must("append", "order-1", "OrderPlaced", #"{"id":"1","customer":"Ada","total":1}"#)
            try directory.write("none", to: "other.crt")
            // The store's own file says how it is reached where the variable does not.
            let wrong = BuiltProgram(environment: [
                "EVSTORE_LOG": checked + directory.path + "/other.crt", "EVSTORE_STORE": directory.store,
            ])
            let refused = try wrong.run("cluster", "catch-up")
            #expect(refused.exit != 0 && refused.errors.contains("other.crt"), "\(refused.exit) \(refused.errors)")
            let plain = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
            #expect(try plain.must("cluster", "catch-up").exit == 0)
        }
    }

    @Test("what is asked wrongly is told by what to do instead, with the exit codes of the page of errors")
    func wrong() throws {
        try withPostgres(.init(fsync: false)) { server in
            let directory = try TemporaryDirectory()
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo, "EVSTORE_STORE": directory.store])
            for (words, exit, said) in [
                ("cluster status --name shop", 3, "no cluster log"), ("cluster create --name shop", 2, "--schemas"),
                ("join --name shop", 2, "--node"), ("cluster status --name a/b", 2, "no name of a cluster log"),
                ("cluster status --name shop --log password=x", 2, "PGPASSFILE"),
                ("cluster status --name shop --log nonsense", 2, "can't be read"), ("cluster leave", 2, "no store"),
            ] as [(String, Int32, String)] {
                let outcome = try program.run(words.split(separator: " ").map(String.init))
                #expect(outcome.exit == exit && outcome.errors.contains(said), "\(words): \(outcome.exit) \(outcome.errors)")
            }
        }
    }
}
