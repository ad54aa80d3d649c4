import EventLog
import Evstore
import EvstoreTesting
import Foundation
import Sealing
import Synchronization
import TestSupport
import Testing

@Suite("Forgetting a person")
struct ForgetTests {
    private func store() async throws -> TemporaryStore { try await SealedPersons.store() }

    @Test("its data is gone at every version and from read models, forwards and back; everybody else's stays")
    func forgotten() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(2))
        #expect(try await SealedPersons.people(store) == [#"{"name":"Ada King"}"#, #"{"name":"Alan"}"#])
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
        #expect(try await SealedPersons.people(store) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        _ = try await store.rollback()
        #expect(try await SealedPersons.people(store) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        _ = try await store.migrate(to: SchemaVersion(2))
        #expect(try await store.maintenance.verify(deep: true, laws: true, seed: 3).ok)
        #expect(try store.maintenance.journal().contains { $0.kind == .forget && $0.outcome == "1 forgotten, 0 before" })
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
        let plain = try await TemporaryStore.make(SealedPersons.schemas(), at: SchemaVersion(1))
        await #expect { try await plain.store.forget([StreamName("person-1")]) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
    }

    @Test("a consumer hands over nothing that was forgotten after it has read the page, and each event once", arguments: [1, 3])
    func consumed(concurrency: Int) async throws {
        let temporary = try await store()
        let store = temporary.store
        let lines = (0 ..< 60).map { #"{"stream":"person-\#($0 % 4 + 3)","type":"Joined","data":{"id":"\#($0 % 4 + 3)","name":"Grace"}}"# }
        _ = try await store.importLines(
            from: .file(temporary.write(lines.joined(separator: "\n") + "\n", to: "l.jsonl")), as: SchemaVersion(1))
        let last = try store.last().position.rawValue
        let seen = Mutex<[UInt64: [String]]>([:])
        var options = ConsumerOptions()
        (options.endsAtLogEnd, options.concurrency) = (true, concurrency)
        try await store.consume("mailer", options: options) { event, _ in
            let count = seen.withLock { seen in
                seen[event.position.rawValue, default: []].append(event.json)
                return seen.count
            }
            if concurrency > 1 { try await Task.sleep(for: .milliseconds(1)) }
            if count == 20 { _ = try await store.forget((3 ... 6).map { try StreamName("person-\($0)") }) }
        }
        let handed = seen.withLock(\.self)
        #expect(handed.keys.sorted() == Array(1 ... last) && handed.values.allSatisfy { $0.count == 1 })
        #expect(handed.values.contains { $0[0].contains("Grace") })
        if concurrency > 1 { return }
        #expect(handed.filter { $0.key > 20 && $0.value[0].contains("Grace") }.isEmpty, "\(handed)")
    }

    @Test("where only the simplest value has an image at the newer version, and a person has just that, it stays")
    func simplest() async throws {
        let shape = "stream: \"person-{/id}\", required: [id, smoker], properties: {id: {type: string}, smoker: {type: "
        let schemas = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {Asked: {\(shape)[boolean, \"null\"], personal: true}}}}",
            "evstore: 1\nversion: 2\nevents: {Asked: {\(shape)boolean, personal: true}}}}"
        ).load()
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let asked = try NewEvent.event("person-1", "Asked", #"{"id":"1","smoker":false}"#, at: 1)
        let temporary = try await TemporaryStore.make(schemas, from: SchemaVersion(1), events: [asked], options: options)
        _ = try await temporary.store.forget([StreamName("person-1")])
        #expect(try temporary.store.read(StreamName("person-1"), at: SchemaVersion(2)).map(\.json) == [#"{"id":"1","smoker":false}"#])
    }

    @Test("a call whose task is cancelled has forgotten the whole of it or nothing: events, read models and the journal say so alike")
    func cancelled() async throws {
        let person = try StreamName("person-1")
        for microseconds in [0, 0, 200, 500, 1_000, 2_000, 4_000, 8_000, 20_000] {
            let temporary = try await store()
            let store = temporary.store
            _ = try await store.migrate(to: 2)
            let work = Task { try await store.forget([person]) }
            try await Task.sleep(for: .microseconds(microseconds))
            work.cancel()
            var isDone = true
            do { _ = try await work.value } catch EvstoreError.interrupted { isDone = false }
            #expect(try store.read(person, at: 1).contains { $0.json.contains("Ada") } != isDone, "\(microseconds) µs")
            #expect(try store.maintenance.journal().contains { $0.kind == .forget } == isDone, "\(microseconds) µs")
            #expect(try await SealedPersons.people(store).contains { $0.contains("Ada") } != isDone, "\(microseconds) µs")
        }
    }

    @Test("an append said again after its stream was forgotten is told by what stays of it, at every version")
    func repeated() async throws {
        let temporary = try await store()
        let store = temporary.store
        func joined(_ name: String, kind: String = "house", at version: Int = 1) throws -> NewEvent {
            let payload =
                #"{"id":"9","\#(version == 1 ? "name" : "fullName")":"\#(name)","born":"1900-01-01","homes":[{"city":"x","kind":"\#(kind)"}]}"#
            return try .event("person-9", "Joined", payload, at: version, id: "nine")
        }
        let first = try await store.append([joined("Grace")])
        let other = try await store.append([.event("person-9", "Joined", #"{"id":"9","name":"Grace Hopper"}"#, id: "ten")])
        _ = try await store.migrate(to: SchemaVersion(2))
        _ = try await store.forget([StreamName("person-9")])
        for (version, name) in [(1, "Grace"), (2, "Grace"), (1, "Another")] as [(Int, String)] {
            let again = try await store.append([joined(name, at: version)])
            #expect(again.duplicate && again.positions == first.positions, "\(name) at \(version)")
        }
        await #expect { _ = try await store.append([joined("Grace", kind: "flat")]) } throws: { ($0 as? EvstoreError)?.code == "idReused" }
        await #expect {
            _ = try await store.append([.event("person-9", "Joined", #"{"id":"9","name":"x","homes":[]}"#, id: "ten")])
        } throws: {
            ($0 as? EvstoreError)?.code == "idReused"
        }
        let line = #"{"stream":"person-9","type":"Joined","data":{"id":"9","name":"Grace Hopper"},"id":"ten"}"# + "\n"
        let report = try await store.importLines(from: .file(temporary.write(line, to: "lines.jsonl")), as: SchemaVersion(1))
        #expect(report.skipped == 1 && report.added == 0)
        #expect(try store.last().position == other.position)
    }

    @Test("data whose key is damaged is named by verify with what to do, and a salvage gives the rest of the store back and says so")
    func damaged() async throws {
        let temporary = try await store()
        let path = temporary.path
        try await temporary.store.close()
        let file = try FileHandle(forUpdating: URL(filePath: path + "/subjects"))
        try file.seek(toOffset: 128 + 50)
        try file.write(contentsOf: Data([1, 2, 3]))
        try file.close()
        let person = try StreamName("person-1")
        let store = try await temporary.open()
        for deep in [false, true] {
            let report = try await store.maintenance.verify(deep: deep)
            let errors = report.findings.filter { $0.severity == .error }
            #expect(!report.ok && errors.map(\.id) == ["STORE016"] && errors[0].message.contains("person-1"))
            #expect(errors[0].fix?.contains("StoreMaintenance.salvage(_:into:)") == true)
        }
        #expect { try store.read(person) } throws: { ($0 as? EvstoreError)?.message.contains("person-1") == true }
        #expect(try store.read(StreamName("person-2")).count == 1 && store.read(StreamName("order-1")).count == 1)
        try await store.close()
        let report = try await StoreMaintenance.salvage(path, into: path + "-new", options: store.options)
        #expect(
            report.lostKeys.map(\.stream) == ["person-1"] && report.lostKeys[0].events == 1 && !report.isComplete && report.gaps.isEmpty)
        let new = try await EventStore.open(path + "-new", options: store.options)
        #expect(try new.read(person).map(\.json) == [#"{"id":"1","name":"","born":null,"homes":[{"city":"","kind":"house"}]}"#])
        #expect(try await SealedPersons.people(new) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        #expect(try await new.maintenance.verify(deep: true).ok)
        try await new.close()
    }

    @Test("a stream is found by each of its spellings after a rekey")
    func rekeyed() async throws {
        func version(_ number: Int, _ stream: String, _ upcast: String) -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              Joined:
                stream: "\(stream)-{/id}"
                required: [id, name]
                properties: {id: {type: string}, name: {type: string, personal: true}}
            """
        }
        let rekey = "upcast:\n  - rekey: {from: \"person-{id}\", to: \"customer-{id}\"}"
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let schemas = try SchemaFiles(version(1, "person", ""), version(2, "customer", rekey)).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1), options: options)
        let store = temporary.store
        for (id, version) in [("1", 1), ("2", 2), ("3", 1)] {
            _ = try await store.append([
                .event("\(version == 1 ? "person" : "customer")-\(id)", "Joined", #"{"id":"\#(id)","name":"Ada"}"#, at: version)
            ])
        }
        let names = try ["customer-1", "customer-2"].map { try StreamName($0) }
        #expect(try await store.forget(names).forgotten.count == 2)
        for name in names { #expect(try store.read(name).map(\.json).allSatisfy { !$0.contains("Ada") }) }
        #expect(try store.read(StreamName("customer-3")).map(\.json).allSatisfy { $0.contains("Ada") })
        #expect(try await store.forget(names).before.count == 2)
    }

    @Test("does not run beside a migration, and neither does a recipher, which would keep what is forgotten meanwhile")
    func alone() async throws {
        let temporary = try await store()
        let held = try StoreLock.migration.acquire(at: temporary.path, what: "a test")
        func isRefused(_ error: any Error) -> Bool { (error as? EvstoreError)?.code == "migrationInProgress" }
        let store = temporary.store
        await #expect { _ = try await store.forget([StreamName("person-1")]) } throws: { isRefused($0) }
        await #expect {
            _ = try await store.maintenance.recipher(into: temporary.path + "-new", secret: .key([UInt8](repeating: 4, count: 32)))
        } throws: {
            isRefused($0)
        }
        #expect(try store.read(StreamName("person-1")).allSatisfy { $0.json.contains("Ada") })
        try held.release()
        #expect(try await store.forget([StreamName("person-1")]).forgotten.count == 1)
    }

    @Test("takes read models away for those that were forgotten, also where another stream after them can't be")
    func failing() async throws {
        let temporary = try await store()
        let store = temporary.store
        #expect(try await SealedPersons.people(store).count == 2)
        // The event that tells whose the third slot is, under a key that is gone, and the code of that slot.
        let log = try EventLog.open(at: temporary.path, options: store.options)
        _ = try log.changeKeys { ring throws(SealError) in try ring.rotate(.gcm, time: 1) }
        let sealed = try await temporary.open()
        _ = try await sealed.append([.event("person-3", "Joined", #"{"id":"3","name":"Grace","born":null,"homes":[]}"#)])
        try await sealed.close()
        _ = try log.changeKeys { ring throws(SealError) in try ring.rotate(.gcm, time: 2) }
        try log.changeKeys { ring throws(SealError) in try ring.retire(.dataKey, 2) }
        try await log.close()
        let file = try FileHandle(forUpdating: URL(filePath: temporary.path + "/subjects"))
        try file.seek(toOffset: 3 * 128 + 8)
        try file.write(contentsOf: Data([1, 2, 3, 4]))
        try file.close()
        let other = try await temporary.open()
        await #expect { _ = try await other.forget([StreamName("person-1"), StreamName("person-3")]) } throws: {
            ($0 as? EvstoreError)?.code == "corruptBlock"
        }
        for store in [store, other] {
            var rows: [String] = []
            do { rows = try await SealedPersons.people(store) } catch {
                #expect(["corruptBlock", "storeDamaged"].contains((error as? EvstoreError)?.code))
            }
            #expect(rows.allSatisfy { !$0.contains("Ada") }, "\(rows)")
        }
        #expect(try store.maintenance.journal().contains { $0.kind == .forget && $0.outcome == "1 forgotten, 0 before" })
        try await other.close()
    }
}
