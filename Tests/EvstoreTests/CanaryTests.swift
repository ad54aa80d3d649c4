import Evstore
import EvstoreTesting
import Foundation
import Synchronization
import Testing

@Suite("What the files of a sealed store say")
struct CanaryTests {
    private static let canary = "c4n4ry"
    private static let rowKey = "r0wk3y"
    private static let (v1, v2) = (SchemaVersion(1), SchemaVersion(2))

    /// Persons with a code that version 2 makes a number of, which not every text is; personal and other members become rows.
    private static func schemas() throws -> Schemas {
        func version(_ number: Int, _ code: String, _ upcast: String) -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              Joined:
                stream: "person-{/id}"
                required: [id, name, city, code]
                properties:
                  id: {type: string}
                  name: {type: string, personal: true}
                  city: {type: string}
                  code: {type: \(code)}
            """
        }
        let upcast = "upcast:\n  - {on: Joined, do: [{convert: {path: /code, to: integer, using: integer-text}}]}"
        return try SchemaFiles(
            version(1, "string", ""), version(2, "integer", upcast),
            projections: """
                evstore: 1
                projections:
                  people:
                    - {since: 1, key: /id, on: {Joined: {set: {/name: /name, /city: /city, /code: /code}, append: {/names: {from: /name}}}}}
                """
        ).load()
    }

    private static func event(_ number: Int, code: String, at version: SchemaVersion) throws -> NewEvent {
        let (id, code) = ("\(rowKey)-\(number)", version == v1 ? "\"\(code)\"" : code)
        let data =
            #"{"id":"\#(id)","name":"\#(canary) name","city":"\#(canary) city \#(String(repeating: ".", count: 900))","code":\#(code)}"#
        return try .event("person-\(id)", "Joined", data, at: version.number, metadata: #"{"by":"\#(canary) metadata"}"#)
    }

    /// The files in which a text stands, by the directory that they lie in.
    private static func places(of text: String, below directory: String) -> Set<String> {
        // The locks of what is open here would go with a descriptor of their file; it holds process numbers and no events.
        let all = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        let names = all.filter { !$0.hasSuffix("/lock.mdb") }
        let found = names.filter { name in
            // Nil is a directory, or was taken away meanwhile.
            guard !name.hasSuffix("lines.jsonl"), let bytes = FileManager.default.contents(atPath: "\(directory)/\(name)") else {
                return false
            }
            return bytes.range(of: Data(text.utf8)) != nil
        }
        return Set(found.map { $0.split(separator: "/").prefix($0.hasPrefix("s") ? 2 : 1).joined(separator: "/") })
    }

    private static func count(_ store: EventStore) async throws -> Int {
        var count = 0
        try await store.query("people") { row in
            if row.json.contains(canary) { count += 1 }
            return true
        }
        return count
    }

    /// All that can happen to a store; gives back where texts stand then.
    private static func life(isSealed: Bool) async throws -> (canary: Set<String>, rowKey: Set<String>) {
        var options = Options.forTests
        // Everything is spilled.
        options.buildMemoryBytes = 1
        if isSealed { options.secret = .key([UInt8](1 ... 32)) }
        let temporary = try await TemporaryStore.make(schemas(), at: v1, options: options)
        let (store, path) = (temporary.store, temporary.path)
        let home = URL(filePath: path).deletingLastPathComponent().path
        func append(_ numbers: Range<Int>, code: String = "7") async throws {
            for number in numbers { _ = try await store.append([event(number, code: code, at: store.versions.live)]) }
        }
        try await append(0 ..< 30)
        let line = #"{"stream":"person-i","type":"Joined","data":{"id":"i","name":"\#(canary)","city":"\#(canary)","code":"1"}}"#
        for text in [line, #"{"stream":"person-j","type":"Joined","data":{"id":"\#(canary)"}}"#] {
            let file = try temporary.write(text + "\n", to: "lines.jsonl")
            _ = try await store.importLines(from: .file(file), as: v1, options: ImportOptions(onError: .quarantine))
        }
        #expect(try await count(store) == 31)
        _ = try await store.maintenance.backUp(into: home + "/copies")
        let inScratch = Mutex<Set<String>>([])
        let drill = try await store.maintenance.drill(seed: 1) { _ in
            let found = places(of: canary, below: path + "/scratch")
            inScratch.withLock { $0.formUnion(found.isEmpty ? [] : ["scratch"]) }
        }
        #expect(drill.passed, "\(drill)")
        try await append(30 ..< 40, code: canary)
        _ = try await store.migrate(to: v2, options: MigrationOptions(onError: .quarantine, yes: true))
        #expect(try store.quarantine().contains { $0.error.contains(canary) }, "a reason quotes what it is about")
        try await append(40 ..< 50)
        #expect(try await count(store) == 41)
        _ = try await store.takeSnapshot("here")
        try await append(50 ..< 60)
        _ = try await store.rollback()
        #expect(try await count(store) == 61)
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        try await append(60 ..< 70)
        _ = try await store.migrate(to: v2, options: MigrationOptions(onError: .quarantine, yes: true))
        _ = try await store.finalize(v2)
        _ = try await store.maintenance.backUp(into: home + "/copies")
        #expect(try await store.maintenance.verify(deep: true).ok)
        try await store.close()
        try await copies(of: temporary, in: home)
        return (places(of: canary, below: home).union(inScratch.withLock { $0 }), places(of: rowKey, below: home))
    }

    /// A restored store, and a salvaged one with events that nobody says were committed.
    private static func copies(of temporary: TemporaryStore, in home: String) async throws {
        let (path, options) = (temporary.path, temporary.store.options)
        _ = try await StoreMaintenance.restore(from: home + "/copies", into: home + "/restored", options: options)
        let restored = try await EventStore.open(home + "/restored", options: options)
        #expect(try await count(restored) == 51)
        try await restored.close()
        let pages = try Data(contentsOf: URL(filePath: path + "/log/data.mdb")).prefix(8_192)
        let anchor = try Data(contentsOf: URL(filePath: path + "/anchor"))
        let store = try await temporary.open()
        _ = try await store.append((100 ..< 150).map { try event($0, code: "7", at: v2) })
        try await store.close()
        // All of its pages are there, and the meta page that leads to them is not.
        try FileManager.default.copyItem(atPath: path, toPath: home + "/damaged")
        let file = try FileHandle(forWritingTo: URL(filePath: home + "/damaged/log/data.mdb"))
        try file.write(contentsOf: pages)
        try file.close()
        try anchor.write(to: URL(filePath: home + "/damaged/anchor"))
        let report = try await StoreMaintenance.salvage(home + "/damaged", into: home + "/salvaged", options: options)
        #expect(report.unconfirmed == 50)
        let salvaged = try await EventStore.open(home + "/salvaged", options: options)
        let taken = try await salvaged.importLines(from: .file(home + "/salvaged/unconfirmed.jsonl"), as: v1)
        #expect(taken.added == 50)
        #expect(try await count(salvaged) == 101)
        try await salvaged.close()
    }

    @Test("nothing of what events say lies in the clear, whatever was done with it, but the keys of rows in its read models")
    func canary() async throws {
        let sealed = try await Self.life(isSealed: true)
        #expect(sealed.canary == [])
        #expect(sealed.rowKey.contains("store/generations") && !sealed.rowKey.contains("store/archive"))
        // The same on a plain store finds it everywhere, so that it would be found.
        let plain = try await Self.life(isSealed: false)
        #expect(
            plain.canary == [
                "store/log", "store/generations", "store/archive", "scratch", "copies", "restored", "damaged", "salvaged/log",
                "salvaged/generations", "salvaged/unconfirmed.jsonl",
            ])
    }
}
