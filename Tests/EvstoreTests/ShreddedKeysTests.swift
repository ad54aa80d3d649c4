import Bytes
import EventLog
import Evstore
import EvstoreTesting
import Foundation
import LMDB
import Migration
import Platform
import Projections
import TestSupport
import Testing

/// What the disk still holds of a read model or an archive that was taken away opens with no key that the store has.
@Suite("Keys of read models and archives")
struct ShreddedKeysTests {
    private let files = FileManager.default

    private func log(_ store: EventStore) throws -> EventLog { try EventLog.open(at: store.path, options: store.options) }

    /// How many lines of a file a store opens.
    private func opened(_ path: String, _ store: EventStore) throws -> Int {
        let sealer = try #require(log(store).lineSealer)
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count { line in
            var open = ByteBuffer()
            let bytes = Array(line.utf8)
            do throws(EvstoreError) {
                try SealedLine(bytes.lent)?.open(by: sealer, into: &open)
                return !open.array().isEmpty
            } catch { return false }
        }
    }

    /// A store with an archive of four lines, two of them about `person-1`.
    private func withArchive() async throws -> (store: TemporaryStore, archive: String) {
        let temporary = try await SealedPersons.store()
        _ = try await temporary.store.takeSnapshot("here")
        for name in ["Ada King", "Ada Lovelace"] {
            _ = try await temporary.store.append([.event("person-1", "Joined", #"{"id":"1","name":"\#(name)"}"#)])
            _ = try await temporary.store.append([.event("person-2", "Joined", #"{"id":"2","name":"Alan"}"#)])
        }
        return (temporary, try #require(try await temporary.store.rollback(toSnapshot: "here", discardTail: true).archive))
    }

    @Test("a read model that was taken away and is found again on the disk is opened by nothing")
    func generations() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        #expect(try await SealedPersons.people(store).contains { $0.contains("Ada King") })
        let home = Generation.home(in: store.path)
        let before = try Generation.names(in: store.path)
        let found = temporary.path + "-found"
        defer { do { try files.removeItem(atPath: found) } catch {} }
        try files.createDirectory(atPath: found, withIntermediateDirectories: true)
        for name in before { try files.copyItem(atPath: "\(home)/\(name)/data.mdb", toPath: "\(found)/\(name)") }
        let keys = try before.map { try File("\(home)/\($0)/key", .read) }
        _ = try await store.forget([StreamName("person-1")])
        #expect(try Set(Generation.names(in: store.path)).isDisjoint(with: before))
        for key in keys { #expect(try key.read(1 << 13).allSatisfy { $0 == 0 }) }
        for name in before {
            let again = "\(home)/\(name)"
            try files.createDirectory(atPath: again, withIntermediateDirectories: false)
            try files.copyItem(atPath: "\(found)/\(name)", toPath: "\(again)/data.mdb")
            #expect(throws: EvstoreError.self) { _ = try Generation.open(named: name, in: store.path, of: log(store)) }
        }
        #expect(try await SealedPersons.people(store).contains { $0.contains("Ada") } == false)
    }

    @Test("an archive as it was before something was forgotten is opened by nothing, and its own lines are")
    func archives() async throws {
        let (temporary, archive) = try await withArchive()
        let store = temporary.store
        let copy = temporary.path + "-copy.jsonl"
        defer { do { try files.removeItem(atPath: copy) } catch {} }
        try files.copyItem(atPath: archive, toPath: copy)
        #expect(try opened(copy, store) == 4)
        #expect(try await store.forget([StreamName("person-1")]).lines == 2)
        #expect(try opened(copy, store) == 0)
        #expect(try opened(archive, store) == 4)
        await #expect { _ = try await store.importLines(from: .file(copy), as: SchemaVersion(1)) } throws: { error in
            (error as? EvstoreError)?.message.contains("overwritten") == true
        }
        #expect(try await store.importLines(from: .file(archive), as: SchemaVersion(1)).added == 4)
        #expect(try await store.maintenance.verify(deep: true).ok)
    }

    @Test("whoever was ended between an archive's new lines and the end of its old ones, or put their key back, is told, and forgets on")
    func between() async throws {
        let (temporary, archive) = try await withArchive()
        let store = temporary.store
        let (old, subjects) = (try Data(contentsOf: URL(filePath: archive)), try Data(contentsOf: URL(filePath: store.path + "/subjects")))
        let slot = try #require(try slots(archive).first)
        _ = try await store.forget([StreamName("person-1")])
        #expect(try slots(archive) == [slot + 1])
        // As it was before the old key went.
        try files.moveItem(atPath: archive, toPath: archive + ".forgotten")
        try old.write(to: URL(filePath: archive))
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: archive)
        try putBack(slot, from: subjects, store)
        #expect(try opened(archive, store) == 4)
        let finding = try #require(try await store.maintenance.verify().findings.first)
        #expect(finding.id == "STORE017" && finding.message.contains("an archive"), "\(finding)")
        _ = try await store.forget([StreamName("person-1")])
        #expect(try opened(archive, store) == 4 && slots(archive) == [slot + 1])
        #expect(try await store.maintenance.verify().ok)
        // Only the key, with nothing that names it.
        try putBack(slot, from: subjects, store)
        #expect(try await store.maintenance.verify().findings.first?.id == "STORE017")
        _ = try await store.forget([StreamName("person-1")])
        #expect(try await store.maintenance.verify().ok)
    }

    @Test("a cut that was ended before it was made leaves an archive whose key goes when it is made again")
    func cutAgain() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        _ = try await store.takeSnapshot("here")
        _ = try await store.append([.event("person-1", "Joined", #"{"id":"1","name":"Ada"}"#)])
        try Directory.create(store.path + "/archive")
        let (archive, copy) = (store.path + "/archive/epoch-1-events-5-5.jsonl", temporary.path + "-copy.jsonl")
        defer { do { try files.removeItem(atPath: copy) } catch {} }
        let log = try log(store)
        for (number, path) in [archive, archive + ".tmp"].enumerated() {
            var line = ByteBuffer()
            let sealer = try #require(try log.makeLineSealer())
            try SealedLine.write(Array("{}".utf8).lent, Epoch(1), Position(5), by: sealer, into: &line)
            try File(path, .createNew).write(line.array() + [10])
            try File(copy, .create).write(line.array() + [10], at: number * (line.array().count + 1))
        }
        #expect(try opened(copy, store) == 2)
        try await log.close()
        let (subjects, slots) = (try Data(contentsOf: URL(filePath: store.path + "/subjects")), try slots(copy))
        #expect(slots.count == 2)
        #expect(try await store.rollback(toSnapshot: "here", discardTail: true).archive == archive)
        #expect(try opened(copy, store) == 0 && opened(archive, store) == 1)
        #expect(try await store.maintenance.verify().ok)
        for slot in slots {
            try putBack(slot, from: subjects, store)
            let findings = try await store.maintenance.verify().findings.filter { $0.severity == .error }
            #expect(findings.map(\.id) == ["STORE017"] && findings[0].message.contains("an archive"), "\(findings)")
            _ = try await store.forget([StreamName("person-2")])
            #expect(try await store.maintenance.verify().ok && opened(copy, store) == 0)
        }
    }

    private func flip(_ path: String, at offset: Int) throws {
        let file = try File(path, .write)
        try file.write(file.read(1, at: offset).map { $0 ^ 7 }, at: offset)
    }

    @Test("a key that is damaged: the read model is built anew, and of the archive it is said that it can't be read")
    func damaged() async throws {
        let (temporary, archive) = try await withArchive()
        let store = temporary.store
        let rows = try await SealedPersons.people(store)
        let slot = try #require(try slots(archive).first)
        try await store.close()
        let before = try Generation.names(in: store.path)
        for name in before { try flip(Generation.home(in: store.path) + "/\(name)/key", at: 40) }
        try flip(store.path + "/subjects", at: Int(slot) * 128 + 50)
        let again = try await temporary.open()
        #expect(try await SealedPersons.people(again) == rows)
        #expect(try Set(Generation.names(in: store.path)).isDisjoint(with: before))
        let finding = try #require(try await again.maintenance.verify().findings.first)
        #expect(finding.id == "STORE016" && finding.message.contains("lines of an archive"), "\(finding)")
        await #expect { _ = try await again.importLines(from: .file(archive), as: SchemaVersion(1)) } throws: { error in
            (error as? EvstoreError)?.message.contains("slot \(slot)") == true
        }
        #expect(try await again.forget([StreamName("person-1")]).archives == ["archive/" + Directory.name(of: archive)])
        try await again.close()
    }

    /// The slots of the keys that a file's lines name.
    private func slots(_ path: String) throws -> Set<UInt32> {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        return Set(
            lines.compactMap { line in
                let text = line.dropFirst(11).prefix { $0 != "\"" }
                return Data(base64Encoded: String(text)).flatMap { LineSealer.slot(of: Array($0).lent) }
            })
    }

    private func putBack(_ slot: UInt32, from subjects: Data, _ store: EventStore) throws {
        let place = Int(slot) * 128
        try File(store.path + "/subjects", .write).write([UInt8](subjects[place ..< place + 128]), at: place)
    }

    @Test("what a store of before had sealed under keys made of the master key is read and forgotten, and its read model built anew")
    func golden() async throws {
        let directory = try TemporaryDirectory()
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens/sealed-3")
        let path = directory.path + "/store"
        try files.copyItem(atPath: golden.path, toPath: path)
        for name in try [""] + files.subpathsOfDirectory(atPath: path) {
            var isDirectory: ObjCBool = false
            _ = unsafe files.fileExists(atPath: "\(path)/\(name)", isDirectory: &isDirectory)
            try files.setAttributes([.posixPermissions: isDirectory.boolValue ? 0o700 : 0o600], ofItemAtPath: "\(path)/\(name)")
        }
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let store = try await EventStore.open(path, options: options)
        let (before, archive) = (try Generation.names(in: path), path + "/archive/epoch-1-events-2-2.jsonl")
        #expect(try await SealedPersons.people(store) == [#"{"name":"Ada"}"#])
        #expect(try before.count == 1 && Generation.names(in: path) != before && opened(archive, store) == 1)
        #expect(try await store.forget([StreamName("person-2")]).lines == 1)
        #expect(try opened(archive, store) == 1)
        _ = try await SealedPersons.people(store)
        let after = try Generation.names(in: path)
        #expect(after.count == 1 && after != before && files.fileExists(atPath: "\(path)/generations/\(after[0])/key"))
        try await store.close()
    }
}
