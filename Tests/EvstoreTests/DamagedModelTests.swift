import EventLog
import EventModel
import Evstore
import EvstoreTesting
import Foundation
import Testing

@Suite("A read model that is damaged")
struct DamagedModelTests {
    private func rows(_ store: EventStore, at version: Int? = nil) async throws -> [String] {
        var rows: [String] = []
        try await store.query("orders", at: version.map { SchemaVersion($0) }) { row in
            rows.append("\(row.key) \(row.json)")
            return true
        }
        return rows
    }

    /// A store with one order, and its read model's name and file.
    private func scene() async throws -> (store: TemporaryStore, sound: [String], generations: String, name: String) {
        let temporary = try await Orders.store(at: 1)
        _ = try await temporary.store.append([try Orders.placed("1", at: 1)])
        let sound = try await rows(temporary.store)
        let generations = temporary.path + "/generations"
        return (temporary, sound, generations, try #require(try FileManager.default.contentsOfDirectory(atPath: generations).first))
    }

    /// Changes every total of 100 in the file's bytes, where they lie.
    private func change(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        var start = bytes.startIndex
        while let found = bytes.range(of: Data(#""total":100"#.utf8), in: start ..< bytes.endIndex) {
            try file.seek(toOffset: UInt64(found.upperBound - 1))
            try file.write(contentsOf: Data("7".utf8))
            start = found.upperBound
        }
        try file.close()
    }

    @Test("a query never returns a row that was changed in the file, and the next one builds the read model anew")
    func changedOpen() async throws {
        let (temporary, sound, generations, name) = try await scene()
        try change("\(generations)/\(name)/data.mdb")
        await #expect {
            try await rows(temporary.store)
        } throws: { if case EvstoreError.storeDamaged = $0 { true } else { false } }
        #expect(try await rows(temporary.store) == sound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: generations).contains { $0 != name })
        #expect(try await temporary.store.maintenance.verify(deep: true).ok)
    }

    @Test(
        "a row that names a read model which is not there is damage, whatever is asked, and no failure of the disk",
        arguments: ["-badcafe", "\0"])
    func elsewhere(end: String) async throws {
        let (temporary, _, _, name) = try await scene()
        try await temporary.store.log.update { update in
            for fingerprint in update.state.generations.keys { update.state.generations[fingerprint] = String(name.prefix(16)) + end }
        }
        let store = temporary.store
        let asked: [() async throws -> Void] = [
            { _ = try await self.rows(store) }, { _ = try await store.plan(to: SchemaVersion(2)) },
            { _ = try await store.migrate(to: SchemaVersion(2)) }, { try await store.rollback() }, { _ = try await self.rows(store) },
        ]
        for (index, ask) in asked.enumerated() {
            do { try await ask() } catch let error as EvstoreError { #expect(error.code != "ioFailure", "\(index): \(error)") }
        }
    }

    @Test("a read model's file in the place of another's is damage to verify, and the next query builds both anew")
    func exchanged() async throws {
        let temporary = try await Orders.store(at: 5)
        _ = try await temporary.store.append([try Orders.placed("1", at: 5)])
        let (new, old) = (try await rows(temporary.store), try await rows(temporary.store, at: 4))
        let generations = temporary.path + "/generations"
        let names = try FileManager.default.contentsOfDirectory(atPath: generations).sorted()
        try await temporary.store.close()
        try #require(names.count > 1)
        for (name, other) in zip(names, names.dropFirst()) {
            let (from, to) = ("\(generations)/\(other)/data.mdb", "\(generations)/\(name)/data.mdb")
            try FileManager.default.removeItem(atPath: to)
            try FileManager.default.copyItem(atPath: from, toPath: to)
        }
        let store = try await EventStore.open(temporary.path, options: .forTests)
        let report = try await store.maintenance.verify(deep: true)
        #expect(report.findings.contains { $0.id == "STORE014" }, "\(report.findings)")
        #expect(try await rows(store) == new)
        #expect(try await rows(store, at: 4) == old)
        #expect(try await store.maintenance.verify(deep: true).ok)
        try await store.close()
    }

    @Test("a read model that is gone is built anew by the next query, though an older one that it has replaced is still there")
    func replaced() async throws {
        let (temporary, sound, generations, old) = try await scene()
        _ = try await temporary.store.migrate(to: SchemaVersion(1), options: MigrationOptions(fromEvents: true))
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: generations).first { $0 != old })
        try await temporary.store.close()
        // What a replay that was killed behind its flip leaves.
        if !FileManager.default.fileExists(atPath: "\(generations)/\(old)") {
            try FileManager.default.copyItem(atPath: "\(generations)/\(name)", toPath: "\(generations)/\(old)")
        }
        try FileManager.default.removeItem(atPath: "\(generations)/\(name)/data.mdb")
        let store = try await EventStore.open(temporary.path, options: .forTests)
        #expect(try await rows(store) == sound)
        try await store.close()
    }

    @Test("a read model changed while no process had it open counts as missing: the next query builds it anew")
    func changed() async throws {
        let (temporary, sound, generations, name) = try await scene()
        try await temporary.store.close()
        try change("\(generations)/\(name)/data.mdb")
        let store = try await temporary.open()
        #expect(try store.projections().first?.checkpoint == nil)
        let found = try await store.maintenance.verify().findings
        #expect(found.map(\.id) == ["STORE014"])
        #expect(try await rows(store) == sound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: generations).contains { $0 != name })
        #expect(try await store.maintenance.verify(deep: true).ok)
        try await store.close()
    }

    @Test("verify walks the pages of read models that are in use, and finds what was changed")
    func verified() async throws {
        let (temporary, sound, generations, name) = try await scene()
        try change("\(generations)/\(name)/data.mdb")
        let report = try await temporary.store.maintenance.verify()
        #expect(!report.ok && report.findings.map(\.id) == ["STORE014"])
        #expect(try await rows(temporary.store) == sound)
    }
}
