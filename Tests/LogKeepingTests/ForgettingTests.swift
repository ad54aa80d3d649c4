import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

@Suite("Personal data in a log")
struct ForgettingTests {
    private let scene: SealedScene

    init() throws { scene = try SealedScene() }

    /// Events of three streams, each with a name that can be forgotten; returns their payloads.
    private func fill(_ log: EventLog, _ numbers: Range<Int>) async throws {
        for number in numbers {
            var made = try event("person-\(number % 3)", #"{"n":\#(number),"name":"Ada \#(number)"}"#)
            made.forgotten = Array(#"{"n":\#(number),"name":""}"#.utf8)
            if number % 2 == 0 { made.shadow = Array("an older name".utf8) }
            _ = try await log.append(AppendRequest(events: [made, event("other", #"{"n":\#(number)}"#)]))
        }
    }

    private func names(_ log: EventLog, _ stream: Int) throws -> Set<Bool> {
        Set(try log.payloads("person-\(stream)").map { $0.contains("Ada") })
    }

    @Test("is read until it is forgotten, and by no handle from then on; the other members stay, and so does the content's digest")
    func forgotten() async throws {
        try await fill(scene.log, 0 ..< 12)
        let other = try scene.open("store")
        #expect(try names(other, 1) == [true])
        let content = try scene.log.contentDigest()
        #expect(try SealedScene.forget("person-1", scene.log)?.isNew == true)
        for log in [scene.log, other] {
            #expect(try names(log, 1) == [false] && names(log, 0) == [true] && names(log, 2) == [true])
            #expect(try log.payloads("other").count == 12 && log.contentDigest() == content)
            #expect(
                try log.read {
                    try $0.record(at: Position(9)) { $0.isForgotten && !$0.hasShadow && text($0.payload) == #"{"n":4,"name":""}"# }
                } == true)
        }
        #expect(try SealedScene.forget("person-1", scene.log)?.isNew == false && SealedScene.forget("other", scene.log) == nil)
        #expect(try scene.log.verify(deep: true).isEmpty)
        try await other.close()
        try await scene.log.close()
        let again = try scene.open("store")
        #expect(try names(again, 1) == [false] && SealedScene.forget("person-1", again)?.isNew == false)
        try await again.close()
    }

    @Test("is forgotten of many streams at once as of one after the other, whatever was forgotten before")
    func many() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let together = try SealedScene()
        for number in 0 ..< 1_200 where Int.random(in: 0 ..< 8, using: &random) > 0 {
            for log in [scene.log, together.log] { try await add(log, number) }
        }
        for _ in 0 ..< 3 {
            let streams = try (0 ..< 1_100).map { _ in try StreamName("p-\(Int.random(in: 0 ..< 1_200, using: &random))") }
            let names = streams.enumerated().filter { !streams[..<$0].contains($1) }.map(\.element)
            let one = try names.map { try SealedScene.forget($0.text, scene.log) }
            var (order, many): ([StreamName], [ForgottenSubject?]) = ([], [])
            try together.log.forget(names) { name, subject in
                order.append(name)
                many.append(subject)
            }
            #expect(order == names && many.map { $0?.isNew } == one.map { $0?.isNew }, "seed \(seed)")
            #expect(try together.log.everything() == scene.log.everything(), "seed \(seed)")
            let all = try Set((0 ..< 1_200).map { try StreamName("p-\($0)") })
            #expect(try together.log.keyed(among: all) == scene.log.keyed(among: all), "seed \(seed)")
        }
        try await scene.log.close()
        try await together.log.close()
    }

    @Test("that is appended after its stream was forgotten has a new key")
    func later() async throws {
        try await fill(scene.log, 0 ..< 6)
        _ = try SealedScene.forget("person-0", scene.log)
        let other = try scene.open("store")
        try await fill(other, 6 ..< 9)
        #expect(try names(scene.log, 0) == [false, true] && scene.log.payloads("person-0").filter { $0.contains("Ada") }.count == 1)
        try await other.close()
        try await scene.log.close()
        let again = try scene.open("store")
        #expect(try names(again, 0) == [false, true] && SealedScene.forget("person-0", again)?.isNew == true)
        #expect(try names(again, 0) == [false] && again.verify(deep: true).isEmpty)
        try await again.close()
    }

    @Test("is shown as forgotten by a handle that had read its key before, and an empty file of keys is begun anew")
    func interrupted() async throws {
        _ = try File(scene.directory.store + "/subjects", .createNew)
        try await fill(scene.log, 0 ..< 6)
        let other = try scene.open("store")
        try await fill(other, 6 ..< 9)
        _ = try SealedScene.forget("person-2", other)
        #expect(try SealedScene.forget("person-2", scene.log)?.isNew == false && names(scene.log, 2) == [false])
        try await other.close()
        try await scene.log.close()
    }

    @Test("is in backups and reciphered stores that were made before a forget, and can be forgotten there too")
    func copies() async throws {
        try await fill(scene.log, 0 ..< 12)
        _ = try SealedScene.forget("person-1", scene.log)
        var backup: [UInt8] = []
        let made = try scene.log.backUp { backup += [UInt8](copying: $1) }
        _ = try EventLog.restore(
            from: ByteSource(backup).read, named: "b", into: scene.directory.path + "/restored", options: scene.options)
        let moved = try scene.log.recipher(into: scene.directory.path + "/moved", secret: SealedScene.secret)
        #expect(moved.content == made.content)
        for name in ["restored", "moved"] {
            let copy = try scene.open(name)
            #expect(try names(copy, 0) == [true] && names(copy, 1) == [false] && names(copy, 2) == [true], "\(name)")
            #expect(try SealedScene.forget("person-2", copy)?.isNew == true && names(copy, 2) == [false], "\(name)")
            #expect(try copy.verify(deep: true).isEmpty && copy.contentDigest() == made.content)
            try await copy.close()
        }
        let plain = try scene.log.recipher(into: scene.directory.path + "/plain", secret: nil)
        let open = try EventLog.open(at: scene.directory.path + "/plain", options: .small())
        #expect(try names(open, 0) == [true] && names(open, 1) == [false] && open.contentDigest() == plain.content)
        try await open.close()
        try await scene.log.close()
    }

    @Test(
        "is neither read nor shown as forgotten where its slot is damaged", arguments: [0, 8, 30, 50, 75, 88, 127, 128 + 3])
    func damaged(offset: Int) async throws {
        try await fill(scene.log, 0 ..< 6)
        try await scene.log.close()
        let path = scene.directory.store + "/subjects"
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        #expect(bytes.count == 4 * 128)
        bytes[128 + offset] ^= 3
        try Data(bytes).write(to: URL(filePath: path))
        let log = try scene.open("store")
        #expect(throws: EvstoreError.self) { for stream in 0 ..< 3 { _ = try log.payloads("person-\(stream)") } }
        #expect(try log.verify(deep: true).contains { $0.id == "STORE016" })
        try await log.close()
        try Directory.remove(path)
        let bare = try scene.open("store")
        #expect(throws: EvstoreError.self) { try bare.payloads("person-0") }
        try await bare.close()
    }

    @Test("two processes that add keys for streams at the same time use no slot twice")
    func together() async throws {
        let other = try scene.open("store")
        for number in stride(from: 0, to: 40, by: 2) {
            async let one: Void = add(scene.log, number)
            async let two: Void = add(other, number + 1)
            _ = try await (one, two)
        }
        #expect(try Set(scene.log.everything().map { $0.contains("Ada") }) == [true])
        #expect(try SealedScene.forget("p-7", scene.log)?.isNew == true && other.payloads("p-7").allSatisfy { !$0.contains("Ada") })
        #expect(try other.everything().filter { $0.contains("Ada") }.count == 39 && other.verify(deep: true).isEmpty)
        try await other.close()
        try await scene.log.close()
    }

    private func add(_ log: EventLog, _ number: Int) async throws {
        var made = try event("p-\(number)", #"{"name":"Ada"}"#)
        made.forgotten = Array(#"{"name":""}"#.utf8)
        _ = try await log.append(AppendRequest(events: [made]))
    }
}
