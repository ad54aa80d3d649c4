import Evstore
import EvstoreTesting
import Testing

/// A replay that is refused: events of version 1, the step to version 2 and its read models.
struct RefusedReplay: CustomTestStringConvertible, Sendable {
    var what: String
    var code: String
    /// Members of `E` besides its id, before and after.
    var before = "n: {type: string}"
    var ops = "convert: {path: /n, to: integer, using: integer-text}"
    var after = "n: {type: integer}"
    var projections: String
    var payloads: [String]

    var testDescription: String { what }

    private static func read(_ name: String, _ key: String, _ type: String, _ folds: String, _ more: String = "") -> String {
        "  \(name): [{since: 1, key: \(key), on: {\(type): \(folds)}\(more)}]"
    }

    static let all = [
        RefusedReplay(
            what: "an event that a read model consumes, which is not the first to be rebuilt, has no image", code: "buildStopped",
            projections: read("a", "/id", "F", "{add: {/n: {value: 1}}}") + "\n" + read("b", "/id", "E", "{set: {/n: /n}}"),
            payloads: [#"{"id":"1","n":"1"}"#, #"{"id":"2","n":"x"}"#]),
        RefusedReplay(
            what: "an event that no read model consumes has no image", code: "noImage",
            projections: read("a", "/id", "F", "{add: {/n: {value: 1}}}"), payloads: [#"{"id":"2","n":"x"}"#]),
        RefusedReplay(
            what: "an event can't be folded", code: "buildStopped",
            projections: read("b", "{value: all}", "E", "{include: {/n: /id}}") + "\n" + read("c", "/k", "E", "{set: {/n: /n}}"),
            payloads: [#"{"id":"1","n":"1","k":"a"}"#, #"{"id":"2","n":"2","k":""}"#]),
        RefusedReplay(
            what: "a row does not keep its shape", code: "invalidRow",
            projections: read(
                "b", "/id", "E", "{set: {/n: /n}}", ", row: {required: [n], properties: {n: {type: integer, maximum: 10}}}"),
            payloads: [#"{"id":"1","n":"11"}"#]),
        RefusedReplay(
            what: "something is lost that no step declares", code: "consentNeeded", before: "n: {type: integer}",
            ops: "convert: {path: /n, to: integer, using: {scale: {den: 10, round: down}}}",
            projections: read("b", "/id", "E", "{set: {/n: /n}}"), payloads: [#"{"id":"1","n":15}"#]),
        RefusedReplay(
            what: "an event without an image, and behind it something that is lost", code: "buildStopped",
            before: "n: {type: [string, \"null\"]}, m: {type: integer}",
            ops: "convert: {path: /n, to: integer, using: integer-text}}, "
                + "{convert: {path: /m, to: integer, using: {scale: {den: 2, round: down}}}",
            after: "n: {type: [integer, \"null\"]}, m: {type: integer}", projections: read("b", "/id", "E", "{set: {/n: /n}}"),
            payloads: [#"{"id":"1","m":1}"#, #"{"id":"2","n":"x"}"#]),
    ]
}

@Suite("What plan says of a replay that is refused")
struct PlannedRefusalTests {
    private func schemas(_ one: RefusedReplay) throws -> Schemas {
        func version(_ number: Int, _ members: String, _ upcast: String = "") -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              E: {required: [id], properties: {id: {type: string}, k: {type: string}, \(members)}}
              F: {required: [id], properties: {id: {type: string}}}
            """
        }
        return try SchemaFiles(
            version(1, one.before), version(2, one.after, "upcast: [{on: E, do: [{\(one.ops)}]}]"),
            projections: "evstore: 1\nprojections:\n\(one.projections)\n"
        ).load()
    }

    @Test("the first refusal is the replay's error", arguments: RefusedReplay.all)
    func same(one: RefusedReplay) async throws {
        let temporary = try await TemporaryStore.make(schemas(one), at: SchemaVersion(1), options: .forTests)
        let store = temporary.store
        for payload in one.payloads { _ = try await store.append([.event("e-1", "E", payload, at: 1)]) }
        let planned = try #require(try await store.plan(to: SchemaVersion(2)).refused.first)
        #expect(planned.code == one.code)
        for dryRun in [true, false] {
            await #expect { _ = try await store.migrate(to: SchemaVersion(2), options: .init(dryRun: dryRun)) } throws: {
                let error = $0 as? EvstoreError
                return error == planned.error
            }
        }
    }

    @Test("so is that of a read model in Swift that the program lacks")
    func asked() async throws {
        let schemas = try schemas(RefusedReplay.all[0])
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), projections: [Counted()], options: .forTests)
        _ = try await temporary.store.append([.event("e-1", "E", #"{"id":"1","n":"1"}"#, at: 1)])
        let without = try await temporary.open(schemas: schemas)
        let planned = try #require(try await without.plan(to: SchemaVersion(2)).refused.first)
        #expect(planned.code == "programNeeded")
        await #expect { _ = try await without.migrate(to: SchemaVersion(2)) } throws: { $0 as? EvstoreError == planned.error }
    }

    @Test("so it is where the version renames what the lacking one consumes; who has its older code alone is told what to add")
    func renamed() async throws {
        func version(_ number: Int, _ type: String, _ member: String, _ upcast: String = "") -> String {
            "evstore: 1\nversion: \(number)\n\(upcast)events: {\(type): {required: [\(member)], properties: {\(member): {type: string}}}}\n"
        }
        let upcast = "upcast: [{on: E, do: [{move: {from: /a, path: /b}}]}, {rename-event: {from: E, to: G}}]\n"
        let schemas = try SchemaFiles(version(1, "E", "a"), version(2, "G", "b", upcast)).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), projections: [Counted()])
        _ = try await temporary.store.append([.event("e-1", "E", #"{"a":"1"}"#, at: 1)])
        let without = try await temporary.open(schemas: schemas)
        let planned = try #require(try await without.plan(to: SchemaVersion(2)).refused.first)
        #expect(planned.code == "programNeeded" && planned.message.contains("counted"), "\(planned.message)")
        let older = try await temporary.open(schemas: schemas, projections: [Counted()])
        await #expect { _ = try await older.plan(to: SchemaVersion(2)) } throws: { ($0 as? EvstoreError)?.code == "schemaInvalid" }
        await #expect { _ = try await without.migrate(to: SchemaVersion(2)) } throws: { $0 as? EvstoreError == planned.error }
        let both = try await temporary.open(schemas: schemas, projections: [Counted(), Counted(since: SchemaVersion(2), consumes: ["G"])])
        _ = try await both.migrate(to: SchemaVersion(2))
        #expect(try await both.count("counted").rows == 1)
    }
}

private struct Counted: SwiftProjection {
    struct Row: Codable { var count: Int }
    let name = "counted"
    var since = SchemaVersion(1)
    let revision = 1
    var consumes: Set<String> = ["E"]

    func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws { row = Row(count: (row?.count ?? 0) + 1) }
}
