import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// Swift of pages that are no guides, as it stands there.
@Suite("Swift in the pages")
struct PageSwiftTests {
    @Test("what the page on backups says of damage holds: nothing of a sound store is lost")
    func salvage() async throws {
        let orders = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        try await orders.store.close()
        let directory = try TemporaryDirectory()
        let (path, salvagedPath) = (orders.path, directory.path + "/salvaged")

        let report = try await StoreMaintenance.salvage(path, into: salvagedPath)
        for gap in report.gaps { print("lost: \(gap)") }

        #expect(report.gaps.isEmpty && report.events == 1)
    }

    @Test("what the page on blocking says of long work holds")
    func blocking() async throws {
        let orders = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        let (store, version) = (orders.store, SchemaVersion(1))

        let sums = Task(priority: .utility) { try await store.maintenance.checkConversion(at: version) }

        #expect(try await sums.value.failures.isEmpty)
    }

    @Test("what the page on consistency says of expectations holds: it is made once")
    func consistency() async throws {
        let orders = try await Orders.store(at: 1)
        let (store, placed) = (orders.store, try Orders.placed("1", at: 1))

        let receipt = try await store.append(placed, expecting: .noStream)

        #expect(receipt.positions.count == 1)
        await #expect { try await store.append(try Orders.placed("1", at: 1), expecting: .noStream) } throws: {
            ($0 as? EvstoreError)?.code == "expectationFailed"
        }
    }

    @Test("what the page of tags shows finds events, and those that come later")
    func tags() async throws {
        let shape = "required: [c, s], properties: {c: {type: string}, s: {type: string}}, tags: [\"course:{/c}\", \"student:{/s}\"]"
        let temporary = try await TemporaryStore.make(
            try SchemaFiles("evstore: 1\nversion: 1\nevents: {StudentEnrolled: {\(shape)}}").load())
        let store = temporary.store
        func enrol(_ course: String, _ student: String) async throws {
            let event = try NewEvent.event("e", "StudentEnrolled", #"{"c":"\#(course)","s":"\#(student)"}"#, at: 1)
            _ = try await store.append([event])
        }
        for (course, student) in [("c1", "s1"), ("c2", "s2"), ("c2", "s7")] { try await enrol(course, student) }

        let query: EventQuery = [.init(types: ["StudentEnrolled"], tags: ["course:c1"]), .init(tags: ["student:s7"])]
        let found = try await store.read(matching: query)
        let later = store.subscribe(after: found.checkpoint, matching: query)

        #expect(found.events.map(\.position) == [1, 3])
        try await enrol("c1", "s9")
        var next = later.makeAsyncIterator()
        #expect(try await next.next()?.position == 4)
    }

    @Test("what the page of options shows opens a store")
    func options() async throws {
        let orders = try await Orders.store(at: 2, events: [try Orders.placed("1", at: 1)])
        let path = orders.path

        var options = Options()
        options.appendDeadline = .seconds(5)
        options.followsInBackground = true
        let store = try await EventStore.open(path, version: SchemaVersion(2), options: options)

        #expect(try store.last().position == Position(1))
        try await store.close()
    }

    @Test("what the page of keys shows opens a sealed store")
    func keys() async throws {
        let directory = try TemporaryDirectory()
        let (path, keyFile) = (directory.path + "/store", try directory.write(String(repeating: "4d", count: 32) + "\n", to: "key"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile)
        var sealed = Options.forTests
        sealed.secret = .key([UInt8](repeating: 0x4d, count: 32))
        try await EventStore.create(path, schemas: Orders.schemas(1), version: SchemaVersion(1), options: sealed).close()

        var options = Options()
        options.secret = try .key(file: keyFile)  // or .passphrase(file:), or StoreSecret.credential()
        let store = try await EventStore.open(path, options: options)

        #expect(try store.versions.live == SchemaVersion(1))
        try await store.close()
    }

    @Test("the page on steps in Swift shows a step that takes a name up and down")
    func typedStep() async throws {
        struct Parts: Codable { var first: String, last: String? }
        struct Whole: Codable { var full: String }

        let step = TypedStep("full-name", revision: 1) { (parts: Parts) in
            Whole(full: [parts.first, parts.last].compactMap(\.self).joined(separator: " "))
        } down: { (whole: Whole) in
            let parts = whole.full.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let first = parts.first, !first.isEmpty else { throw StepFailure(at: "/full", expected: "a name", found: "nothing") }
            return Parts(first: first, last: parts.count > 1 ? parts[1] : nil)
        }

        let shown = try #require(try DocPage("SwiftSteps").blocks("yaml").first).lines.joined(separator: "\n")
        let (id, optional) = ("{type: string}", "first: {type: string}, last: {type: string}")
        let schemas = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {Named: {required: [id, first], properties: {id: \(id), \(optional)}}}\n",
            "evstore: 1\nversion: 2\n\(shown)\nevents: {Named: {required: [id, full], properties: {id: \(id), full: \(id)}}}\n"
        ).load()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        try await EventStore.create(
            path, schemas: schemas, version: SchemaVersion(2), steps: [step], options: .forTests
        ).close()
        let store = try await EventStore.open(path, schemas: schemas, steps: [step])
        let person = try StreamName("person-1")
        _ = try await store.append([.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)])
        #expect(try store.read(person).map(\.json) == [#"{"id":"1","full":"Ada King"}"#])
        try await store.close()
        #expect(try schemas.verifyFixtures(steps: [step]) == [])
    }

    struct Units: ReversibleSwiftStep {
        let id = "units"
        let revision = 1

        func up(_ members: inout StepMembers) throws { try members.write("/units", (members.read("/total", as: Int.self) ?? 0) / 100) }
        func down(_ members: inout StepMembers) throws { try members.write("/total", (members.read("/units", as: Int.self) ?? 0) * 100) }
    }

    @Test("the page on steps in Swift shows a step that works member by member")
    func members() async throws {
        func events(_ member: String) -> String { "events: {Paid: {required: [\(member)], properties: {\(member): {type: integer}}}}\n" }
        let step = "swift: {id: units, revision: 1, class: widen, reads: [/total], writes: [/total, /units]}"
        let schemas = try SchemaFiles(
            "evstore: 1\nversion: 1\n" + events("total"),
            "evstore: 1\nversion: 2\nupcast: [{on: Paid, do: [{\(step)}]}]\n" + events("units")
        ).load()
        let made = try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1), steps: [Units()])
        _ = try await made.store.append([.event("order-1", "Paid", #"{"total":1200}"#, at: 1)])
        #expect(try made.store.read(try StreamName("order-1")).map(\.json) == [#"{"units":12}"#])
    }

    struct Greeting: Codable, Equatable { var words: String }

    struct NamedByParts: Event {
        static let type = "Named"
        static let version = SchemaVersion(1)
        var id, first: String
    }

    struct NamedAsWhole: Event {
        static let type = "Named"
        static let version = SchemaVersion(2)
        var id, full: String
    }

    @Test("the page on projections in Swift shows how one crosses versions; a program with the newer one alone is told which it lacks")
    func crossing() async throws {
        let before = try TypedProjection("greetings", since: SchemaVersion(1), revision: 1, row: Greeting.self) {
            RowHandler(NamedByParts.self, key: \.id) { row, named, _ in row = Greeting(words: "Hello \(named.first)") }
        }
        let after = try TypedProjection("greetings", since: SchemaVersion(2), revision: 1, row: Greeting.self) {
            RowHandler(NamedAsWhole.self, key: \.id) { row, named, _ in row = Greeting(words: "Hello \(named.full)") }
        }
        let projections: [any SwiftProjection] = [before, after]

        let schemas = try Persons.schemas().load()
        let made = try await TemporaryStore.make(schemas, at: SchemaVersion(1), steps: [Persons.step], projections: projections)
        let store = made.store
        _ = try await store.append([.event("person-1", "Named", Persons.ada, at: 1)])
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        #expect(try await store.query("greetings", as: Greeting.self, key: "1") == Greeting(words: "Hello Ada Lovelace"))

        let newer = try await made.open(schemas: schemas, steps: [Persons.step], projections: [after])
        let plan = try await newer.planRollback()
        #expect(plan.rollback.without == ["greetings"] && plan.refused.map(\.code) == ["programNeeded"])
        #expect(plan.refused.first?.message.contains("the projection greetings (since: 1) of v1") == true)
        #expect(try await newer.planRollback(without: ["greetings"]).refused.isEmpty)
        try await newer.close()

        _ = try await store.rollback()
        #expect(try await store.query("greetings", as: Greeting.self, key: "1") == Greeting(words: "Hello Ada"))
    }
}
