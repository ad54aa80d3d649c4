import Bytes
import EventLog
import Evstore
import EvstoreTesting
import Foundation
import Migration
import TestSupport
import Testing

@Suite("Forgetting a person whose stream has several names")
struct ForgetRekeyedTests {
    private static func version(_ number: Int, _ members: String = "name: {type: string, personal: true}", steps: String = "") -> String {
        "evstore: 1\nversion: \(number)\n\(steps)events: {Joined: {required: [name], properties: {\(members)}}}"
    }

    private static let rekey = "upcast: [{rekey: {from: \"order-{id}\", to: \"o-{id}\"}}]\n"

    private static func store(_ versions: [String], at version: SchemaVersion, secret: Bool = true) async throws -> TemporaryStore {
        var options = Options.forTests
        if secret { options.secret = .key([UInt8](repeating: 3, count: 32)) }
        return try await TemporaryStore.make(SchemaFiles(versions: versions).load(), at: version, from: 1, options: options)
    }

    private static func renamed(live: SchemaVersion = 1) async throws -> TemporaryStore {
        try await store([version(1), version(2, steps: rekey)], at: live)
    }

    private func joined(_ stream: String, _ name: String, at version: Int) throws -> NewEvent {
        try .event(stream, "Joined", #"{"name":"\#(name)"}"#, at: version)
    }

    /// What the archives' lines say, opened.
    private func archived(_ store: EventStore) async throws -> [String] {
        let directory = store.path + "/archive"
        guard FileManager.default.fileExists(atPath: directory) else { return [] }
        let log = try EventLog.open(at: store.path, options: store.options)
        let sealer = try #require(log.lineSealer)
        var found: [String] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() where name.hasSuffix(".jsonl") {
            for line in try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8).split(separator: "\n") {
                var open = ByteBuffer()
                let bytes = Array(line.utf8)
                let sealed = SealedLine(bytes.lent)
                try #require(sealed).open(by: sealer, into: &open)
                found.append(String(decoding: open.array(), as: UTF8.self))
            }
        }
        try await log.close()
        return found
    }

    @Test("the lines of another stream that has its name at another version stay in the archive")
    func lookAlike() async throws {
        let temporary = try await Self.renamed()
        let store = temporary.store
        _ = try await store.takeSnapshot("here")
        _ = try await store.migrate(to: 2)
        _ = try await store.append([joined("o-5", "Ada", at: 2)])
        _ = try await store.append([joined("o-7", "Grace", at: 2)])
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        #expect(try await store.forget([StreamName("o-5")]).unknown.map(\.text) == ["o-5"])
        _ = try await store.append([joined("o-5", "Alan", at: 1)])
        #expect(try await store.forget([StreamName("o-5")]).forgotten.map(\.text) == ["o-5"])
        #expect(try await archived(store).contains { $0.contains("Ada") })
        #expect(try await store.forget([StreamName("order-7")]).lines == 1)
        let left = try await archived(store)
        #expect(left.contains { $0.contains("Ada") } && !left.contains { $0.contains("Grace") }, "\(left)")
    }

    @Test("its key is found under the name that it had in the log before it was cut off, and a restored backup shows nothing")
    func cutOff() async throws {
        let temporary = try await Self.renamed()
        let (store, copies) = (temporary.store, temporary.path + "-copies")
        defer { do { try FileManager.default.removeItem(atPath: copies) } catch {} }
        _ = try await store.takeSnapshot("here")
        _ = try await store.migrate(to: 2)
        _ = try await store.append([joined("o-9", "Ada", at: 2)])
        _ = try await store.maintenance.backUp(into: copies)
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        let report = try await store.forget([StreamName("order-9")])
        #expect(report.forgotten.map(\.text) == ["order-9"] && report.lines == 1, "\(report)")
        #expect(try await store.forget([StreamName("order-9")]).before.map(\.text) == ["order-9"])
    }

