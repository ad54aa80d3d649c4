import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("Another LMDB", .serialized)
struct OtherLMDBTests {
    /// A store with a backup, and the commands that make a store of them.
    private struct Scene {
        let orders: Orders
        var path: String { orders.directory.path }
        var backup: String { path + "/backup" }

        init() throws {
            orders = try Orders(count: 5)
            try orders.program.must("backup", orders.directory.path + "/backup")
        }

        var makers: [[String]] {
            [
                ["--store", path + "/made", "init", "--schemas", Orders.schemas], ["restore", backup, "--into", path + "/made"],
                ["salvage", "--into", path + "/made"], ["recipher", "--plain", "--into", path + "/made"],
                ["--store", path + "/made", "follow", "--from", backup, "--once"],
                ["--store", path + "/made", "import", "-", "--as", "v1", "--schemas", Orders.schemas],
            ]
        }

        /// Every file with its bytes, but the hints who holds a lock.
        func files() -> [String: Data] {
            let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
            let files = names.filter { !$0.hasSuffix("evstore.lock") && !$0.hasSuffix("lock.mdb") }.map {
                ($0, FileManager.default.contents(atPath: path + "/" + $0) ?? Data())
            }
            return Dictionary(uniqueKeysWithValues: files)
        }
    }

    private func expectOther(_ outcome: BuiltProgram.Outcome, _ words: [String]) {
        #expect(outcome.exit == 6 && outcome.errors.contains("LMDB 0.9"), "\(words): exit \(outcome.exit) \(outcome.errors)")
        #expect(!outcome.errors.contains("is damaged: ") && !outcome.errors.contains("salvage"), "\(words): \(outcome.errors)")
    }

    @Test("with a library of another release every command says so, with exit 6, and touches nothing", arguments: ["1 0 0", "0 10 0"])
    func release(says: String) throws {
        let scene = try Scene()
        let before = scene.files()
        let other = try scene.orders.program.withLMDB(says: says)
        let others = [
            ["status"], ["verify"], ["export"], ["append", "order-x", "OrderPlaced", "{}"], ["query", "orders"], ["drill"], ["journal"],
            ["backup", scene.backup], ["replay", "--to", "v5", "--schemas", Orders.schemas],
        ]
        for words in others + scene.makers { expectOther(try other.run(words, input: Orders.lines(0 ..< 3)), words) }
        #expect(scene.files() == before)
        try scene.orders.program.must("verify", "--deep")
    }

    @Test("with one that writes another format no maker says that its store is whole, and none is left")
    func format() throws {
        let scene = try Scene()
        let other = try scene.orders.program.withLMDB(writes: 3)
        for words in scene.makers where words.first != "recipher" {
            let store = scene.orders.store
            try FileManager.default.copyItem(atPath: store, toPath: store + "-kept")
            let outcome = try other.run(words, input: Orders.lines(0 ..< 3))
            expectOther(outcome, words)
            #expect(!outcome.output.contains("checked in full"), "\(words)")
            let left = try FileManager.default.contentsOfDirectory(atPath: scene.path).filter { $0.hasPrefix("made") }
            #expect(left == [], "\(words): \(left)")
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: store + "-kept", toPath: store)
        }
    }

    @Test("a file of another format is one of another LMDB; where one meta page alone says so, it is damage")
    func metaPages() throws {
        let scene = try Scene()
        let data = scene.orders.store + "/log/data.mdb"
        let sound = try Data(contentsOf: URL(filePath: data))
        func with(_ change: (inout Data) -> Void) throws -> BuiltProgram.Outcome {
            var bytes = sound
            change(&bytes)
            try bytes.write(to: URL(filePath: data))
            return try scene.orders.program.run("status")
        }
        for format in [2, 3, 231] as [UInt8] {
            expectOther(try with { for page in [0, 4_096] { $0[page + 20] = format } }, ["format \(format)"])
            for page in [0, 4_096] {
                let outcome = try with { $0[page + 20] = format }
                #expect(outcome.exit == 7 && outcome.errors.contains("damaged"), "\(outcome.errors)")
            }
        }
        // As LMDB 1.0 lays it: a header of 24 bytes.
        expectOther(try with { for page in [0, 4_096] { $0.replaceSubrange(page + 8 ..< page + 40, with: Self.laterHeader) } }, ["1.0"])
        try sound.write(to: URL(filePath: data))
        try scene.orders.program.must("verify", "--deep")
    }

    /// From the ninth byte of the page on: transaction, pad, flags, two words that are not used, magic, format.
    private static let laterHeader: [UInt8] =
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0] + [0xde, 0xc0, 0xef, 0xbe, 3, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
}
