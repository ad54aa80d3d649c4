import Evstore
import EvstoreTesting
import Foundation
import Testing

@Suite("A read model that is damaged")
struct DamagedModelTests {
    private func rows(_ store: EventStore) async throws -> [String] {
        var rows: [String] = []
        try await store.query("orders") { row in
            rows.append("\(row.key) \(row.json)")
            return true
        }
        return rows
    }

    @Test("a row that was changed behind the store's back is never answered, and the next query builds the read model anew")
    func changed() async throws {
        let temporary = try await Orders.store(at: 1)
        _ = try await temporary.store.append([try Orders.placed("1", at: 1)])
        let sound = try await rows(temporary.store)
        try await temporary.store.close()
        let generations = URL(filePath: temporary.path).appending(path: "generations")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: generations.path).first)
        let data = generations.appending(path: "\(name)/data.mdb")
        var bytes = try Data(contentsOf: data)
        while let found = bytes.range(of: Data(#""total":100"#.utf8)) { bytes[found.upperBound - 1] = UInt8(ascii: "7") }
        try bytes.write(to: data)
        let store = try await temporary.open()
        await #expect {
            try await rows(store)
        } throws: { if case EvstoreError.storeDamaged = $0 { true } else { false } }
        #expect(try await rows(store) == sound)
        let names = try FileManager.default.contentsOfDirectory(atPath: generations.path)
        #expect(names.contains { $0 != name })
        #expect(try await store.verify(deep: true).ok)
        try await store.close()
    }
}
