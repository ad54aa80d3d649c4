import Evstore
import EvstoreTesting
import Testing

private let lacking = EvstoreError.programNeeded(what: "the step full-name (revision 1) of v2")

@Suite("Steps in Swift")
struct StepTests {
    @Test("a typed step takes events up and down: reads, read models, the gate, and a rollback that keeps what was born above")
    func endToEnd() async throws {
        let (temporary, _) = try await Persons.store()
        let store = temporary.store
        let report = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        #expect(report.rebuilt.contains("names"))
        #expect(try store.read(Persons.person).first?.json == #"{"id":"1","full":"Ada Lovelace"}"#)
        #expect(try await Persons.name(store, at: 2) == #"{"name":"Ada Lovelace"}"#)
        _ = try await store.append([.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)])
        #expect(try store.read(Persons.person, at: SchemaVersion(1)).last?.json == #"{"id":"1","first":"Ada","last":"King"}"#)
        await #expect {
            try await store.append([.event("person-1", "Named", #"{"id":"1","full":""}"#, at: 2)])
        } throws: { error in
            guard case .noImage(let failure)? = error as? EvstoreError else { return false }
            return failure.pointer == "/full" && failure.target == SchemaVersion(1) && failure.op == "swift (op 1)"
        }
        let verified = try await store.maintenance.verify(laws: true, seed: 7)
        #expect(verified.ok, "\(verified.findings.map(\.diagnosticLine))")
        _ = try await store.rollback(to: SchemaVersion(1))
        #expect(try store.versions.live == SchemaVersion(1))
        #expect(try await Persons.name(store, at: 1) == #"{"name":"Ada"}"#)
        #expect(try store.read(Persons.person).count == 3)
    }

    @Test("a program without the step serves what does not need it, and is told which it lacks for the rest")
    func without() async throws {
        let (temporary, schemas) = try await Persons.store()
        _ = try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        let bare = try await temporary.open(schemas: schemas)
        #expect(throws: lacking) { try bare.read(Persons.person) }
        #expect(try bare.read(Persons.person, at: SchemaVersion(1)).count == 2)
        var visits = 0
        try bare.readAll(at: SchemaVersion(2), matching: .type("Visited")) { _ in
            visits += 1
            return true
        }
        #expect(visits == 1)
        await #expect(throws: lacking) { try await bare.append([.event("person-1", "Named", Persons.ada, at: 1)]) }
        await #expect(throws: lacking) { try await bare.append([.event("person-1", "Named", #"{"id":"1","full":"A"}"#, at: 2)]) }
        #expect(try bare.last().position == Position(2))
        _ = try await bare.append([.event("person-1", "Visited", #"{"id":"1"}"#, at: 2)])
        await #expect(throws: lacking) { try await bare.maintenance.verify(laws: true) }
        #expect(try await bare.maintenance.verify().ok)
        #expect(try bare.versions.live == SchemaVersion(2))
        _ = try await bare.rollback(to: SchemaVersion(1))
        #expect(try bare.versions.live == SchemaVersion(1))
        #expect(try await Persons.name(bare, at: 1) == #"{"name":"Ada"}"#)
    }

    @Test("a rollback that would take an event down through a step that is missing changes nothing")
    func tail() async throws {
        let (temporary, schemas) = try await Persons.store()
        _ = try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        _ = try await temporary.store.append([.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)])
        let bare = try await temporary.open(schemas: schemas)
        await #expect(throws: lacking) { try await bare.rollback(to: SchemaVersion(1)) }
        #expect(try bare.versions.live == SchemaVersion(2))
        #expect(try await Persons.name(temporary.store, at: 2) == #"{"name":"Ada King"}"#)
    }

    @Test("a replay without the step is refused before anything changes; the plan names what it needs")
    func replayWithout() async throws {
        let (temporary, schemas) = try await Persons.store([])
        let store = try await temporary.open(schemas: schemas)
        await #expect(throws: lacking) { try await store.migrate(to: SchemaVersion(2)) }
        await #expect(throws: lacking) { try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(dryRun: true)) }
        #expect(try store.versions == StoreVersions(floor: 1, live: 1, top: 1, head: 1))
        let plan = try await store.plan(to: SchemaVersion(2))
        #expect(plan.needs == ["the step full-name (revision 1) of v2"] && plan.rebuild.contains("names"))
        // What it would read is told all the same.
        #expect(try plan.events == store.last().position.rawValue)
        #expect(plan.types.first { $0.type == "Named" }?.changes == "swift full-name")
        let able = try await temporary.open(schemas: schemas, steps: [Persons.step])
        #expect(try await able.plan(to: SchemaVersion(2)).needs == [])
    }

    @Test(
        "what a program without the step can't append once the version is live is planned, and asks for consent",
        arguments: ["inverse", "shadow"])
    func consent(down: String) async throws {
        let (temporary, schemas) = try await Persons.store(down: down)
        let store = temporary.store
        let plan = try await store.plan(to: SchemaVersion(2))
        #expect(plan.appendsRefused.map(\.step) == ["the step full-name (revision 1) of v2"])
        #expect(plan.appendsRefused.map(\.types) == [["Named"]])
        await #expect {
            try await store.migrate(to: SchemaVersion(2))
        } throws: { error in
            guard let error = error as? EvstoreError else { return false }
            return error.code == "consentNeeded"
                && error.message.contains("without the step full-name (revision 1) of v2 can't append Named")
        }
        #expect(try store.versions == StoreVersions(floor: 1, live: 1, top: 1, head: 1))
        for (policy, code) in [
            (Policy.migrate(), "consentNeeded"), (.migrate(when: .lossless), "policyRefused"), (.migrate(yes: true), nil),
        ] {
            do throws(EvstoreError) {
                let opened = try await temporary.open(version: SchemaVersion(2), policy: policy, schemas: schemas, steps: [Persons.step])
                let live = try opened.versions.live
                #expect(code == nil && live == SchemaVersion(2))
            } catch { #expect(error.code == code) }
        }
        let bare = try await temporary.open(schemas: schemas)
        await #expect(throws: lacking) { try await bare.append([.event("person-1", "Named", Persons.ada, at: 1)]) }
        _ = try await bare.append([.event("person-1", "Visited", #"{"id":"1"}"#, at: 1)])
        _ = try await store.rollback(to: SchemaVersion(1))
        _ = try await bare.append([.event("person-1", "Named", Persons.ada, at: 1)])
    }

    @Test("a one-way step asks for consent, and the window stays closed to what is born above it until finalize")
    func oneWay() async throws {
        let (temporary, _) = try await Persons.store([Persons.oneWay], down: "one-way")
        let store = temporary.store
        #expect(try await store.plan(to: SchemaVersion(2)).oneWay == ["v2"])
        await #expect { try await store.migrate(to: SchemaVersion(2)) } throws: { ($0 as? EvstoreError)?.code == "consentNeeded" }
        #expect(try store.versions.live == SchemaVersion(1))
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        #expect(try await Persons.name(store, at: 2) == #"{"name":"Ada Lovelace"}"#)
        let born = try NewEvent.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)
        await #expect { try await store.append([born]) } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        _ = try await store.finalize(SchemaVersion(2))
        _ = try await store.append([born])
        #expect(try await Persons.name(store, at: 2) == #"{"name":"Ada King"}"#)
    }

    @Test("a step that the file has otherwise, or that is registered twice, is refused when the store is made or opened")
    func refused() async throws {
        let schemas = try Persons.schemas().load()
        await #expect { try await TemporaryStore.make(schemas, steps: [Persons.oneWay]) } throws: { error in
            (error as? EvstoreError)?.message.contains("OPS304") == true
        }
        await #expect(throws: EvstoreError.misuse("the step full-name is registered twice")) {
            try await TemporaryStore.make(schemas, steps: [Persons.step, Persons.step])
        }
    }
}
