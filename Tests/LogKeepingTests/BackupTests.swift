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

@Suite("A backup")
struct BackupTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (5, 10, 4) })
    }

    /// Appends of one to three events, two cuts among them.
    private func fill() async throws {
        var random = SeededGenerator(seed: 5)
        for number in 1 ... 60 {
            let events = try (0 ..< Int.random(in: 1 ... 3, using: &random)).map {
                try event("s-\(number % 7)", "\"\(number).\($0)\"", type: "type-\(number % 4)", id: $0 == 0 ? "id-\(number)" : nil)
            }
            let mark = AttachedRow(.imports, key: [UInt8(number)], value: [1, 2])
            _ = try await log.append(AppendRequest(events: events, rows: [mark]))
            if number % 25 == 0 {
                try await log.update { update in
                    try update.cut(to: Position(update.last.position.rawValue - 9))
                    try update.put(.schemas, [1, 2, 3], [UInt8(number)])
                }
            }
        }
    }

    private func backup() throws -> (bytes: [UInt8], summary: BackupSummary) {
        var bytes: [UInt8] = []
        let summary = try log.backUp { bytes += [UInt8](copying: $1) }
        return (bytes, summary)
    }

    private func restore(_ bytes: [UInt8], _ name: String = "restored", to point: RestoreTarget? = nil) throws -> RestoreSummary {
        let source = ByteSource(bytes)
        return try EventLog.restore(
            from: source.read, named: "b", into: directory.path + "/" + name, to: point, options: .small())
    }

    @Test("is complete: the restored store has the same events, ids, streams and rows, and appends in a new epoch")
    func whole() async throws {
        try await fill()
        let (bytes, made) = try backup()
        #expect(made.bytes == UInt64(bytes.count))
        #expect(try made.content == log.contentDigest())
        let restored = try restore(bytes)
        #expect(restored.backup == made.last && restored.last.position == made.last.position && restored.content == made.content)
        let copy = try EventLog.open(at: directory.path + "/restored", options: .small())
        #expect(try copy.everything() == log.everything() && copy.contentDigest() == made.content)
        #expect(copy.storeID == log.storeID)
        #expect(try copy.verify(deep: true).isEmpty)
        #expect(try copy.payloads("s-3") == log.payloads("s-3"))
        #expect(try copy.read { try $0.rows(.imports).map(\.key) } == log.read { try $0.rows(.imports).map(\.key) })
        #expect(try copy.read { try $0.rows(.schemas).map(\.value) } == [[50]])
        #expect(try copy.read { try $0.cuts() } == log.read { try $0.cuts() } + [restored.last])
        #expect(try await copy.add(event("s-4", "\"60.0\"", id: "id-60")) == log.add(event("s-4", "\"60.0\"", id: "id-60")))
        guard case .appended(let receipt) = try await copy.add(event("new")) else { throw EvstoreError.misuse("known") }
        #expect(receipt.epoch == restored.last.epoch && receipt.epoch > made.last.epoch)
        #expect(try copy.verify(deep: true).isEmpty)
        try await copy.close()
        try await log.close()
    }

    @Test("is restored to any position, rounded down to the end of an append")
    func points() async throws {
        try await fill()
        let (bytes, made) = try backup()
        let all = try log.everything()
        var firsts: Set<UInt64> = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices where !block.record(index).continuesAppend { firsts.insert(block.record(index).position.rawValue) }
            return true
        }
        for wanted in stride(from: 1, through: made.last.position.rawValue, by: 7) {
            let end = try #require((0 ... wanted).last { $0 == 0 || firsts.contains($0 + 1) || $0 == made.last.position.rawValue })
            if end == 0 {
                #expect(throws: EvstoreError.self) { try restore(bytes, "to-\(wanted)", to: .position(Position(wanted))) }
                #expect(!FileManager.default.fileExists(atPath: directory.path + "/to-\(wanted)"))
                continue
            }
            let restored = try restore(bytes, "to-\(wanted)", to: .position(Position(wanted)))
            #expect(restored.last.position == Position(end))
            let next = firsts.filter { $0 > end + 1 }.min() ?? made.last.position.rawValue + 1
            #expect(restored.leftOut == (end == wanted ? nil : end + 1 ... next - 1), "to \(wanted)")
            let copy = try EventLog.open(at: directory.path + "/to-\(wanted)", options: .small(), readOnly: true)
            #expect(try copy.everything() == Array(all.prefix(Int(end))) && copy.contentDigest() == restored.content)
            try await copy.close()
        }
        for outside in [0, made.last.position.rawValue + 1] {
            #expect { try restore(bytes, "outside", to: .position(Position(outside))) } throws: { error in
                if case EvstoreError.notInBackup = error { true } else { false }
            }
        }
        try await log.close()
    }

    @Test("an append of many blocks is restored whole or not at all")
    func manyBlocks() async throws {
        try await log.add(event("a", "0"))
        let long = "\"" + String(repeating: "x", count: 3_000) + "\""
        _ = try await log.append(AppendRequest(events: try (0 ..< 40).map { _ in try event("b", long) }))
        try await log.add(event("c", "2"))
        let bytes = try backup().bytes
        var ends: Set<UInt64> = [2, 40, 41, 42]
        try log.scan(after: .start) { block, _ in
            ends.insert(block.last.rawValue)
            return true
        }
        #expect(ends.count > 5)
        for wanted in ends.sorted() {
            let restored = try restore(bytes, "to-\(wanted)", to: .position(Position(wanted)))
            #expect(restored.last.position.rawValue == (wanted < 41 ? 1 : wanted), "to \(wanted)")
            #expect(restored.leftOut == (2 ..< 41 ~= wanted ? 2 ... 41 : nil), "to \(wanted)")
        }
        try await log.close()
    }

    @Test("that is restored twice makes two stores, each of which refuses the other's checkpoints")
    func twice() async throws {
        try await fill()
        let bytes = try backup().bytes
        let first = try restore(bytes, "first", to: .position(Position(20))).last
        try await Task.sleep(for: .milliseconds(1_100))
        let second = try restore(bytes, "second", to: .position(Position(50))).last
        #expect(second.epoch > first.epoch)
        try await log.close()
    }

    @Test("is restored to a time, with the events that were committed by then")
    func times() async throws {
        for number in 1 ... 3 {
            try await log.add(event("a", "\(number)"))
            try await Task.sleep(for: .milliseconds(3))
        }
        let bytes = try backup().bytes
        var times: [Timestamp] = []
        try log.scan(after: .start) { block, _ in
            times.append(block.time)
            return true
        }
        #expect(try restore(bytes, "second", to: .time(times[1])).last.position == Position(2))
        #expect(try restore(bytes, "later", to: .time(.now)).last.position == Position(3))
        #expect(throws: EvstoreError.self) { try restore(bytes, "before", to: .time(Timestamp(microseconds: 5))) }
        try await log.close()
    }

    @Test("that is truncated or changed anywhere is refused, and a refused restore leaves no files")
    func damaged() async throws {
        for number in 1 ... 12 { try await log.add(event("s-\(number % 3)", "\(number)", id: "id-\(number)")) }
        let bytes = try backup().bytes
        func isRefused(_ bytes: [UInt8]) throws -> Bool {
            do { _ = try restore(bytes) } catch EvstoreError.backupDamaged {
                return try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store"]
            }
            return false
        }
        for count in stride(from: 0, to: bytes.count, by: max(bytes.count / 60, 1)) { #expect(try isRefused(Array(bytes.prefix(count)))) }
        #expect(try isRefused(bytes + [0]))
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< 60 {
            var changed = bytes
            let offset = Int.random(in: 0 ..< bytes.count, using: &random)
            changed[offset] ^= 1 << UInt8.random(in: 0 ..< 8, using: &random)
            #expect(try isRefused(changed), "byte \(offset)")
        }
        try await log.close()
    }

    @Test("whose rows give a type another name than its blocks do is refused, also where every checksum holds")
    func otherNames() async throws {
        for number in 1 ... 3 { try await log.add(event("s", "\(number)", type: "type-\(number)")) }
        let bytes = try backup().bytes
        var (frames, changed, names) = (FrameReader(ByteSource(bytes).read), [UInt8](), 0)
        var writer = FrameWriter()
        while changed.count < bytes.count {
            var (kind, body) = try frames.next()
            if kind == .rows, let name = Data(body).range(of: Data("type-2".utf8)) {
                body[name.upperBound - 1] = UInt8(ascii: "4")
                names += 1
            }
            try writer.write(kind, body.lent) { changed += [UInt8](copying: $0) }
        }
        #expect(names == 1)
        #expect { try restore(changed) } throws: { error in
            guard case EvstoreError.backupDamaged(_, let reason) = error else { return false }
            return reason.contains("STORE005") && reason.contains("type-2")
        }
        #expect(try restore(bytes).last.position == Position(3))
        try await log.close()
    }

    @Test("that is made while others append holds a prefix of the log, which ends with a whole append")
    func beside() async throws {
        try await fill()
        let log = log
        let writing = Task { for number in 0 ..< 200 { try await log.add(event("w", "\(number)"), event("w", "\(number)")) } }
        for round in 0 ..< 3 {
            let (bytes, made) = try backup()
            #expect(try log.contentDigest(through: made.last.position) == made.content)
            #expect(try restore(bytes, "beside-\(round)").last.position == made.last.position)
        }
        try await writing.value
        try await log.close()
    }
}

/// Bytes that are taken piece by piece.
final class ByteSource {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    func read(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
