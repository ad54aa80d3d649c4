import Bytes
import EventModel
import EvstoreTesting
import Foundation
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

@Suite("A backup that follows another one")
struct EarlierRunTests {
    private let scene: SealedScene
    private var subjects: URL { URL(filePath: scene.directory.store + "/subjects") }

    init() throws { scene = try SealedScene() }

    private func fill(_ numbers: Range<Int>) async throws {
        for number in numbers {
            var made = try event("person-\(number % 5)", #"{"name":"Ada \#(number)"}"#)
            made.forgotten = Array(#"{"name":""}"#.utf8)
            _ = try await scene.log.append(AppendRequest(events: [made]))
        }
    }

    private func whole() throws -> (summary: BackupSummary, rows: [UInt8]) {
        var rows: [UInt8] = []
        let summary = try scene.log.backUp { if case .rows = $0 { rows += [UInt8](copying: $1) } }
        return (summary, rows)
    }

    /// A run behind `first`; how often it has told of its progress, which it does for each block that it reads.
    private func next(_ first: (summary: BackupSummary, rows: [UInt8])) throws -> (summary: BackupSummary, reports: Int) {
        let codes = scene.log.access.keys?.codes
        let earlier = try EarlierRun(ByteSource(first.rows).read, after: first.summary.base, provenBy: codes)
        var reports = 0
        let summary = try scene.log.backUp(after: first.summary.base, earlier, progress: { _, _ in reports += 1 }, to: { _, _ in })
        return (summary, reports)
    }

    @Test("does not read the events again where nothing is new, and tells the content's digest of what is there in any case")
    func nothingNew() async throws {
        try await fill(0 ..< 20)
        let first = try whole()
        let same = try next(first)
        #expect(same.reports == 1 && same.summary.content == first.summary.content)
        _ = try SealedScene.forget("person-3", scene.log)
        #expect(try next(first).summary.content == first.summary.content, "what was forgotten is in no digest")
        try await fill(20 ..< 23)
        let later = try next(first)
        #expect(try later.reports > 20 && later.summary.content == scene.log.contentDigest())
        try await scene.log.update { try $0.cut(to: Position(20)) }
        #expect(try next(first).summary.content == first.summary.content, "of another epoch")
        try await scene.log.close()
    }

    @Test("believes nothing of an earlier run that was changed", .timeLimit(.minutes(10)))
    func changed() async throws {
        try await fill(0 ..< 20)
        let first = try whole()
        var random = SeededGenerator.announced()
        for _ in 0 ..< rounds(40) {
            var rows = first.rows
            let offset = Int.random(in: 0 ..< rows.count, using: &random)
            rows[offset] ^= 1 << UInt8.random(in: 0 ..< 8, using: &random)
            #expect(try next((first.summary, rows)).summary.content == first.summary.content, "byte \(offset)")
            #expect(try next((first.summary, Array(rows.prefix(offset)))).summary.content == first.summary.content, "cut at \(offset)")
        }
        try await scene.log.close()
    }

    @Test("refuses each slot that was damaged, lost or taken away since", arguments: ["flipped", "zeros", "short"])
    func slots(how: String) async throws {
        try await fill(0 ..< 20)
        let first = try whole()
        for slot in 1 ... 5 {
            let all = try Data(contentsOf: subjects)
            var bytes = [UInt8](all)
            switch how {
            case "flipped": bytes[slot * 128 + 50] ^= 4
            case "zeros": for index in slot * 128 ..< (slot + 1) * 128 { bytes[index] = 0 }
            default: bytes = Array(bytes[..<(slot * 128)])
            }
            try Data(bytes).write(to: subjects)
            #expect { try next(first) } throws: { error in
                guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
                return reason.contains("slot")
            }
            try all.write(to: subjects)
        }
        #expect(try next(first).reports == 1)
        try await scene.log.close()
    }
}
