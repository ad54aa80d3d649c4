import Evstore
import EvstoreTesting
import Foundation
import SchemaEvolution
import Synchronization
import TestSupport
import Testing

/// Queries by tags beside a naive look at every event, which makes tags of payloads in its own way.
@Suite("Queries by tags", .timeLimit(.minutes(20)))
struct TagQueryTests {
    @Test(
        "give what a look at each event gives, at each version, before and after a flip, a rollback and a cut",
        arguments: [false, true])
    func naive(isSealed: Bool) async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< rounds(6) {
            var world = try await TagWorld(&random, isSealed: isSealed)
            for act in TagWorld.Act.story(&random) {
                try await world.run(act, &random)
                for _ in 0 ..< 6 { try await world.compare(&random, "seed \(seed), after \(act)") }
            }
            #expect(try await world.isSound(), "seed \(seed)")
        }
    }

    @Test("a tag that a later version adds is there for old events, gone after a rollback, and back with the same digest")
    func forgottenTag() async throws {
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {Enrolled: {required: [course, student], properties: {course: {type: string}, student: {type: string}}, tags: [\"course:{/course}\"]}}",
            """
            evstore: 1
            version: 2
            events: {Enrolled: {required: [course, student], properties: {course: {type: string}, student: {type: string}},
              tags: ["course:{/course}", "student:{/student}"]}}
            """)
        let temporary = try await TemporaryStore.make(try files.load(), at: 1)
        let store = temporary.store
        for student in ["s1", "s2", "s1"] {
            _ = try await store.append([try .event("e", "Enrolled", #"{"course":"c","student":"\#(student)"}"#, at: 1)])
        }
        #expect(try await store.read(matching: .tags("student:s1")).events.isEmpty)
        _ = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
        #expect(try await store.read(matching: .tags("student:s1")).events.map(\.position) == [1, 3])
        let digest = try #require(try store.projections(at: 2).first?.digest)
        _ = try await store.rollback()
        #expect(try await store.read(matching: .tags("student:s1")).events.isEmpty)
        #expect(try await store.read(matching: .tags("course:c")).events.count == 3)
        _ = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
        #expect(try await store.read(matching: .tags("student:s1")).events.map(\.position) == [1, 3])
        #expect(try store.projections(at: 2).first?.digest == digest)
    }

    @Test("an event without an image at the version ends a query that it may match, and no other")
    func noImage() async throws {
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {A: {required: [a, n], properties: {a: {type: string}, n: {type: string}}}, B: {required: [b], properties: {b: {type: string}}}}",
            """
            evstore: 1
            version: 2
            upcast: [{on: A, do: [{convert: {path: /n, to: string, using: {table: {map: {"1": one}}}}}]}]
            events:
              A: {required: [a, n], properties: {a: {type: string}, n: {type: string, enum: [one]}}, tags: ["a:{/a}"]}
              B: {required: [b], properties: {b: {type: string}}, tags: ["b:{/b}"]}
            """)
        let temporary = try await TemporaryStore.make(try files.load(), at: 1)
        let store = temporary.store
        for (type, payload) in [("A", #"{"a":"x","n":"1"}"#), ("B", #"{"b":"x"}"#), ("A", #"{"a":"y","n":"2"}"#), ("B", #"{"b":"x"}"#)] {
            _ = try await store.append([try .event("s", type, payload, at: 1)])
        }
        _ = try await store.migrate(
            to: 2, options: MigrationOptions(onError: .quarantine, yes: true))
        await #expect { try await store.read(matching: .tags("a:x")) } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        #expect(try await store.read(matching: .tags("a:x"), limit: 1).events.map(\.position) == [1])
        #expect(try await store.read(matching: [.init(types: ["B"], tags: ["b:x"])]).events.map(\.position) == [2, 4])
        await #expect(throws: EvstoreError.self) { try await store.maintenance.acceptQuarantined(2, reason: "it can be seen") }
        _ = try await store.maintenance.acceptQuarantined(3, reason: "a test")
        let found = try await store.read(matching: .tags("a:x"))
        #expect(found.events.map(\.position) == [1] && found.leftOut == 1)
        #expect(try await store.read(matching: .tags("b:x")).events.map(\.position) == [2, 4])
        #expect(try store.acceptedEvents(at: 2).map(\.because) == ["a test"])
        #expect(throws: EvstoreError.self) { try store.readAll(at: 2) { _ in true } }
    }

    @Test("a consumer takes the events that match its query, and a new query holds for what comes behind its place")
    func consumer() async throws {
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {A: {required: [a], properties: {a: {type: string}}, tags: [\"a:{/a}\"]}}")
        let temporary = try await TemporaryStore.make(try files.load())
        let store = temporary.store
        let seen = Collected()
        var once = ConsumerOptions()
        once.endsAtLogEnd = true
        for query in [EventQuery.tags("a:x"), .tags("a:y")] {
            for word in ["x", "y"] { _ = try await store.append([try .event("s", "A", #"{"a":"\#(word)"}"#, at: 1)]) }
            try await store.consume("c", matching: query, options: once) { event, _ in seen.add(event.position.rawValue) }
            #expect(try store.consumers().first?.query == query)
        }
        #expect(seen.all == [1, 4])
    }

    @Test("a subscription that follows the live version goes by the tags of the one that a flip makes live")
    func flip() async throws {
        func file(_ version: Int, _ member: String) -> String {
            let shape = "required: [a, b], properties: {a: {type: string}, b: {type: string}}"
            return "evstore: 1\nversion: \(version)\nevents: {A: {\(shape), tags: [\"k:{/\(member)}\"]}}"
        }
        var options = Options.forTests
        options.pageEventsMax = 1
        let temporary = try await TemporaryStore.make(try SchemaFiles(file(1, "a"), file(2, "b")).load(), at: 1, options: options)
        let store = temporary.store
        for (a, b) in [("x", "y"), ("y", "x"), ("x", "y"), ("y", "x")] {
            _ = try await store.append([try .event("s", "A", #"{"a":"\#(a)","b":"\#(b)"}"#, at: 1)])
        }
        var events = store.subscribe(matching: .tags("k:x")).makeAsyncIterator()
        #expect(try await events.next()?.position == 1)
        _ = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
        #expect(try await events.next()?.position == 2)
        #expect(try await events.next()?.position == 4)
    }

    @Test("where rows of the index are damaged, the events are looked at, and nothing is missed")
    func damaged() async throws {
        let file = "evstore: 1\nversion: 1\nevents: {A: {required: [a], properties: {a: {type: string}}, tags: [\"a:{/a}\"]}}"
        let temporary = try await TemporaryStore.make(try SchemaFiles(file).load())
        let store = temporary.store
        for number in 0 ..< 600 { _ = try await store.append([try .event("s", "A", #"{"a":"\#(number % 3)"}"#, at: 1)]) }
        let wanted = try await store.read(matching: .tags("a:1")).events
        #expect(wanted.count == 200)
        let generation = try #require(
            try FileManager.default.contentsOfDirectory(atPath: store.path + "/generations").first { !$0.hasPrefix(".") })
        let path = store.path + "/generations/\(generation)/data.mdb"
        var bytes = try Data(contentsOf: URL(filePath: path))
        // Rows lie behind the two meta pages; LMDB's own words at the beginning of a page stay.
        for page in 2 ..< bytes.count / 4_096 { for offset in 2_048 ..< 4_096 { bytes[page * 4_096 + offset] ^= 0x55 } }
        let file2 = try FileHandle(forWritingTo: URL(filePath: path))
        try file2.write(contentsOf: bytes)
        try file2.close()
        #expect(try await store.read(matching: .tags("a:1")).events == wanted)
        #expect(try await store.read(matching: .tags("a:1"), backwards: true).events == wanted.reversed())
    }

    @Test("canonically equivalent tags are two, in files, queries and consumers")
    func bytes() throws {
        let (one, other) = ("\u{e9}", "e\u{301}")
        #expect(EventQuery.tags(one) != .tags(other))
        let file = "evstore: 1\nversion: 1\nevents: {A: {properties: {}, tags: [\"\(one)\", \"\(other)\"]}}"
        _ = try SchemaFiles(file, "evstore: 1\nversion: 2\nevents: {A: {properties: {}, tags: [\"\(one)\"]}}").load()
    }

    @Test("nobody waits for a tag that no event of the version can have", arguments: ["b:x", "a", "a:", "xa:x", "l-1", "l-1-x"])
    func impossible(tag: String) async throws {
        let shape = "properties: {a: {type: string}, n: {type: integer}}, tags: [\"a:{/a}\", \"l-{/n}-e\"]"
        let temporary = try await TemporaryStore.make(
            try SchemaFiles("evstore: 1\nversion: 1\nevents: {A: {\(shape)}}").load())
        let isPossible = tag == "a:"
        var once = ConsumerOptions()
        once.endsAtLogEnd = true
        do {
            try await temporary.store.consume("c", matching: .tags(tag), options: once) { _, _ in }
            #expect(isPossible)
        } catch { #expect(!isPossible && error.code == "usage") }
        #expect(try await temporary.store.read(matching: .tags(tag)).events.isEmpty)
    }

    @Test(
        "a tag of what is personal, in its version or through a step, is a warning, and a sealed store does not take it",
        arguments: [1, 2])
    func personal(tagged: Int) async throws {
        let tags = { $0 == tagged ? #", tags: ["mail:{/\#($0 == 1 ? "mail" : "address")}"]"# : "" }
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {A: {required: [mail], properties: {mail: {type: string, personal: true}}\(tags(1))}}",
            """
            evstore: 1
            version: 2
            upcast: [{on: A, do: [{move: {from: /mail, path: /address}}]}]
            events: {A: {required: [address], properties: {address: {type: string}}\(tags(2))}}
            """)
        let schemas = try files.load()
        let found = schemas.history.check().filter { $0.id == "PERS404" }
        #expect(found.count == 1 && found[0].severity == .warning && found[0].file?.hasSuffix("v\(tagged).yaml") == true, "\(found)")
        var options = Options.forTests
        _ = try await TemporaryStore.make(schemas, options: options)
        options.secret = .key([UInt8](repeating: 7, count: 32))
        await #expect { try await TemporaryStore.make(schemas, options: options) } throws: {
            ($0 as? EvstoreError)?.code == "schemaInvalid"
        }
    }

    @Test(
        "a query that says nothing is refused",
        arguments: [EventQuery([]), [.init()], [.init(tags: [""])], [.init(tags: (0 ... 32).map { "t\($0)" })], .type("Nothing")])
    func refused(query: EventQuery) async throws {
        let files = try SchemaFiles("evstore: 1\nversion: 1\nevents: {A: {properties: {}}}")
        let store = try await TemporaryStore.make(try files.load())
        await #expect(throws: EvstoreError.self) { try await store.store.read(matching: query) }
        #expect(throws: EvstoreError.self) { try store.store.readAll(matching: query) { _ in true } }
    }
}

private final class Collected: Sendable {
    private let positions = Mutex<[UInt64]>([])

    func add(_ position: UInt64) { positions.withLock { $0.append(position) } }
    var all: [UInt64] { positions.withLock(\.self) }
}
