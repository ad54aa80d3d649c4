package import Evstore
package import EvstoreTesting

/// Persons with names that can be forgotten, and their orders, in a store whose events are sealed.
package enum SealedPersons {
    package static let versions = [
        version(1, "name"), version(2, "fullName", "upcast:\n  - {on: Joined, do: [{move: {from: /name, path: /fullName}}]}"),
    ]

    private static func version(_ number: Int, _ name: String, _ upcast: String = "") -> String {
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
          Ordered: {stream: "order-{/id}", required: [id, cents], properties: {id: {type: string}, cents: {type: integer}}}
        """
    }

    private static let projections = """
        evstore: 1
        projections:
          people:
            - {since: 1, key: /id, on: {Joined: {set: {/name: /name}}}}
            - {since: 2, key: /id, on: {Joined: {set: {/name: /fullName}}}}
          orders:
            - {since: 1, key: /id, on: {Ordered: {set: {/cents: /cents}}}}
        """

    package static func schemas() throws -> Schemas { try SchemaFiles(versions: versions, projections: projections).load() }

    package static func store() async throws -> TemporaryStore {
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let temporary = try await TemporaryStore.make(schemas(), at: SchemaVersion(1), options: options)
        for (id, name) in [("1", "Ada King"), ("2", "Alan")] {
            let payload = #"{"id":"\#(id)","name":"\#(name)","born":"1815-12-10","homes":[{"city":"Ockham","kind":"house"}]}"#
            _ = try await temporary.store.append([.event("person-\(id)", "Joined", payload)])
            _ = try await temporary.store.append([.event("order-\(id)", "Ordered", #"{"id":"\#(id)","cents":5}"#)])
        }
        return temporary
    }

    /// The names that the read model of persons shows.
    package static func people(_ store: EventStore) async throws -> [String] {
        var rows: [String] = []
        try await store.query("people") { row in
            rows.append(row.json)
            return true
        }
        return rows
    }
}
