import Evstore
import EvstoreTesting

/// Persons whose two names become one in version 2 by code of the application; visits that no step touches.
enum Persons {
    struct Parts: Codable { var first: String, last: String? }

    struct Whole: Codable { var full: String }

    @Sendable static func whole(_ parts: Parts) -> Whole {
        Whole(full: [parts.first, parts.last].compactMap(\.self).joined(separator: " "))
    }

    @Sendable static func parts(_ whole: Whole) throws -> Parts {
        let parts = whole.full.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, !first.isEmpty else { throw StepFailure(at: "/full", expected: "a name", found: "nothing") }
        return Parts(first: first, last: parts.count > 1 ? parts[1] : nil)
    }

    static let step = TypedStep("full-name", revision: 1, up: whole, down: parts)
    static let oneWay = OneWayTypedStep("full-name", revision: 1, up: whole)

    static func schemas(down: String = "inverse") throws -> SchemaFiles {
        let visited = "Visited: {stream: \"person-{/id}\", required: [id], properties: {id: {type: string}}}"
        return try SchemaFiles(
            """
            evstore: 1
            version: 1
            events:
              Named:
                stream: "person-{/id}"
                required: [id, first]
                properties: {id: {type: string}, first: {type: string, minLength: 1}, last: {type: string}}
              \(visited)
            """,
            """
            evstore: 1
            version: 2
            upcast:
              - on: Named
                do:
                  - swift: {id: full-name, revision: 1, class: partial, reads: [/first, /last], writes: [/first, /last, /full], down: \(down)}
            events:
              Named:
                stream: "person-{/id}"
                required: [id, full]
                properties: {id: {type: string}, full: {type: string}}
              \(visited)
            """,
            projections: """
                evstore: 1
                projections:
                  names:
                    - {since: 1, key: /id, on: {Named: {set: {/name: /first}}}}
                    - {since: 2, key: /id, on: {Named: {set: {/name: /full}}}}
                  visits:
                    - {since: 1, key: /id, on: {Visited: {add: {/count: {value: 1}}}}}
                """)
    }

    static let ada = #"{"id":"1","first":"Ada","last":"Lovelace"}"#

    /// A store at v1 with one person and one visit.
    static func store(_ steps: [any SwiftStep] = [step], down: String = "inverse") async throws -> (TemporaryStore, Schemas) {
        let schemas = try schemas(down: down).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), steps: steps)
        _ = try await temporary.store.append([.event("person-1", "Named", ada, at: 1)])
        _ = try await temporary.store.append([.event("person-1", "Visited", #"{"id":"1"}"#, at: 1)])
        return (temporary, schemas)
    }

    static var person: StreamName { get throws { try StreamName("person-1") } }

    /// A person's row of the read model.
    static func name(_ store: EventStore, at version: Int) async throws -> String? {
        var found: String?
        try await store.query("names", at: SchemaVersion(version), key: "1") { row in
            found = row.json
            return true
        }
        return found
    }
}
