import Evstore
import EvstoreTesting
import Testing

@Suite("Forgetting a person")
struct ForgetTests {
    private static func schemas() throws -> Schemas {
        let ordered = "Ordered: {stream: \"order-{/id}\", required: [id, cents], properties: {id: {type: string}, cents: {type: integer}}}"
        func version(_ number: Int, _ name: String, _ upcast: String) -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              Joined:
                stream: "person-{/id}"
                required: [id, \(name)]
                properties:
                  id: {type: string}
                  \(name): {type: string, personal: true}
                  born: {type: [string, "null"], format: date, personal: true}
                  homes: {type: array, items: {type: object, required: [city, kind], properties: {city: {type: string, personal: true}, kind: {type: string}}}}
              \(ordered)
            """
        }
        return try SchemaFiles(
            version(1, "name", ""), version(2, "fullName", "upcast:\n  - {on: Joined, do: [{move: {from: /name, path: /fullName}}]}"),
            projections: """
                evstore: 1
                projections:
                  people:
                    - {since: 1, key: /id, on: {Joined: {set: {/name: /name}}}}
                    - {since: 2, key: /id, on: {Joined: {set: {/name: /fullName}}}}
                  orders:
                    - {since: 1, key: /id, on: {Ordered: {set: {/cents: /cents}}}}
                """
        ).load()
    }

    private func store() async throws -> TemporaryStore {
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let temporary = try await TemporaryStore.make(Self.schemas(), at: SchemaVersion(1), options: options)
        for (id, name) in [("1", "Ada King"), ("2", "Alan")] {
            let payload = #"{"id":"\#(id)","name":"\#(name)","born":"1815-12-10","homes":[{"city":"Ockham","kind":"house"}]}"#
            _ = try await temporary.store.append([.event("person-\(id)", "Joined", payload)])
            _ = try await temporary.store.append([.event("order-\(id)", "Ordered", #"{"id":"\#(id)","cents":5}"#)])
        }
        return temporary
    }

    private func people(_ store: EventStore) async throws -> [String] {
        var rows: [String] = []
        try await store.query("people") { row in
            rows.append(row.json)
            return true
        }
        return rows
    }

    @Test("its data is gone at every version and from read models, forwards and back; everybody else's stays")
    func forgotten() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.replay(to: SchemaVersion(2))
        #expect(try await people(store) == [#"{"name":"Ada King"}"#, #"{"name":"Alan"}"#])
        let report = try await store.forget([StreamName("person-1"), StreamName("order-1"), StreamName("nobody")])
        #expect(
            report.forgotten.map(\.text) == ["person-1"] && report.unknown.map(\.text) == ["order-1", "nobody"] && report.readModels > 0)
        let person = try StreamName("person-1")
        #expect(
            try store.read(person, at: SchemaVersion(2)).map(\.json) == [
                #"{"id":"1","fullName":"","born":null,"homes":[{"city":"","kind":"house"}]}"#
            ])
        #expect(
            try store.read(person, at: SchemaVersion(1)).map(\.json) == [
                #"{"id":"1","name":"","born":null,"homes":[{"city":"","kind":"house"}]}"#
            ])
        #expect(try store.read(StreamName("person-2")).allSatisfy { $0.json.contains("Alan") && $0.json.contains("1815-12-10") })
        #expect(try await people(store) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        _ = try await store.rollback()
        #expect(try await people(store) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        _ = try await store.replay(to: SchemaVersion(2))
        #expect(try await store.verify(deep: true, laws: true, seed: 3).ok)
        #expect(try store.journal().contains { $0.what == "forget" && $0.outcome == "1 forgotten, 0 before" })
        #expect(try await store.forget([person]).before == [person])
    }

    @Test("what is imported can be forgotten too, and a store without keys forgets nothing")
    func imported() async throws {
        let temporary = try await store()
        let line = #"{"stream":"person-3","type":"Joined","data":{"id":"3","name":"Grace"}}"#
        _ = try await temporary.store.importLines(from: .file(temporary.write(line + "\n", to: "lines.jsonl")), as: SchemaVersion(1))
        #expect(try await temporary.store.forget([StreamName("person-3")]).forgotten.count == 1)
        let seen = try temporary.store.read(StreamName("person-3")).map(\.json)
        #expect(seen == [#"{"id":"3","name":""}"#], "\(seen)")
        let plain = try await TemporaryStore.make(Self.schemas(), at: SchemaVersion(1))
        await #expect { try await plain.store.forget([StreamName("person-1")]) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
    }
}
