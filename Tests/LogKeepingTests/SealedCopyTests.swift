import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import Sealing
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

@Suite("Copies of a sealed log")
struct SealedCopyTests {
    private func restore(_ backup: [UInt8], _ scene: SealedScene, _ name: String, _ options: Options, to point: RestoreTarget? = nil) throws
    {
        _ = try EventLog.restore(
            from: ByteSource(backup).read, named: "b", into: "\(scene.directory.path)/\(name)", to: point, options: options)
    }

    @Test("a backup is sealed as the log is, continues under new keys, and is restored with a secret that opens them")
    func backup() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 40)
        var (blocks, rows): ([UInt8], [UInt8]) = ([], [])
        let first = try scene.log.backUp { if $0 == .blocks { blocks += [UInt8](copying: $1) } }
        _ = try scene.log.changeKeys { ring throws(SealError) in try ring.rotate(.gcm, time: 1) }
        try await SealedScene.fill(scene.log, 40 ..< 60)
        let second = try scene.log.backUp(after: first.base) {
            if $0 == .blocks { blocks += [UInt8](copying: $1) } else { rows += [UInt8](copying: $1) }
        }
        let backup = blocks + rows
        #expect(Data(backup).range(of: Data(SealedScene.canary.utf8)) == nil)
        try restore(backup, scene, "restored", scene.options)
        try restore(backup, scene, "early", scene.options, to: .position(Position(17)))
        let copy = try scene.open("restored")
        #expect(try SealedScene.parts(copy) == SealedScene.parts(scene.log) && copy.contentDigest() == second.content)
        try await SealedScene.fill(copy, 70 ..< 75)
        try await SealedScene.fill(scene.log, 70 ..< 75)
        // No key is used for another text.
        let (uses, others) = try (SealedScene.uses(copy), SealedScene.uses(scene.log))
        #expect(uses.allSatisfy { others[$0.key] == nil || others[$0.key] == $0.value })
        #expect(uses.contains { others[$0.key] == nil } && uses.contains { others[$0.key] == $0.value })
        #expect(try copy.verify(deep: true).isEmpty && copy.dataKeysInUse() == [1, 2])
        var none = scene.options
        none.secret = nil
        #expect { try restore(backup, scene, "none", none) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
        try await copy.close()
        try await scene.log.close()
    }

    @Test("a backup of an earlier program is restored to a store of its own format, without codes")
    func golden() async throws {
        let scene = try SealedScene()
        try await scene.log.close()
        let golden = URL(filePath: Checkout.path("Tests/EventLogTests/Goldens/sealed-5.evf"))
        try restore([UInt8](Data(contentsOf: golden)), scene, "older", scene.options)
        let log = try scene.open("older")
        try await log.add(event("s-3", "new"))
        #expect(try log.payloads("s-3").last == "new" && log.everything().count == 64 && log.verify(deep: true).isEmpty)
        var again: [UInt8] = []
        _ = try log.backUp { again += [UInt8](copying: $1) }
        try await log.close()
        try restore(again, scene, "again", scene.options)
        let manifest = try String(contentsOfFile: scene.directory.path + "/again/evstore.json", encoding: .utf8)
        #expect(manifest.contains("\"layout\" : 5"))
    }

    @Test("a restore of an unsealed backup with a key is refused")
    func plainBackup() async throws {
        let scene = try SealedScene { $0.secret = nil }
        try await SealedScene.fill(scene.log, 1 ..< 4)
        var backup: [UInt8] = []
        _ = try scene.log.backUp { backup += [UInt8](copying: $1) }
        var options = scene.options
        options.secret = SealedScene.secret
        #expect { try restore(backup, scene, "copy", options) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
        try await scene.log.close()
    }

    @Test(
        "a recipher makes a store of equal content and positions under other keys or none, also of a log with cuts",
        arguments: [(true, true), (true, false), (false, true)])
    func recipher(from isSealed: Bool, to becomesSealed: Bool) async throws {
        let scene = try SealedScene { $0.secret = isSealed ? SealedScene.secret : nil }
        try await SealedScene.fill(scene.log, 1 ..< 40)
        try await scene.log.update { try $0.cut(to: Position(30)) }
        try await SealedScene.fill(scene.log, 50 ..< 90)
        try await scene.log.update { try $0.put(.schemas, [1], [2]) }
        let secret = becomesSealed ? StoreSecret.key([UInt8](repeating: 5, count: 32)) : nil
        let done = try scene.log.recipher(into: scene.directory.path + "/new", secret: secret)
        #expect(try done.content == scene.log.contentDigest() && done.last.position == scene.log.read { $0.last.position })
        var options = scene.options
        options.secret = secret
        let new = try EventLog.open(at: scene.directory.path + "/new", options: options)
        #expect(try SealedScene.parts(new) == SealedScene.parts(scene.log) && new.verify(deep: true).isEmpty)
        #expect(try new.read { try $0.rows(.schemas).map(\.value) } == [[2]])
        #expect(try new.read { try $0.cuts() } == scene.log.read { try $0.cuts() } + [done.last])
        #expect(new.storeID != scene.log.storeID && (new.keyFile != nil) == becomesSealed)
        try await SealedScene.fill(new, 100 ..< 105)
        #expect(try new.verify(deep: true).isEmpty)
        #expect(try SealedScene.files(under: new.path, with: SealedScene.canary).isEmpty == becomesSealed)
        try await new.close()
        try await scene.log.close()
    }

    @Test("a salvage copies the sealed events of a damaged log, with or without gaps, and they stay sealed", arguments: [false, true])
    func salvage(hasGap: Bool) async throws {
        let scene = try SealedScene()
        for start in stride(from: 1, to: 80, by: 10) { try await SealedScene.fill(scene.log, start ..< start + 10) }
        let all = try SealedScene.parts(scene.log)
        try await scene.log.close()
        if hasGap { try Self.damageSecondBlock(scene.directory.store) }
        let summary = try EventLog.salvage(at: scene.directory.store, into: scene.directory.path + "/new", options: scene.options) {
            _, _, _ in
        } finish: {
            update, _ in
            update.state.head = SchemaVersion(1)
        }
        #expect(summary.renumbered == hasGap && summary.gaps.isEmpty != hasGap, "\(summary)")
        let new = try scene.open("new")
        let parts = try SealedScene.parts(new)
        #expect(hasGap ? parts.count == Int(summary.events) && parts.count < all.count && parts.count > 20 : parts == all)
        #expect(try new.verify(deep: true).isEmpty)
        #expect(try SealedScene.files(under: new.path, with: SealedScene.canary) == [])
        try await new.close()
        var none = scene.options
        none.secret = nil
        #expect(throws: EvstoreError.self) {
            try EventLog.salvage(at: scene.directory.store, into: scene.directory.path + "/none", options: none) { _, _, _ in
            } finish: { _, _ in
            }
        }
    }

    /// Changes a byte of every copy of the blocks from position 15 to 40.
    private static func damageSecondBlock(_ store: String) throws {
        let path = store + "/log/data.mdb"
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let tag = try Manifest.identity(at: store).id.tag
        for start in stride(from: 0, to: bytes.count - 96, by: 2) where bytes.lent.load(UInt32.self, at: start) == BlockLayout.magic {
            guard bytes.lent.load(UInt64.self, at: start + 8) == tag else { continue }
            if (15 ... 40).contains(bytes.lent.load(UInt64.self, at: start + 16)) { bytes[start + 90] ^= 0xff }
        }
        try Data(bytes).write(to: URL(filePath: path))
        try Directory.remove(store + "/log/ahead")
    }
}