    @Test("a key that two streams have had is refused, with both named, until both are meant")
    func ambiguous() async throws {
        let temporary = try await Self.renamed()
        let store = temporary.store
        _ = try await store.takeSnapshot("here")
        _ = try await store.migrate(to: 2)
        _ = try await store.append([joined("o-9", "Ada", at: 2)])
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        _ = try await store.append([joined("o-9", "Alan", at: 1)])
        await #expect { _ = try await store.forget([StreamName("order-9")]) } throws: { error in
            guard let error = error as? EvstoreError else { return false }
            return error.code == "usage" && error.message.contains("o-9") && error.message.contains("begun at v1")
        }
        #expect(try store.read(StreamName("o-9")).contains { $0.json.contains("Alan") })
        #expect(try await store.forget([StreamName("order-9"), StreamName("o-9")]).forgotten.count == 2)
        #expect(try !store.read(StreamName("o-9")).contains { $0.json.contains("Alan") })
    }

    /// What a random history has appended; a person is a stream's name at version 1.
    private struct Datum { let person: String, text: String }

    /// The live version after a migration: a stream that version 2 can't name keeps the store at version 1.
    private func migrated(_ store: EventStore) async -> Int {
        do { return Int(try await store.migrate(to: 2).to.rawValue) } catch { return 1 }
    }

    /// Whether an event is appended; false where it has no image.
    private func appends(_ event: NewEvent, to store: EventStore) async throws -> Bool {
        do { _ = try await store.append([event]) } catch EvstoreError.noImage { return false }
        return true
    }

    /// Whether a stream's person is forgotten; false where its name is ambiguous.
    private func forgets(_ stream: StreamName, in store: EventStore) async throws -> Bool {
        do { _ = try await store.forget([stream]) } catch EvstoreError.usage { return false }
        return true
    }

    @Test("in random histories of appends, cuts and rollbacks, exactly the named streams' data goes", arguments: 0 ..< 12 as Range<UInt64>)
    func random(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let temporary = try await Self.renamed()
        let store = temporary.store
        var data: [Datum] = []
        for round in 0 ..< 3 {
            _ = try await store.takeSnapshot("s\(round)")
            let wantsSecond = Bool.random(using: &random)
            let live = wantsSecond ? await migrated(store) : 1
            for number in 0 ..< 6 {
                let (id, text) = (Int.random(in: 0 ..< 3, using: &random), "text-\(round)-\(number)-")
                let isShort = live == 2 || Bool.random(using: &random)
                let name = (isShort ? "o-" : "order-") + "\(id)"
                if try await appends(joined(name, text, at: live), to: store) {
                    data.append(Datum(person: live == 2 ? "order-\(id)" : name, text: text))
                }
            }
            if Bool.random(using: &random) {
                _ = try await store.rollback(toSnapshot: "s\(round)", discardTail: true)
            } else if live == 2 {
                _ = try await store.rollback(to: 1)
            }
        }
        let named = Bool.random(using: &random) ? "order-1" : "o-1"
        // A name that no stream has at the version is the name in the log.
        let isOther = try named == "o-1" && !data.contains { $0.person == named } && !store.read(StreamName(named)).isEmpty
        let person = isOther ? "order-1" : named
        guard try await forgets(StreamName(named), in: store) else { return }
        var seen = try await archived(store).joined()
        try store.readAll { event in
            seen += event.json
            return true
        }
        for datum in data { #expect(seen.contains(datum.text) == (datum.person != person), "\(datum), when \(named) was forgotten") }
    }

    @Test("an archive's line that does not fit the shape of its version is left, and its file is named")
    func unfitting() async throws {
        let temporary = try await Self.renamed()
        let store = temporary.store
        let line = #"{"stream":"a-1","type":"Joined","data":{"fullName":"Ada"},"version":1,"position":1,"revision":0,"born":1}"# + "\n"
        let path = store.path + "/archive/other.jsonl"
        try FileManager.default.createDirectory(atPath: store.path + "/archive", withIntermediateDirectories: true)
        try Data(line.utf8).write(to: URL(filePath: path))
        #expect(try await store.forget([StreamName("a-2")]).archives == [])
        let report = try await store.forget([StreamName("a-1")])
        #expect(report.lines == 0 && report.archives == ["archive/other.jsonl"])
        #expect(try String(contentsOfFile: path, encoding: .utf8) == line)
    }

    @Test("events that were written before a member was personal are counted, with the first position, and plain ones are not")
    func stillShown() async throws {
        let plain = "name: {type: string}, mail: {type: string, personal: true}"
        let temporary = try await Self.store(
            [Self.version(1, plain), Self.version(2, "name: {type: string, personal: true}, mail: {type: string, personal: true}")], at: 1)
        let store = temporary.store
        let event = try NewEvent.event("a-1", "Joined", #"{"name":"Ada","mail":"ada@example.org"}"#, at: 1)
        let position = try await store.append([event]).position
        _ = try await store.append([event])
        #expect(try await store.forget([StreamName("a-1")]).stillShown.isEmpty)
        _ = try await store.migrate(to: 2)
        _ = try await store.append([joined("a-1", "Ada", at: 2)])
        let report = try await store.forget([StreamName("a-1")])
        #expect(report.stillShown.map(\.count) == [2] && report.stillShown.map(\.first) == [position] && report.withoutImage.isEmpty)
    }

    @Test("forgotten events that a step can't convert are counted")
    func withoutImage() async throws {
        let step = "upcast: [{on: Joined, do: [{convert: {path: /name, to: integer, using: integer-text}}]}]\n"
        let temporary = try await Self.store(
            [Self.version(1), Self.version(2, "name: {type: integer, personal: true}", steps: step)], at: 1)
        let store = temporary.store
        _ = try await store.append([joined("a-1", "17", at: 1)])
        _ = try await store.migrate(to: 2)
        let report = try await store.forget([StreamName("a-1")])
        #expect(report.withoutImage.map(\.count) == [1] && report.stillShown.isEmpty, "\(report)")
    }
}
