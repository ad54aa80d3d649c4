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

@Suite("A damaged key of a stream")
struct DamagedSlotTests {
    private let scene: SealedScene
    private var subjects: URL { URL(filePath: scene.directory.store + "/subjects") }

    init() throws { scene = try SealedScene() }

    /// Events of three streams with a name that can be forgotten, and one of none; the slots are 1, 2 and 3.
    private func fill(_ log: EventLog, _ numbers: Range<Int>) async throws {
        for number in numbers {
            var made = try event("person-\(number % 3)", #"{"n":\#(number),"name":"Ada \#(number)"}"#)
            made.forgotten = Array(#"{"n":\#(number),"name":""}"#.utf8)
            _ = try await log.append(AppendRequest(events: [made, event("other", #"{"n":\#(number)}"#)]))
        }
    }

    /// Which of a stream's events show the name.
    private func names(_ log: EventLog, _ stream: Int) throws -> [Bool] { try log.payloads("person-\(stream)").map { $0.contains("Ada") } }

    private func change(_ body: (inout [UInt8]) -> Void) throws {
        var bytes = [UInt8](try Data(contentsOf: subjects))
        body(&bytes)
        try Data(bytes).write(to: subjects)
    }

    private func flip(slot: Int, at offset: Int) throws { try change { $0[slot * 128 + offset] ^= 3 } }

    private func salvage(_ name: String = "new") throws -> SalvageReport {
        try EventLog.salvage(at: scene.directory.store, into: scene.directory.path + "/" + name, options: scene.options) { _, _, lend in
            try lend { _, _, _ in }
        } finish: { update, _ in
            update.state.head = SchemaVersion(1)
        }
    }

    private func isDamage(_ error: any Error, of stream: String) -> Bool {
        guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
        return reason.contains(stream)
    }

    @Test(
        "damages its stream alone: other streams are read and appended to, and so are new events of this one",
        arguments: [0, 8, 30, 50, 75])
    func reads(offset: Int) async throws {
        try await fill(scene.log, 0 ..< 6)
        try flip(slot: 2, at: offset)
        for log in try [scene.log, scene.open("store")] {
            #expect { try log.payloads("person-1") } throws: { isDamage($0, of: "person-1") }
            #expect { try log.everything() } throws: { isDamage($0, of: "person-1") }
            #expect(try names(log, 0) == [true, true] && names(log, 2) == [true, true] && log.payloads("other").count == 6)
            if log !== scene.log { try await log.close() }
        }
        let last = try scene.log.read { $0.last.position }
        try await fill(scene.log, 6 ..< 9)
        #expect(try scene.log.read { try $0.record(at: Position(last.rawValue + 3)) { text($0.payload) } }?.contains("Ada 7") == true)
        #expect { try scene.log.payloads("person-1") } throws: { isDamage($0, of: "person-1") }
        try await scene.log.close()
    }

    @Test(
        "is reported by a verification with its stream's name, and so is each other damaged key, however little is left of it",
        arguments: [8, 50])
    func verify(offset: Int) async throws {
        try await fill(scene.log, 0 ..< 6)
        try flip(slot: 1, at: offset)
        try flip(slot: 3, at: 50)
        let shallow = try scene.log.verify(deep: false)
        #expect(shallow.map(\.id) == ["STORE016", "STORE016"])
        #expect(shallow[0].message.contains("person-0") == (offset == 50) && shallow[1].message.contains("the stream person-2 (slot 3"))
        let deep = try scene.log.verify(deep: true)
        #expect(deep.map(\.id) == ["STORE016", "STORE016"] && deep.allSatisfy { $0.message.contains("2 of its events") })
        #expect(deep[0].message.contains("person-0") && deep[0].position == Position(1) && deep[1].message.contains("person-2"))
        #expect(
            deep[1].fix?.contains(" from byte \(3 * SubjectSlot.byteCount) of the file subjects on") == true
                && deep[1].fix?.contains("StoreMaintenance.salvage(_:into:)") == true)
        try change { $0 = Array($0[..<(2 * 128)]) }
        let messages = try scene.log.verify(deep: true).map(\.message)
        #expect(
            messages.first?.contains("has 1 slots") == true
                && messages.count { $0.hasSuffix("is missing") || $0.contains("is missing: ") } == 2)
        try await scene.log.close()
    }

    @Test("is found with and without the codes that prove whole slots in little time, whose loss is no finding")
    func codes() async throws {
        try await fill(scene.log, 0 ..< 6)
        let path = scene.directory.store + "/slot-codes"
        let (codes, slots) = (try Data(contentsOf: URL(filePath: path)), try Data(contentsOf: subjects))
        #expect(codes.count == 4 * 16)
        var other = codes
        for index in other.indices { other[index] ^= 1 }
        for written in [codes, nil, Data(), Data(count: codes.count), codes.prefix(40), other] {
            if let written { try written.write(to: URL(filePath: path)) } else { try FileManager.default.removeItem(atPath: path) }
            #expect(try scene.log.verify(deep: false).isEmpty)
            for offset in [0, 4, 8, 30, 87, 100] {
                try flip(slot: 2, at: offset)
                #expect(try scene.log.verify(deep: false).map(\.id) == ["STORE016"], "\(offset)")
                try slots.write(to: subjects)
            }
        }
        // Another slot with its own code, in the place of one.
        try (codes.prefix(32) + codes[16 ..< 32] + codes.suffix(16)).write(to: URL(filePath: path))
        try change { $0[256 ..< 384] = $0[128 ..< 256] }
        #expect(try scene.log.verify(deep: false).map(\.id) == ["STORE016"])
        try slots.write(to: subjects)
        try await fill(scene.log, 6 ..< 9)
        #expect(try SealedScene.forget("person-1", scene.log)?.isNew == true)
        #expect(try scene.log.verify(deep: false).isEmpty)
        try await scene.log.close()
    }

    @Test("is not looked at by a scan that leaves the personal parts of these events closed, which stops at it otherwise")
    func closed() async throws {
        try await fill(scene.log, 0 ..< 6)
        try flip(slot: 2, at: 50)
        let kinds = try scene.log.read { try $0.census() }.map { EventKind(type: $0.type, born: $0.born) }
        var (closed, whole): ([String], Int) = ([], 0)
        try scene.log.scan(after: .start, form: .openedExceptPersons(of: kinds)) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                if record.isClosed { closed.append(text(record.payload)) } else { whole += 1 }
            }
            return true
        }
        #expect(closed == (0 ..< 6).map { #"{"n":\#($0),"name":""}"# } && whole == 6)
        #expect { try scene.log.scan(after: .start, form: .openedExceptPersons(of: [])) { _, _ in true } } throws: {
            isDamage($0, of: "person-1")
        }
        try await scene.log.close()
    }

    @Test("that a power cut tears during a forget is reported as damage or is as before, and a repeated forget overwrites it")
    func torn() async throws {
        try await fill(scene.log, 0 ..< 6)
        let before = [UInt8](try Data(contentsOf: subjects))
        #expect(try SealedScene.forget("person-1", scene.log)?.isNew == true)
        let after = [UInt8](try Data(contentsOf: subjects))
        for cut in stride(from: 256, through: 384, by: 8) {
            for torn in [Array(after[..<cut] + before[cut...]), Array(before[..<cut] + after[cut...])] {
                try Data(torn).write(to: subjects)
                do { #expect(try Set(names(scene.log, 1)).count == 1, "\(cut)") } catch {
                    #expect(isDamage(error, of: "person-1"), "\(cut)")
                }
                let log = try scene.open("store")
                #expect(try SealedScene.forget("person-1", log)?.isNew == (torn != after), "\(cut)")
                #expect(try names(log, 1) == [false, false] && names(log, 2) == [true, true] && log.verify(deep: true).isEmpty, "\(cut)")
                try await log.close()
            }
        }
        try await scene.log.close()
    }

    @Test(
        "whose code is damaged is forgotten with its stream, whose events name it, and so is an older copy that was put back",
        arguments: [8, 50])
    func putBack(offset: Int) async throws {
        try await fill(scene.log, 0 ..< 6)
        let whole = [UInt8](try Data(contentsOf: subjects))
        try flip(slot: 2, at: offset)
        let later = try scene.open("store")
        try await fill(later, 6 ..< 9)
        #expect(try SealedScene.forget("person-1", later)?.isNew == true)
        #expect(try names(later, 1) == [false, false, false] && later.verify(deep: true).isEmpty)
        try await later.close()
        try change { $0[256 ..< 384] = whole[256 ..< 384] }
        for (log, isNew) in [(try scene.open("store"), true), (try scene.open("store"), false)] {
            #expect(try names(log, 1) == [isNew, isNew, false])
            #expect(try SealedScene.forget("person-1", log)?.isNew == isNew)
            #expect(try names(log, 1) == [false, false, false] && names(log, 2) == [true, true, true] && log.verify(deep: true).isEmpty)
            try await log.close()
        }
        try await scene.log.close()
    }

    @Test("is forgotten by a handle that has read it damaged, whatever its state is now, and a repeated forget says that it was")
    func seen() async throws {
        try await fill(scene.log, 0 ..< 6)
        let whole = [UInt8](try Data(contentsOf: subjects))
        try flip(slot: 2, at: 8)
        let log = try scene.open("store")
        _ = try await log.append(AppendRequest(events: [event("other", #"{"n":9}"#)]))
        try change { $0 = whole }
        #expect(try names(log, 1) == [true, true] && SealedScene.forget("person-1", log)?.isNew == true)
        #expect(try SealedScene.forget("person-1", log)?.isNew == false && names(log, 1) == [false, false])
        try change { $0[256 + 8] ^= 3 }
        #expect(try SealedScene.forget("person-1", log)?.isNew == true && SealedScene.forget("person-1", log)?.isNew == false)
        #expect(try names(log, 0) == [true, true] && names(log, 2) == [true, true] && log.verify(deep: true).isEmpty)
        try await log.close()
        try await scene.log.close()
    }

    @Test("costs a salvage only the personal data: it copies the rest of the events, and the new store says whose key was lost")
    func salvaged() async throws {
        try await fill(scene.log, 0 ..< 9)
        _ = try SealedScene.forget("person-0", scene.log)
        try await scene.log.close()
        try flip(slot: 2, at: 50)
        try change { $0 = Array($0[..<(3 * 128 + 70)]) }
        let summary = try salvage()
        #expect(summary.events == 18 && summary.gaps.isEmpty && !summary.renumbered && summary.unopened == 0)
        #expect(summary.lostKeys.map { "\($0.stream) \($0.events)" } == ["person-1 3", "person-2 3"])
        let log = try scene.open("new")
        for stream in 0 ..< 3 { #expect(try names(log, stream) == [false, false, false]) }
        #expect(try log.payloads("person-1")[1] == #"{"n":4,"name":""}"# && log.payloads("other").count == 9)
        #expect(try log.verify(deep: true).isEmpty)
        let slots = [UInt8](try Data(contentsOf: URL(filePath: log.path + "/subjects")))
        #expect([128, 256, 384].map { slots[$0] } == [2, 3, 3])
        try await fill(log, 9 ..< 12)
        #expect(try names(log, 1) == [false, false, false, true])
        #expect(try SealedScene.forget("person-1", log)?.isNew == true && names(log, 1) == [false, false, false, false])
        #expect(try SealedScene.forget("person-2", log)?.isNew == true && SealedScene.forget("person-2", log)?.isNew == false)
        try await log.close()
    }

    @Test("beside blocks under a retired data key: a salvage leaves those blocks out, counts them, and copies the rest")
    func unopened() async throws {
        try await fill(scene.log, 0 ..< 6)
        for numbers in [6 ..< 9, 9 ..< 12] {
            _ = try scene.log.changeKeys { ring throws(SealError) in try ring.rotate(.gcm, time: 1) }
            try await fill(scene.log, numbers)
        }
        try scene.log.changeKeys { ring throws(SealError) in try ring.retire(.dataKey, 2) }
        try await scene.log.close()
        try flip(slot: 2, at: 75)
        let summary = try salvage()
        #expect(summary.unopened == 6 && summary.dataKeys == [2] && summary.gaps == [13 ... 18] && summary.renumbered)
        #expect(summary.events == 18 && summary.lostKeys.map { "\($0.stream) \($0.events)" } == ["person-1 3"])
        let log = try scene.open("new")
        #expect(try names(log, 0) == [true, true, true] && names(log, 1) == [false, false, false])
        #expect(try log.payloads("other") == [0, 1, 2, 3, 4, 5, 9, 10, 11].map { #"{"n":\#($0)}"# } && log.verify(deep: true).isEmpty)
        #expect(try SealedScene.forget("person-1", log)?.isNew == true, "its key was lost, and not forgotten")
        try await log.close()
    }

    @Test("stops a backup, and a restore of a backup that holds it, with the stream's name")
    func backups() async throws {
        try await fill(scene.log, 0 ..< 6)
        var backup: [UInt8] = []
        _ = try scene.log.backUp { backup += [UInt8](copying: $1) }
        try restore(backup, "whole")
        var (frames, changed) = (FrameReader(ByteSource(backup).read), [UInt8]())
        var writer = FrameWriter(after: nil, scene.log.access.keys?.codes)
        while changed.count < backup.count {
            var (kind, body) = try frames.next()
            if kind == .subjects { body[2 * 128 + 50] ^= 1 }
            try writer.write(kind, body.lent) { changed += [UInt8](copying: $0) }
        }
        #expect { try restore(changed, "damaged") } throws: { error in
            guard case EvstoreError.backupDamaged(_, let reason) = error else { return false }
            return reason.contains("person-1") && (error as? EvstoreError)?.fix?.contains("another backup") == true
        }
        #expect(try Directory.status(scene.directory.path + "/damaged") == nil)
        try flip(slot: 2, at: 50)
        #expect { try scene.log.backUp { _, _ in } } throws: { isDamage($0, of: "slot 2") }
        try await scene.log.close()
    }

    private func restore(_ backup: [UInt8], _ name: String) throws {
        _ = try EventLog.restore(
            from: ByteSource(backup).read, named: "b", into: "\(scene.directory.path)/\(name)", options: scene.options)
    }

    @Test("is not reported for slots that a power cut has left blank: they are skipped")
    func blank() async throws {
        try await fill(scene.log, 0 ..< 3)
        try change { $0 += [UInt8](repeating: 0, count: 3 * 128 + 17) }
        try await fill(scene.log, 3 ..< 6)
        var made = try event("person-9", #"{"name":"Ada"}"#)
        made.forgotten = Array(#"{"name":""}"#.utf8)
        _ = try await scene.log.append(AppendRequest(events: [made]))
        #expect(try names(scene.log, 9) == [true] && names(scene.log, 1) == [true, true] && scene.log.verify(deep: true).isEmpty)
        var backup: [UInt8] = []
        _ = try scene.log.backUp { backup += [UInt8](copying: $1) }
        try restore(backup, "again")
        let log = try scene.open("again")
        #expect(
            try names(log, 9) == [true] && SealedScene.forget("person-9", log)?.isNew == true && SealedScene.forget("nobody", log) == nil)
        try await log.close()
        try await scene.log.close()
    }

    @Test("a file of keys that is longer than possible is reported as damage at once, and its slots are still read")
    func sparse() async throws {
        try await fill(scene.log, 0 ..< 6)
        let file = try FileHandle(forUpdating: subjects)
        try file.truncate(atOffset: 1 << 40)
        try file.close()
        let other = try scene.open("store")
        await #expect { try await fill(other, 6 ..< 7) } throws: { isDamage($0, of: "more than") }
        #expect { try SealedScene.forget("person-1", other) } throws: { isDamage($0, of: "more than") }
        #expect { try other.backUp { _, _ in } } throws: { isDamage($0, of: "more than") }
        #expect(try names(other, 1) == [true, true])
        let findings = try other.verify(deep: true)
        #expect(findings.map(\.id) == ["STORE016"] && findings[0].message.contains("more than"))
        try await other.close()
        try await scene.log.close()
    }

    @Test("in a file that was lost and that an older program began anew: no other stream's key is used, and a salvage copies the rest")
    func begunAnew() async throws {
        try await fill(scene.log, 0 ..< 3)
        try await scene.log.close()
        try await scene.removeNoteOfSlots()
        try Directory.remove(scene.directory.store + "/subjects")
        let log = try scene.open("store")
        try await fill(log, 5 ..< 8)
        #expect(throws: EvstoreError.self) { try log.payloads("person-2") }
        #expect(try log.verify(deep: true).map(\.id) == ["STORE015", "STORE015", "STORE015"])
        try await log.close()
        let summary = try salvage()
        #expect(summary.events == 12 && summary.gaps.isEmpty && summary.unopened == 0 && summary.renumbered)
        #expect(summary.lostKeys.map { "\($0.stream) \($0.events)" } == ["person-0 1", "person-1 1", "person-2 1"])
        let new = try scene.open("new")
        for stream in 0 ..< 3 { #expect(try names(new, stream) == [false, true]) }
        #expect(
            try new.verify(deep: true).isEmpty && SealedScene.forget("person-2", new)?.isNew == true && names(new, 2) == [false, false])
        try await new.close()
    }

    @Test(
        "that is missing or another stream's stops each backup and the content's digest, which leave personal parts closed",
        arguments: ["zeros", "short", "gone", "anew", "anew in order"])
    func missing(how: String) async throws {
        try await fill(scene.log, 0 ..< 6)
        let first = try scene.log.backUp { _, _ in }
        // It notes nothing on its own, whenever the next events come, as a handle that writes does when it ends a round of commits.
        let reader = try EventLog.open(at: scene.directory.store, options: scene.options, readOnly: true)
        #expect(try reader.contentDigest() == first.content)
        try await scene.log.close()
        switch how {
        case "zeros": try change { for index in 256 ..< 384 { $0[index] = 0 } }
        case "short": try change { $0 = Array($0[..<256]) }
        default: try Directory.remove(scene.directory.store + "/subjects")
        }
        if how.hasPrefix("anew") {
            try await scene.removeNoteOfSlots()
            let log = try scene.open("store")
            try await fill(log, how == "anew" ? 7 ..< 10 : 6 ..< 9)
            try await log.close()
        }
        func isNoticed(_ error: any Error) -> Bool {
            if ["gone", "short"].contains(how), isDamage(error, of: "keys were made up to slot") { return true }
            guard how == "anew in order" else { return isDamage(error, of: "which events of person-") }
            guard case EvstoreError.corruptBlock(_, let reason) = error else { return false }
            return reason.contains("the personal part of the event at 1 can't be opened")
        }
        for log in try [reader, scene.open("store")] {
            #expect { try log.contentDigest() } throws: { isNoticed($0) }
            #expect { try log.backUp { _, _ in } } throws: { isNoticed($0) }
            #expect { try log.backUp(after: first.base) { _, _ in } } throws: { isNoticed($0) }
            try await log.close()
        }
    }
}
