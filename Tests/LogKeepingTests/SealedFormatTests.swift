import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

/// The golden store of format 6 was made by a program of 2026-11-26: 48 events in 6 commits, with ids, and persons of whom one is forgotten.
@Suite("A sealed store of an earlier format")
struct SealedFormatTests {
    private let scene: SealedScene
    private var store: String { scene.directory.path + "/older" }
    private static let goldens = Checkout.path("Tests/EventLogTests/Goldens")

    init() async throws {
        scene = try SealedScene()
        try await scene.log.close()
        try FileManager.default.copyItem(atPath: Self.goldens + "/sealed-6", toPath: store)
    }

    /// How many blocks have one envelope, and how many one for each record.
    private func forms(_ log: EventLog) throws -> (whole: Int, byRecord: Int) {
        var forms = (whole: 0, byRecord: 0)
        var scan = LogScan(log.access, log.options, after: .start, form: .sealed)
        while try log.access.environment.read({ transaction in
            try scan.runChunk(transaction) { block in
                if block.isWhole { forms.whole += 1 } else { forms.byRecord += 1 }
                return true
            }
        }) {}
        return forms
    }

    /// What `export` has printed of each event of the golden store.
    private static func exported() throws -> [String] {
        try String(contentsOfFile: goldens + "/sealed-6.jsonl", encoding: .utf8).split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let data = try #require(object?["data"] as? [String: Any])
            return "\(data["id"] ?? "") \(data["text"] ?? "") \(data["name"] ?? "")"
        }
    }

    private func payloads(_ log: EventLog) throws -> [String] {
        var all: [String] = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices {
                let payload = Data([UInt8](copying: block.record(index).payload))
                guard let data = try JSONSerialization.jsonObject(with: payload) as? [String: Any] else { return false }
                all.append("\(data["id"] ?? "") \(data["text"] ?? "") \(data["name"] ?? "")")
            }
            return true
        }
        return all
    }

    @Test("is read, and goes on in its own form, through a cut within a block and a backup")
    func goesOn() async throws {
        let log = try scene.open("older")
        let all = try payloads(log)
        #expect(try all == Self.exported() && all.count == 48 && log.verify(deep: true).isEmpty)
        for number in 0 ..< 20 { try await log.add(event("s-\(number % 3)", #"{"id":"\#(number)"}"#), event("t", #"{"id":"t"}"#)) }
        try await log.update { try $0.cut(to: Position(43)) }
        try await log.add(event("s-1", #"{"id":"last"}"#))
        #expect(try payloads(log).count == 44 && log.verify(deep: true).isEmpty)
        #expect(try forms(log).whole == 0)
        try await log.close()
        #expect(try Manifest.identity(at: store).format == 6, "a program that knows nothing newer can still open it")
    }

    @Test(
        "becomes one whose blocks are sealed as a whole by recipher, by salvage with a gap, and in what is appended to its restored backup")
    func moves() async throws {
        let log = try scene.open("older")
        let new = scene.directory.path + "/new"
        _ = try log.recipher(into: new, secret: SealedScene.secret)
        let moved = try scene.open("new")
        #expect(try payloads(moved) == payloads(log) && moved.verify(deep: true).isEmpty)
        #expect(try forms(moved).byRecord == 0 && Manifest.identity(at: new).format == 8)
        try await moved.update { try $0.cut(to: Position(43)) }
        #expect(try forms(moved).byRecord == 0 && payloads(moved).count == 43 && moved.verify(deep: true).isEmpty)
        try await moved.close()
        try await log.close()
        let backup = [UInt8](try Data(contentsOf: URL(filePath: Self.goldens + "/sealed-6.evf")))
        var rest = backup[...]
        _ = try EventLog.restore(
            from: { count in
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }, named: "golden", into: scene.directory.path + "/restored", options: scene.options)
        let restored = try scene.open("restored")
        try await restored.add(event("s", #"{"id":"after"}"#))
        #expect(try payloads(restored).count == 49 && restored.verify(deep: true).isEmpty)
        #expect(try forms(restored).whole == 1)
        // A cut within a block leaves that one in its own form.
        try await restored.update { try $0.cut(to: Position(3)) }
        #expect(try forms(restored) == (0, 1) && payloads(restored).count == 3 && restored.verify(deep: true).isEmpty)
        try await restored.close()
    }
}
