import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import TestStores
import TestSupport
import Testing

@Suite("Records and the blocks they lie in")
struct RecordTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Options under which every commit carries the index entries of those before it, so that a reader need not scan.
    private let swept = Options.small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (1, 1) }

    /// A closed store whose first block holds three events, with a byte of the log's file changed wherever `text` is found.
    private func damaged(_ text: String, at offset: Int = 0) async throws -> EventLog {
        let log = try makeLog(directory, swept)
        try await log.add(event("a", "one"), event("b", "two"), event("a", "three"))
        try await log.add(event("c", "the end"))
        try await log.close()
        let data = URL(fileURLWithPath: directory.store + "/log/data.mdb")
        var bytes = try Data(contentsOf: data)
        let found = bytes.ranges(of: Data(text.utf8))
        #expect(!found.isEmpty)
        for range in found { bytes[range.lowerBound + offset] ^= 0x20 }
        try bytes.write(to: data)
        return try EventLog.open(at: directory.store, options: .small(), readOnly: true)
    }

    @Test("an event beside a damaged one can be read, and a scan over both fails")
    func beside() async throws {
        let log = try await damaged("two")
        // Names of types come from blocks that were checked whole.
        #expect(try log.payloads("c") == ["the end"])
        #expect(try log.payloads("a") == ["one", "three"])
        #expect(throws: EvstoreError.corruptBlock(position: Position(1), reason: "the checksum of the event at 2 does not fit")) {
            try log.payloads("b")
        }
        #expect(throws: EvstoreError.corruptBlock(position: Position(1), reason: "the checksum does not fit")) { try log.everything() }
        try await log.close()
    }

    /// The epochs and payloads of a stream's events.
    private func read(_ log: EventLog) throws -> [String] {
        let name = try StreamName("a")
        return try log.read { reader in
            var texts: [String] = []
            try reader.stream(name, from: .first, limit: 10) { record in
                texts.append("\(record.epoch) \(text(record.payload))")
                return true
            }
            return texts
        }
    }

    @Test("with any byte of a block changed, no event is read with another content than was appended")
    func anyByte() async throws {
        let log = try makeLog(directory, swept)
        try await log.add(event("a", "one"), event("a", "two", id: "x"))
        try await log.add(event("c", "the end"))
        try await log.close()
        let data = URL(fileURLWithPath: directory.store + "/log/data.mdb")
        let whole = try Data(contentsOf: data)
        // The block that lies last in the file: older pages may hold it too.
        let magic = Data([0x65, 0x76, 0x62, 2])
        let first = try #require(whole.ranges(of: magic).first { whole[$0.lowerBound + 16] == 1 && whole[$0.lowerBound + 40] == 2 })
        let count = Int(whole[first.lowerBound + 44]) + Int(whole[first.lowerBound + 45]) << 8
        for offset in 0 ..< count {
            var bytes = whole
            for range in whole.ranges(of: whole[first.lowerBound ..< first.lowerBound + count]) {
                bytes[range.lowerBound + offset] ^= offset % 2 == 0 ? 0x01 : 0x80
            }
            try bytes.write(to: data)
            let log = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
            do { #expect(try read(log) == ["1 one", "1 two"], "byte \(offset)") } catch EvstoreError.corruptBlock {}
            #expect(try !log.verify(deep: false).isEmpty, "byte \(offset)")
            try await log.close()
        }
    }

    @Test("a record's checksum is the one that the file format defines")
    func asWritten() async throws {
        let log = try makeLog(directory)
        try await log.update { try $0.cut(to: .start) }
        try await log.add(event("a", "one"), event("a", "two"))
        try await log.close()
        let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.store + "/log/data.mdb")))
        let start = try #require(file.indices.first { file[$0...].starts(with: [0x65, 0x76, 0x62, 2, 2, 0, 0, 0]) })
        let size = Int(file.lent.load(UInt32.self, at: start + 44))
        let block = file.lent.slice(start, size)
        let table = Int(block.load(UInt32.self, at: 84))
        let starts = [Int(block.load(UInt32.self, at: table)), Int(block.load(UInt32.self, at: table + 8)), size - 8]
        for index in 0 ..< 2 {
            let record = block.slice(starts[index], starts[index + 1] - starts[index])
            let sum = block.load(UInt64.self, at: 8) &+ UInt64(index + 1) &+ (2 &* 0xD1B5_4A32_D192_ED03)
            let place = UInt32(truncatingIfNeeded: (sum &* 0x9E37_79B9_7F4A_7C15) >> 32)
            let expected = UInt32(truncatingIfNeeded: checksum(record)) ^ place
            #expect(block.load(UInt32.self, at: table + index * 8 + 4) == expected)
        }
    }

    @Test("a store of every earlier format can be read and appended to", arguments: [1, 2, 4, 5])
    func golden(format: Int) async throws {
        let name = format < 5 ? "blocks-\(format)" : "sealed-\(format)"
        let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Goldens/\(name)")
        try FileManager.default.copyItem(at: golden, to: URL(fileURLWithPath: directory.store))
        let log = try EventLog.open(at: directory.store, options: .small { $0.secret = format < 5 ? nil : SealedScene.secret })
        let before = (0 ..< 63).map { "{\"n\":\($0)}" }
        #expect(try log.payloads("s-3") == stride(from: 3, to: 63, by: 7).map { before[$0] })
        try await log.add(event("s-3", "new"))
        #expect(try log.payloads("s-3").last == "new")
        #expect(try log.everything().map { $0.split(separator: " ").last.map(String.init) } == before + ["new"])
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
        let manifest = try String(contentsOfFile: directory.store + "/evstore.json", encoding: .utf8)
        #expect(manifest.contains("\"format\" : 9") && manifest.contains("\"layout\" : \(max(format, 3))"))
    }
}
