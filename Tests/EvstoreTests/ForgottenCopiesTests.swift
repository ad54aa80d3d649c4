import Bytes
import EventLog
import Evstore
import EvstoreTesting
import Foundation
import Hashing
import LMDB
import Migration
import Platform
import TestSupport
import Testing

@Suite("Copies of what is forgotten")
struct ForgottenCopiesTests {
    private struct Joined: Event {
        static let type = "Joined"
        static let version = SchemaVersion(1)
        var id: String
        var name: String
    }

    private func overwritten(_ file: File) throws -> Bool {
        let bytes = try file.read(1 << 20)
        return !bytes.isEmpty && bytes.allSatisfy { $0 == 0 }
    }

    /// What the lines of a file say, opened.
    private func lines(_ path: String, _ store: EventStore) throws -> [String] {
        let log = try EventLog.open(at: store.path, options: store.options)
        let sealer = try #require(log.lineSealer)
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            var open = ByteBuffer()
            let sealed = SealedLine(Array(line.utf8).lent)
            try #require(sealed).open(by: sealer, into: &open)
            return String(decoding: open.array(), as: UTF8.self)
        }
    }

    @Test("in archives of cuts, and in what a salvage could not confirm, are written anew without it, and the old ones overwritten")
    func archives() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        _ = try await store.takeSnapshot("here")
        for name in ["Ada King", "Ada Lovelace"] {
            _ = try await store.append([.event("person-1", "Joined", #"{"id":"1","name":"\#(name)"}"#)])
            _ = try await store.append([.event("person-2", "Joined", #"{"id":"2","name":"Alan"}"#)])
        }
        let archive = try #require(try await store.rollback(toSnapshot: "here", discardTail: true).archive)
        let left = store.path + "/unconfirmed.jsonl"
        try FileManager.default.copyItem(atPath: archive, toPath: left)
        let before = try lines(archive, store)
        #expect(before.count == 4 && before.filter { $0.contains("Ada") }.count == 2)
        let old = try [archive, left].map { try File($0, .read) }
        let report = try await store.forget([StreamName("person-1")])
        #expect(report.lines == 4 && report.archives.isEmpty)
        for (path, old) in zip([archive, left], old) {
            let after = try lines(path, store)
            #expect(zip(before, after).filter { $0 == $1 }.count == 2 && after.allSatisfy { !$0.contains("Ada") }, "\(after)")
            #expect(try overwritten(old))
        }
        var hasher = SHA256Hasher()
        hasher.update([UInt8](try Data(contentsOf: URL(filePath: archive))))
        let digests = try String(contentsOfFile: String(archive.dropLast()), encoding: .utf8)
        #expect(digests.contains(hasher.finalize().hex))
        #expect(try await store.importLines(from: .file(archive), as: SchemaVersion(1)).added == 4)
        #expect(try store.read(StreamName("person-1")).allSatisfy { !$0.json.contains("Ada") })
        #expect(try await store.forget([StreamName("person-1")]).lines == 0)
        // Somebody was ended before the old file's name was the new one's.
        try FileManager.default.moveItem(atPath: archive, toPath: archive + ".forgotten")
        try Data(count: 100).write(to: URL(filePath: archive))
        _ = try await store.forget([StreamName("person-1")])
        #expect(try lines(archive, store).count == 4 && !FileManager.default.fileExists(atPath: archive + ".forgotten"))
    }

    @Test("in archives, of data from before versions existed, become the event of version 1 without it; what is in no stream stays")
    func adopted() async throws {
        let version = """
            evstore: 1
            version: 1
            adopt:
              - {when: {path: /kind, equals: person}, as: Joined, keep: [/id], from: {/name: /who}}
              - otherwise: quarantine
            events:
              Joined:
                stream: "person-{/id}"
                required: [id, name]
                properties: {id: {type: string}, name: {type: string, personal: true}}
            """
        var options = Options.forTests
        options.secret = .key([UInt8](repeating: 3, count: 32))
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: [version]).load(), at: SchemaVersion(1), options: options)
        let store = temporary.store
        _ = try await store.append([.event("person-9", "Joined", #"{"id":"9","name":"Grace"}"#)])
        _ = try await store.takeSnapshot("here")
        let old = [(1, "person", "Ada"), (2, "person", "Alan"), (1, "other", "Ada")].map { id, kind, name in
            #"{"kind":"\#(kind)","id":"\#(id)","who":"\#(name)","more":"\#(name)"}"# + "\n"
        }
        let file = try temporary.write(old.joined(), to: "old.jsonl")
        _ = try await store.importLines(from: .file(file), as: SchemaVersion(0))
        let archive = try #require(try await store.rollback(toSnapshot: "here", discardTail: true).archive)
        let before = try lines(archive, store)
        #expect(before.count == 3 && before.filter { $0.contains("Ada") }.count == 2, "\(before)")
        let report = try await store.forget([StreamName("person-1")])
        #expect(report.lines == 1 && report.archives.isEmpty)
        let after = try lines(archive, store)
        #expect(after[1...] == before[1...] && !after[0].contains("Ada"), "\(after)")
        for part in [#""type":"Joined""#, #""id":"1""#, #""name":"""#, #""version":1"#] { #expect(after[0].contains(part), "\(after[0])") }
    }

    @Test("that a drill has left are overwritten before they go, and one that works is named")
    func scratch() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        let left = store.path + "/scratch/evstore-10c0ffee10c0ffee/store"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        for name in ["subjects", "other"] { try FileManager.default.copyItem(atPath: store.path + "/subjects", toPath: left + "/" + name) }
        let (keys, other) = try (File(left + "/subjects", .read), File(left + "/other", .read))
        var alive: OwnedDirectory? = try OwnedDirectory(store.path + "/scratch/evstore-")
        let name = Directory.name(of: try #require(alive).path)
        #expect(try await store.forget([StreamName("person-1")]).inUse == ["scratch/" + name])
        #expect(try overwritten(keys) && !overwritten(other) && !FileManager.default.fileExists(atPath: left))
        alive = nil
        #expect(try await store.forget([StreamName("person-1")]).inUse.isEmpty)
        #expect(try Directory.names(store.path + "/scratch").isEmpty)
    }

    @Test("in what a snapshot noted make read models differ after a cut there, which is told as that, and not as damage")
    func notedBefore() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        let person = try StreamName("person-1")
        _ = try await store.append([.event("person-1", "Joined", #"{"id":"1","name":"Ada"}"#)])
        #expect(try await SealedPersons.people(store).count == 2)
        _ = try await store.takeSnapshot("here")
        _ = try await store.append([.event("person-1", "Joined", #"{"id":"1","name":"Ada King"}"#)])
        _ = try await store.forget([person])
        let report = try await store.rollback(toSnapshot: "here", discardTail: true)
        #expect(report.differing.isEmpty && report.forgotten == ["people"], "\(report)")
        #expect(try store.maintenance.verifySnapshots().isEmpty)
        try await store.close()
    }

    @Test("in backups that are pruned are overwritten before they go")
    func pruned() async throws {
        let temporary = try await SealedPersons.store()
        let (store, copies) = (temporary.store, temporary.path + "-copies")
        _ = try await store.maintenance.backUp(into: copies)
        _ = try await store.forget([StreamName("person-1")])
        let old = try File(copies + "/rows/0000000001.evf", .read)
        // Neither is what a backup has left.
        try FileManager.default.createDirectory(atPath: copies + "/blocks/mine.new", withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(filePath: copies + "/blocks/7.new"))
        #expect(try await store.maintenance.backUp(into: copies, keeping: 1).pruned == 1)
        #expect(try overwritten(old) && Directory.names(copies + "/rows").count == 1)
        #expect(try Directory.names(copies + "/blocks").filter { $0.hasSuffix(".new") } == ["mine.new"])
        try FileManager.default.removeItem(atPath: copies)
    }

    @Test("in states that programs keep are not shown any more, whichever process has forgotten it")
    func states() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        let fold = try StreamFold("names", revision: 1, initial: [String]()) {
            StateHandler(Joined.self) { names, joined, _ in names.append(joined.name) }
        }
        let cache = StateCache<[String]>()
        let (person, other) = (try StreamName("person-1"), try StreamName("person-2"))
        for name in [person, other, person] { _ = try store.state(of: name, fold, cache: cache) }
        #expect(try store.state(of: person, fold, cache: cache).wasKept && cache.count == 2)
        let another = try await temporary.open()
        #expect(try await another.forget([person]).forgotten == [person])
        try await another.close()
        let state = try store.state(of: person, fold, cache: cache)
        #expect(state.value == [""] && !state.wasKept && cache.count == 1)
        #expect(try store.state(of: person, fold, cache: cache).wasKept && store.state(of: other, fold, cache: cache).value == ["Alan"])
    }
}
