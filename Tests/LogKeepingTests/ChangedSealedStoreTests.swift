import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import TestStores
import TestSupport
import Testing
import Torturing

@testable import LogKeeping

@Suite("Restores and salvages of a sealed store that somebody without its keys has changed")
struct ChangedSealedStoreTests {
    private let scene: SealedScene
    private var store: String { scene.directory.store }
    private var intruder: Intruder { get throws { try Intruder(in: store) } }

    init() throws { scene = try SealedScene { ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4) } }

    @Test("a restore refuses a changed frame whose links all hold, and one without codes")
    func frames() async throws {
        for number in 0 ..< 5 { try await scene.log.add(event("s-\(number)", "\(number)")) }
        try await scene.log.update { try $0.put(.schemas, [1], Array(SealedScene.version.utf8)) }
        var backup: [UInt8] = []
        _ = try scene.log.backUp { backup += [UInt8](copying: $1) }
        try await scene.log.close()
        func restore(_ bytes: [UInt8], _ name: String) throws {
            let target = "\(scene.directory.path)/\(name)"
            _ = try EventLog.restore(from: ByteSource(bytes).read, named: "b", into: target, options: scene.options)
        }
        try restore(backup, "whole")
        var (frames, writer, changed) = (FrameReader(ByteSource(backup).read), FrameWriter(), [UInt8]())
        while true {
            var (kind, body) = try frames.next()
            if kind == .rows, let found = Data(body).range(of: Data(#""personal":true"#.utf8)) {
                body.replaceSubrange(found, with: Array(#""personal":null"#.utf8))
            }
            try writer.write(kind, body.lent) { changed += [UInt8](copying: $0) }
            if kind == .end { break }
        }
        #expect(Data(changed).range(of: Data(#""personal":null"#.utf8)) != nil)
        #expect { try restore(changed, "changed") } throws: { ($0 as? EvstoreError)?.code == "backupDamaged" }
    }

    @Test("a salvage copies only rows and blocks whose codes the store's keys make")
    func salvaged() async throws {
        try await scene.fillEveryTable()
        try intruder.replace(#""personal":true"#, #""personal":!!!!"#, in: "schemas")
        #expect(try intruder.exchange(in: "types"))
        var schemas: [(key: [UInt8], value: [UInt8])] = []
        let summary = try EventLog.salvage(
            at: store, into: scene.directory.path + "/new", options: scene.options, unconfirmed: { _, _, _ in },
            finish: { schemas = $1.catalogues[.schemas] ?? [] })
        #expect(summary.events == 12 && schemas.isEmpty && summary.lostRows.contains("schemas"))
        let log = try scene.open("new")
        #expect(try log.everything().filter { $0.contains("type-1") }.count == 6 && log.verify(deep: true).isEmpty)
        try await log.close()
        try intruder.replaceInBlocks("i-4", "i-7")
        let later = try EventLog.salvage(
            at: store, into: scene.directory.path + "/later", options: scene.options, unconfirmed: { _, _, _ in }, finish: { _, _ in })
        #expect(later.events == 4 && later.unopened == 8, "the links of those behind it were made anew")
    }
}
