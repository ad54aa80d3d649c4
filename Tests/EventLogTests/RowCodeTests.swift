import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestStores
import TestSupport
import Testing
import Torturing

@testable import EventLog

@Suite("A sealed store that somebody without its keys has changed")
struct RowCodeTests {
    private let scene: SealedScene
    private var store: String { scene.directory.store }
    private var intruder: Intruder { get throws { try Intruder(in: store) } }

    init() throws { scene = try SealedScene { ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4) } }

    /// What opening, reading everything and `verify` say of it, without the details of verify.
    private func found(in name: String = "store") async throws -> Set<String> {
        let log: EventLog
        do { log = try scene.open(name) } catch let error as EvstoreError { return [error.code] }
        var found = Set(try log.verify(deep: false).map(\.id))
        do {
            _ = try log.everything()
            for catalogue in Catalogue.allCases { _ = try log.read { try $0.rows(catalogue) } }
            for stream in ["s-0", "s-1", "s-2"] { _ = try log.payloads(stream) }
        } catch let error as EvstoreError { found.insert(error.code) }
        try await log.close()
        return found
    }

    @Test("tells that a row is not the one that was written, with its checksum made right", arguments: Intruder.tables)
    func rows(table: String) async throws {
        try await scene.fillEveryTable()
        #expect(try await found() == [])
        try intruder.change(table) { $0[0].value[0] ^= 1 }
        #expect(try await !found().isDisjoint(with: ["STORE011", "corruptBlock", "storeDamaged"]))
    }

    @Test("tells two rows that have changed places", arguments: Intruder.tables.filter { !["state", "epochs"].contains($0) })
    func exchanged(table: String) async throws {
        try await scene.fillEveryTable()
        #expect(try intruder.exchange(in: table))
        #expect(try await !found().isDisjoint(with: ["STORE011", "corruptBlock"]))
    }

    @Test("tells two types that have changed names, in their table and in every block")
    func types() async throws {
        try await scene.fillEveryTable()
        #expect(try intruder.exchange(in: "types"))
        try intruder.changeBlocks { block in
            for index in block.indices where block[index...].starts(with: Array("type-".utf8)) { block[index + 5] ^= 1 }
        }
        #expect(try await found() == ["corruptBlock"])
    }

    @Test("tells a version file without its `personal: true`")
    func personal() async throws {
        try await scene.fillEveryTable()
        try intruder.replace(#""personal":true"#, #""personal":!!!!"#, in: "schemas")
        #expect(try await found() == ["STORE011", "corruptBlock"])
    }

    @Test("tells types, times, names of streams and ids that were changed in a block")
    func blocks() async throws {
        try await scene.fillEveryTable()
        for (what, old, new) in [("name of a type", "type-1", "type-9"), ("name of a stream", "s-1", "s-9"), ("id", "i-4", "i-7")] {
            let copy = scene.directory.path + "/" + what
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            try Intruder(in: copy).replaceInBlocks(old, new)
            #expect(try await !found(in: what).isDisjoint(with: ["STORE001", "corruptBlock"]), "\(what)")
        }
    }

    @Test("tells a stream's name that was changed where no block has a code: the record that has it is proved")
    func nameProved() async throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens/sealed-5")
        try FileManager.default.copyItem(at: golden, to: URL(filePath: scene.directory.path + "/older"))
        try Intruder(in: scene.directory.path + "/older").replaceInBlocks("s-3", "s-9")
        let log = try scene.open("older")
        #expect(try log.read { try $0.name(ofStream: 3) } == StreamName("s-2"))
        #expect(throws: EvstoreError.self) { try log.read { try $0.name(ofStream: 4) } }
        try await log.close()
        try await scene.log.close()
    }

    @Test("does not believe that it has no codes, whatever its manifest and its rows say")
    func downgraded() async throws {
        try await scene.fillEveryTable()
        for table in Intruder.tables { try intruder.change(table) { for index in $0.indices { $0[index].value.removeLast(16) } } }
        let path = URL(filePath: store + "/evstore.json")
        let manifest = try String(contentsOf: path, encoding: .utf8)
        try Data(manifest.replacing(#""layout" : 8"#, with: #""layout" : 5"#).utf8).write(to: path)
        #expect { try scene.open("store") } throws: { error in
            guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
            return reason.contains("codes")
        }
    }

    @Test("goes on after a crash for who has its keys, and is not put right by who has none")
    func crashed() async throws {
        let copy = scene.directory.path + "/copy"
        func isOpen(_ store: String) throws -> Bool {
            let path = store + WriteAhead.fileName
            guard try Directory.status(path) != nil else { return false }
            return try WriteAhead.Header(File(path, .read).read(WriteAhead.Header.bytes))?.isOpen ?? false
        }
        // LMDB takes what is ahead after a short pause, and this thread may be kept waiting for longer.
        var count = 0
        while try !FileManager.default.fileExists(atPath: copy) || !isOpen(copy) || !isOpen(store) {
            try #require(count < 10_000, "nothing was copied that is ahead")
            if count > 0 { try FileManager.default.removeItem(atPath: copy) }
            for _ in 0 ..< 10 { try await scene.log.add(event("s-\(count % 3)", "\(count)", type: "type-\(count % 50)")) }
            count += 10
            try FileManager.default.createDirectory(atPath: copy + "/log", withIntermediateDirectories: true)
            // Not LMDB's locks, which go when this process closes their file.
            for name in ["evstore.json", "evstore.lock", "keys", "anchor", "log/data.mdb", "log/ahead"]
            where FileManager.default.fileExists(atPath: "\(store)/\(name)") {
                try FileManager.default.copyItem(atPath: "\(store)/\(name)", toPath: "\(copy)/\(name)")
            }
        }
        try await scene.log.close()
        var none = scene.options
        none.secret = nil
        #expect { try EventLog.open(at: copy, options: none) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
        let log = try scene.open("copy")
        #expect(try log.everything().count == count && log.verify(deep: true).isEmpty)
        try await log.close()
    }
}
