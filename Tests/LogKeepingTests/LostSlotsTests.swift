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

@Suite("A file of keys of streams that lacks slots")
struct LostSlotsTests {
    private let scene: SealedScene
    private var subjects: String { scene.directory.store + "/subjects" }

    init() throws { scene = try SealedScene() }

    private func add(_ log: EventLog, _ persons: Int...) async throws {
        for person in persons {
            var made = try event("person-\(person)", #"{"name":"Ada \#(person)"}"#)
            made.forgotten = Array(#"{"name":""}"#.utf8)
            _ = try await log.append(AppendRequest(events: [made]))
        }
        // While appends follow each other, LMDB does not have them yet, and not the note either.
        try await log.update { _ in }
    }

    private func lose(_ how: String) throws {
        if how == "gone" { return try Directory.remove(subjects) }
        let kept = try Data(contentsOf: URL(filePath: subjects)).prefix(how == "empty" ? 0 : 2 * SubjectSlot.byteCount)
        try kept.write(to: URL(filePath: subjects))
    }

    private func isRefused(_ error: any Error) -> Bool {
        guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
        return reason.contains("keys were made up to slot 3")
    }

    @Test(
        "is found by a plain verify; no slot is handed out until the file is whole, and then none twice; other appends go on",
        arguments: ["gone", "empty", "short"])
    func refused(how: String) async throws {
        try await add(scene.log, 1, 2, 3)
        let whole = try Data(contentsOf: URL(filePath: subjects))
        try lose(how)
        for log in try [scene.log, scene.open("store")] {
            let findings = try log.verify(deep: false)
            #expect(findings.map(\.id) == ["STORE016"] && findings[0].message.contains("keys were made up to slot 3"), "\(findings)")
            #expect(findings[0].fix?.contains("salvage") == true)
            await #expect { try await add(log, 4) } throws: { isRefused($0) }
            #expect(throws: EvstoreError.self) { _ = try log.makeLineSealer() }
            _ = try await log.append(AppendRequest(events: [event("other", "{}")]))
            if log !== scene.log { try await log.close() }
        }
        #expect(try how == "gone" || Data(contentsOf: URL(filePath: subjects)).count <= 2 * SubjectSlot.byteCount, "nothing is written")
        try whole.write(to: URL(filePath: subjects))
        try await add(scene.log, 4, 2)
        #expect(try (1 ... 4).allSatisfy { try scene.log.payloads("person-\($0)").allSatisfy { $0.contains("Ada") } })
        #expect(try scene.log.verify(deep: true).isEmpty && Data(contentsOf: URL(filePath: subjects)).count == 5 * SubjectSlot.byteCount)
        try await scene.log.close()
    }

    @Test("in a store of an older program it is found from the next append on, and in a restored store at once")
    func olderAndRestored() async throws {
        try await add(scene.log, 1, 2, 3)
        var backup: [UInt8] = []
        _ = try scene.log.backUp { backup += [UInt8](copying: $1) }
        try await scene.log.close()
        try await scene.removeNoteOfSlots()
        let log = try scene.open("store")
        _ = try await log.append(AppendRequest(events: [event("other", "{}")]))
        try lose("short")
        await #expect { try await add(log, 4) } throws: { isRefused($0) }
        try await log.close()
        _ = try EventLog.restore(
            from: ByteSource(backup).read, named: "b", into: scene.directory.path + "/restored", options: scene.options)
        try Directory.remove(scene.directory.path + "/restored/subjects")
        let restored = try scene.open("restored")
        #expect(try restored.verify(deep: false).map(\.id) == ["STORE016"])
        await #expect { try await add(restored, 4) } throws: { isRefused($0) }
        try await restored.close()
    }

    @Test("a person whose slot it lacks is forgotten also in a copy that has the slot; a salvage keeps what the file has, and goes on")
    func forgotten() async throws {
        try await add(scene.log, 1, 2, 3)
        let whole = try Data(contentsOf: URL(filePath: subjects))
        try lose("short")
        let forgotten = try #require(try SealedScene.forget("person-3", scene.log))
        try await scene.log.update { try $0.note([forgotten]) }
        #expect(try SealedScene.forget("person-9", scene.log) == nil)
        try whole.write(to: URL(filePath: subjects))
        #expect(try scene.log.verify(deep: false).map(\.id) == ["STORE017"])
        try lose("short")
        try await scene.log.close()
        let summary = try EventLog.salvage(
            at: scene.directory.store, into: scene.directory.path + "/new", options: scene.options,
            unconfirmed: { _, _, lend in try lend { _, _, _ in } }, finish: { update, _ in update.state.head = SchemaVersion(1) })
        #expect(summary.lostKeys.map(\.stream) == ["person-2", "person-3"])
        let new = try scene.open("new")
        try await add(new, 2, 4)
        let shown = try (1 ... 4).map { person in try new.payloads("person-\(person)").map { $0.contains("Ada") } }
        #expect(shown == [[true], [false, true], [false], [true]])
        #expect(try new.verify(deep: true).isEmpty)
        try await new.close()
    }
}

extension SealedScene {
    /// Removes the note of how many slots of the file of keys were handed out, as a store of an older program has none.
    func removeNoteOfSlots() async throws {
        let log = try open("store")
        try await log.update { update in try update.access.tables.state.delete(Array("slots".utf8).lent, &update.transaction) }
        try await log.close()
    }
}
