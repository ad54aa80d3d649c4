import EventLog
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The ledger of what was forgotten")
struct LedgerTests {
    private let person: StreamName

    init() throws { person = try StreamName("person-1") }

    private func isShown(_ store: EventStore) throws -> Bool { try store.read(person).contains { $0.json.contains("Ada") } }

    @Test("an older file of keys that was put back is found by verify, and forgotten by saying so again; what came later stays")
    func putBack() async throws {
        let temporary = try await SealedPersons.store()
        let keys = URL(filePath: temporary.path + "/subjects")
        let old = try Data(contentsOf: keys)
        _ = try await temporary.store.forget([person])
        _ = try await temporary.store.append([.event("person-1", "Joined", #"{"id":"1","name":"Ada again"}"#)])
        #expect(try await temporary.store.maintenance.verify(deep: true).ok)
        let new = try Data(contentsOf: keys)
        try await temporary.store.close()
        try (old + new[old.count...]).write(to: keys)
        let store = try await temporary.open()
        #expect(try store.read(person).map { $0.json.contains("Ada") } == [true, true])
        for deep in [false, true] {
            let errors = try await store.maintenance.verify(deep: deep).findings.filter { $0.severity == .error }
            #expect(
                errors.map(\.id) == ["STORE017"] && errors[0].message.contains("person-1") && errors[0].fix?.contains("person-1") == true)
        }
        #expect(try await store.forget([person]).forgotten == [person])
        #expect(try await store.maintenance.verify(deep: true).ok && !isShown(store))
        try await store.close()
    }

    @Test(
        "a backup from before is restored without it, where its directory has a newer run's ledger, and a ledger that was changed is not believed"
    )
    func restored() async throws {
        let temporary = try await SealedPersons.store()
        let (store, copies) = (temporary.store, temporary.path + "-copies")
        defer { try? FileManager.default.removeItem(atPath: copies) }
        _ = try await store.maintenance.backUp(into: copies)
        _ = try await store.forget([person])
        _ = try await store.maintenance.backUp(into: copies)
        try FileManager.default.removeItem(atPath: copies + "/runs/0000000002.json")
        let into = temporary.path + "-restored"
        defer { try? FileManager.default.removeItem(atPath: into) }
        _ = try await StoreMaintenance.restore(from: copies, into: into, options: store.options)
        let restored = try await EventStore.open(into, options: store.options)
        #expect(try !isShown(restored) && restored.read(StreamName("person-2")).contains { $0.json.contains("Alan") })
        #expect(try await restored.maintenance.verify(deep: true).ok)
        // It goes on from there.
        let log = try EventLog.open(at: into, options: store.options)
        #expect(try log.ledger().count == 1)
        try await log.close()
        try await restored.close()
        let ledger = URL(filePath: copies + "/forgotten")
        let text = try String(contentsOf: ledger, encoding: .utf8)
        #expect(!text.contains("person") && text.split(separator: "\n").count == 2)
        for changed in [text.replacing(#/[ ](\d)[ ]/#) { " \($0.1)1 " }, String(text.dropLast(5)), "", text + "1 2 3\n"] {
            try changed.write(to: ledger, atomically: true, encoding: .utf8)
            await #expect("\(changed)") {
                _ = try await StoreMaintenance.restore(from: copies, into: into + "-2", options: store.options)
            } throws: {
                ($0 as? EvstoreError)?.code == "backupDamaged"
            }
        }
    }

    @Test("beside backups, a changed one is damage of every run, and no run builds on it; a new directory gets the store's")
    func damagedBesideBackups() async throws {
        let temporary = try await SealedPersons.store()
        let (store, copies, other) = (temporary.store, temporary.path + "-copies", temporary.path + "-others")
        defer { for path in [copies, other] { try? FileManager.default.removeItem(atPath: path) } }
        _ = try await store.maintenance.backUp(into: copies)
        _ = try await store.forget([person])
        _ = try await store.maintenance.backUp(into: copies)
        func damages() async throws -> [Bool] { try await StoreMaintenance.verifyBackups(in: copies).map { $0.damage != nil } }
        #expect(try await damages() == [false, false])
        let ledger = URL(filePath: copies + "/forgotten")
        let text = try String(contentsOf: ledger, encoding: .utf8)
        for changed in [text.replacing(#/[ ](\d)[ ]/#) { " \($0.1)1 " }, String(text.dropLast(5)), ""] {
            try changed.write(to: ledger, atomically: true, encoding: .utf8)
            #expect(try await damages() == [true, true], "\(changed)")
            await #expect("\(changed)") {
                _ = try await store.maintenance.backUp(into: copies)
            } throws: {
                ($0 as? EvstoreError)?.code == "backupDamaged"
            }
        }
        _ = try await store.maintenance.backUp(into: other)
        #expect(try String(contentsOfFile: other + "/forgotten", encoding: .utf8) == text)
        try FileManager.default.removeItem(at: ledger)
        #expect(try await damages() == [true, true])
        // Without it nobody would know what to forget again, and a store that has less of it can't begin it anew.
        let older = temporary.path + "-older"
        defer { try? FileManager.default.removeItem(atPath: older) }
        for run in UInt64(1) ... 2 {
            await #expect { _ = try await StoreMaintenance.restore(from: copies, run: run, into: older, options: store.options) } throws: {
                ($0 as? EvstoreError)?.code == "backupDamaged"
            }
        }
        try FileManager.default.moveItem(atPath: copies + "/runs/0000000002.json", toPath: copies + "/2.json")
        _ = try await StoreMaintenance.restore(from: copies, into: older, options: store.options)
        try FileManager.default.moveItem(atPath: copies + "/2.json", toPath: copies + "/runs/0000000002.json")
        let lesser = try await EventStore.open(older, options: store.options)
        await #expect { _ = try await lesser.maintenance.backUp(into: copies) } throws: { ($0 as? EvstoreError)?.code == "backupDamaged" }
        try await lesser.close()
        _ = try await store.maintenance.backUp(into: copies)
        #expect(try await damages() == [false, false, false])
        try await store.close()
    }

    @Test("a salvage goes on with it, and a recipher begins without")
    func copies() async throws {
        let temporary = try await SealedPersons.store()
        let keys = URL(filePath: temporary.path + "/subjects")
        let old = try Data(contentsOf: keys)
        let store = temporary.store
        _ = try await store.forget([person])
        let (into, other) = (temporary.path + "-salvaged", temporary.path + "-other")
        defer { for path in [into, other] { try? FileManager.default.removeItem(atPath: path) } }
        _ = try await store.maintenance.recipher(into: other, secret: store.options.secret)
        try await store.close()
        try old.write(to: keys)
        _ = try await StoreMaintenance.salvage(temporary.path, into: into, options: store.options)
        for (path, count) in [(into, 1), (other, 0)] {
            let log = try EventLog.open(at: path, options: store.options)
            #expect(try log.ledger().count == count && log.verify(deep: true).isEmpty)
            try await log.close()
            let copy = try await EventStore.open(path, options: store.options)
            #expect(try !isShown(copy))
            try await copy.close()
        }
    }
}
