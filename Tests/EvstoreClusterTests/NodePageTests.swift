#if Service
    import EventModel
    import Evstore
    import EvstoreCluster
    import EvstoreTesting
    import EvstoreWeb
    import Foundation
    import TestSupport
    import Testing

    @Suite("A node on the page and for who asks whether it is ready", .serialized)
    struct NodePageTests {
        private func shown(_ store: EventStore) async -> (status: Int, text: String) {
            let answer = await Page(store).answer(PageRequest(path: "/cluster"))
            return (answer.status, String(decoding: answer.body, as: UTF8.self))
        }

        @Test("the page shows this node, the others and who is behind; without PostgreSQL this one and why, and nothing of a password")
        func place() async throws {
            try await withPostgres(.init(fsync: false)) { server in
                let shop = try await ShopCluster(server)
                for node in ["a", "b"] { try await shop.join(node) }
                try await shop["a"].append([ShopCluster.placed("1")])
                for node in ["a", "b"] { try await shop[node].catchUp() }
                let (status, text) = await shown(shop["a"])
                #expect(status == 200 && text.contains("<bdi>a</bdi> <small>this one</small>") && text.contains("<bdi>b</bdi>"), "\(text)")
                #expect(text.contains("0 events, 0 frames") && text.contains("href=\"/cluster\" aria-current"))
                server.stop()
                let without = await shown(shop["a"])
                #expect(without.status == 200 && without.text.contains("The others can't be asked for"), "\(without.text)")
                try server.start()
                try await shop.close()
            }
        }

        @Test("a store that is alone has no such place")
        func alone() async throws {
            let schemas = try SchemaFiles(versions: ["evstore: 1\nversion: 1\nevents: {A: {stream: a, properties: {id: {type: string}}}}"])
                .load()
            let temporary = try await TemporaryStore.make(schemas)
            let (status, text) = await shown(temporary.store)
            #expect(status == 404 && !text.contains("href=\"/cluster\""))
        }

        @Test("serve says that a node which was taken out is not ready")
        func readiness() async throws {
            try await withPostgres(.init(fsync: false)) { server in
                let shop = try await ShopCluster(server)
                for node in ["a", "gone"] { try await shop.join(node) }
                try await shop["a"].append([ShopCluster.placed("1")])
                for node in ["a", "gone"] { try await shop[node].catchUp() }
                try await shop["a"].migrate(to: SchemaVersion(2))
                try await shop["a"].finalize(SchemaVersion(2), withoutNodes: ["gone"])
                try await shop.close()
                for (node, word, code) in [("a", "ready at v2", "200"), ("gone", "taken out", "503")] {
                    // One that was just opened builds its read models, or finds out that it is out, within some seconds.
                    let script = """
                        "$0" --store "$1" serve --listen "unix:$1.sock" & trap 'kill $!; wait' EXIT
                        for n in $(seq \(Patience.seconds * 5)); do
                          found=$(curl -sS --unix-socket "$1.sock" -w '%{http_code}' http://localhost/readyz 2>&1)
                          case "$found" in *"$2"*) break ;; esac; sleep 0.2
                        done; echo "found=$found"
                        """
                    let outcome = try BuiltProgram(path: "/bin/bash").run(["-c", script, BuiltProgram().path, shop.path(node), word])
                    #expect(outcome.output.contains(word) && outcome.output.contains(code), "\(node): \(outcome)")
                }
            }
        }
    }
#endif
