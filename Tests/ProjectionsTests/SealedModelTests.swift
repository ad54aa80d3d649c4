import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import LMDB
import Platform
import Sealing
import Testing

@testable import Projections

private let canary = "c4n4ry"

private let orders = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          on: {OrderPlaced: {set: {/customer: /customer, /total: /total}}, OrderPaid: {add: {"/by/{/method}": /amount}}}
    """

@Suite("Read models of sealed stores")
struct SealedModelTests {
    static let secret = StoreSecret.key([UInt8](1 ... 32))

    private static func store(sealed: Bool = true) throws -> TestStore {
        var options = TestStore.options
        if sealed { options.secret = secret }
        return try TestStore(orders, options: options)
    }

    /// Orders whose customers are marked; the second half does not fold, with a reason that quotes them.
    private static func fill(_ store: TestStore, _ numbers: Range<Int>) async throws {
        try await store.append(
            numbers.map { ("OrderPlaced", #"{"id":"o\#($0)","total":\#($0),"customer":"\#(canary) \#($0)"}"#) }
                + numbers.map { ("OrderPaid", #"{"id":"o\#($0)","method":"card","amount":\#($0 % 2 == 0 ? "1" : "\"\(canary)\"")}"#) })
    }

    private static func marked(_ generation: String, in store: TestStore) throws -> Bool {
        let bytes = try Data(contentsOf: URL(filePath: store.path + "/generations/\(generation)/data.mdb"))
        return bytes.range(of: Data(canary.utf8)) != nil
    }

    @Test("have the same rows, digests and quarantine as plain ones, built and followed, and none of their text is in the files")
    func same() async throws {
        var (headers, texts, reasons): ([GenerationHeader], [[String: String]], [[QuarantineRow]]) = ([], [], [])
        for sealed in [true, false] {
            let store = try Self.store(sealed: sealed)
            try await Self.fill(store, 0 ..< 40)
            let name: String
            do {
                let generation = try store.build()
                try await Self.fill(store, 30 ..< 60)
                try Follower(store.evolving).catchUp(generation, try store.definition())
                headers.append(try generation.checkedHeader())
                texts.append(try generation.texts())
                reasons.append(try generation.quarantined())
                #expect(try generation.get("o7") == Array(texts[0]["o7", default: ""].utf8))
                try generation.checkPages()
                name = generation.name
            }
            #expect(try Self.marked(name, in: store) == !sealed)
            let again = try Generation.open(named: name, in: store.path, of: store.log)
            #expect(try again.texts() == texts[0])
            try await store.end()
        }
        #expect(texts[0].count == 60 && texts[0] == texts[1] && reasons[0] == reasons[1] && !reasons[0].isEmpty)
        #expect(headers[0].digest == headers[1].digest && headers[0].rows == headers[1].rows)
    }

    @Test("a value opens only in its own row, table and generation", arguments: ["row", "table", "generation"])
    func bound(to place: String) async throws {
        let store = try Self.store()
        try await Self.fill(store, 0 ..< 4)
        let (one, other) = (try store.build(), try store.build())
        func raw(_ generation: Generation, _ table: String, _ key: [UInt8]) throws -> [UInt8] {
            let table = try generation.environment.table(table)
            return try generation.environment.read { transaction in
                guard let value = try transaction.get(table, key.lent) else { return [] }
                return [UInt8](copying: value)
            }
        }
        let (key, elsewhere) = (Array("o1".utf8), Array("o2".utf8))
        #expect(try one.get("o1")?.isEmpty == false)
        // The checksum is made right: the tag alone tells.
        var value = try raw(place == "generation" ? other : one, "rows", place == "row" ? elsewhere : key)
        if place == "table" {
            let sealer = try #require(try store.log.modelKeys(of: one.name, in: one.directory)).sealer(ofTable: "meta")
            var made = ByteBuffer()
            made.append(2 as UInt8)
            try sealer.seal(Array("{}".utf8).lent, key.lent, into: &made)
            value = made.array() + [0, 0, 0, 0]
        }
        let sum = seededHash(Array(value[1 ..< value.count - 4]).lent, seededHash(key.lent, 0))
        value = value.dropLast(4) + (0 ..< 4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
        let rows = try one.environment.table("rows")
        try one.environment.write { try $0.put(rows, key.lent, value.lent) }
        try one.checkPages()
        #expect(throws: EvstoreError.self) { try one.get("o1") }
        #expect(try other.get("o1")?.isEmpty == false)
        try await store.end()
    }

    @Test("one row in the clear among sealed rows is damage")
    func plainRow() async throws {
        let store = try Self.store()
        try await Self.fill(store, 0 ..< 4)
        let generation = try store.build()
        let plain = try CheckedTable(.rows, of: generation.environment, format: 2, nil, generation.note)
        try generation.environment.write { try plain.put(Array("o1".utf8).lent, Array("{}".utf8).lent, &$0) }
        #expect(throws: EvstoreError.self) { try generation.get("o1") }
        #expect(throws: EvstoreError.self) { try generation.checkPages() }
        try await store.end()
    }

    @Test("generations in the clear, and sealed ones of a plain store, count as missing", arguments: [true, false])
    func otherwise(sealed: Bool) async throws {
        let store = try Self.store(sealed: sealed)
        try await Self.fill(store, 0 ..< 4)
        let name = try store.build().name
        let keys = ModelKeys(.random(), store.log.storeID, name)
        try Generation.relay(name, in: store.path, of: store.log, as: sealed ? nil : keys)
        #expect(try Self.marked(name, in: store) == sealed)
        for _ in 0 ..< 2 {
            #expect(throws: EvstoreError.self) { try Generation.open(named: name, in: store.path, of: store.log) }
        }
        #expect(try Directory.status(store.path + "/generations/\(name)/damaged") == nil || !sealed)
        try await store.end()
    }

    @Test("a spill file has no text in the clear and reads back unchanged, and any change of it is found")
    func spilled() throws {
        let directory = try TemporaryDirectory()
        let records = (0 ..< 3_000).map { Array("\(canary) \($0) \(String(repeating: "x", count: $0 % 200))".utf8) }
        for isSealed in [true, false] {
            var file = try SpillFile(in: directory.path, named: "spill", isSealed: isSealed)
            for record in records { try file.append(record.lent) }
            try file.flush()
            // It has no name, but as long as it is open the process's own list leads to it.
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { "/proc/self/fd/" + $0 }
            let path = try #require(
                descriptors.first { descriptor in
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: descriptor)
                    return target?.hasPrefix(directory.path) ?? false
                })
            let bytes = try Data(contentsOf: URL(filePath: path))
            #expect((bytes.range(of: Data(canary.utf8)) == nil) == isSealed)
            var reader = file.reader()
            for record in records {
                #expect(try reader.fill(record.count))
                let isSame = reader.slice(0, record.count).equals(record.lent)
                #expect(isSame)
                reader.skip(record.count)
            }
            #expect(try !reader.fill(1))
            if isSealed {
                let handle = try FileHandle(forWritingTo: URL(filePath: path))
                try handle.seek(toOffset: 100)
                try handle.write(contentsOf: Data([bytes[100] ^ 1]))
                try handle.close()
                var broken = file.reader()
                #expect(throws: EvstoreError.self) { try broken.fill(1) }
            }
        }
    }
}

extension Generation {
    /// Writes a generation that nobody has open anew, sealed or in the clear.
    static func relay(_ name: String, in store: String, of log: EventLog, as keys: ModelKeys?) throws {
        let directory = home(in: store) + "/" + name
        let environment = try Environment.open(directory: directory, configuration(log.options))
        defer { environment.close() }
        let (note, before) = (DamageNote(directory), try format(of: environment, directory))
        let format = GenerationHeader.format(isSealed: keys != nil)
        for table in GenerationTable.allCases where environment.find(table.rawValue) != nil {
            let old = try CheckedTable(table, of: environment, format: before, log.modelKeys(of: name, in: directory), note)
            let new = try CheckedTable(table, of: environment, format: format, keys, note)
            var rows: [(key: [UInt8], text: [UInt8])] = []
            try environment.read { transaction in
                try old.forEach(transaction) { key, text in
                    rows.append(([UInt8](copying: key), [UInt8](copying: text)))
                    return true
                }
            }
            if table == .meta {
                let text = String(decoding: rows[0].text, as: UTF8.self)
                rows[0].text = Array(text.replacing("\"format\":\(before)", with: "\"format\":\(format)").utf8)
            }
            let all = rows
            try environment.write { transaction in for row in all { try new.put(row.key.lent, row.text.lent, &transaction) } }
        }
        // The pages that are free now hold what was there.
        try environment.sync()
    }
}
