import Bytes
import EventLog
import EventModel
import Hashing
import LogKeeping
import TestStores
import Testing

@testable import Migration
@testable import Projections

@Suite("A read model whose digest or count of rows is wrong")
struct DamagedDigestTests {
    @Test(
        "is found by a deep verification, also of another promised version, and built anew by a replay",
        arguments: ["STORE203", "STORE204"], [1, 3])
    func digests(finding: String, version: Int) async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        for version in [1, 3] { _ = try await store.migrate(to: version) }
        if version == 1 { _ = try await store.migrate(to: 4) }
        let fingerprint = try store.evolving.current().definition(named: "orders", at: SchemaVersion(UInt32(version))).fingerprint
        let name = try #require(try store.state.generations[fingerprint.hex])
        do {
            let generation = try Generation.open(named: name, in: store.log.path, of: store.log)
            var header = try generation.header
            if finding == "STORE203" { header.rows += 1 } else { header.digest = SetDigest().digest }
            let changed = header
            try generation.write { try generation.put(changed, &$0) }
        }
        func verify(deep: Bool) throws -> [String] {
            try Verify.run(store.context(), deep: deep, laws: false).findings.filter { $0.severity == .error }.map(\.id)
        }
        #expect(try verify(deep: false) == [])
        #expect(try verify(deep: true) == [finding])
        #expect(try verify(deep: false) == ["STORE014"], "it is noted")
        if version == 1 {
            #expect(try await store.rollback(to: 1).rebuilt.contains("orders"))
        } else {
            _ = try await store.migrate(to: 3)
        }
        #expect(try verify(deep: true) == [])
    }

    @Test("so is an index that does not agree with the rows", arguments: ["removed", "added", "other"])
    func indexes(change: String) async throws {
        let store = try OrdersStore { files in
            let indexed = "key: /id\n      indexes: {by-state: /state}\n"
            files["projections.yaml"] = files["projections.yaml"]?.replacing("key: /id\n", with: indexed)
        }
        for number in 1 ... 3 { try await store.place(number, born: 1) }
        _ = try await store.migrate(to: 1)
        func verify(deep: Bool) throws -> [String] {
            try Verify.run(store.context(), deep: deep, laws: false).findings.filter { $0.severity == .error }.map(\.id)
        }
        #expect(try verify(deep: true) == [])
        let fingerprint = try store.evolving.current().definition(named: "orders", at: SchemaVersion(1)).fingerprint
        do {
            let name = try #require(try store.state.generations[fingerprint.hex])
            let generation = try Generation.open(named: name, in: store.log.path, of: store.log)
            let table = try #require(generation.indexes)
            var keys: [[UInt8]] = []
            try generation.read { transaction in
                try table.forEach(transaction) { key, _ in
                    keys.append([UInt8](copying: key))
                    return true
                }
            }
            #expect(keys.count == 3)
            let key = keys[0]
            try generation.write { transaction in
                if change != "added" { try table.delete(key.lent, &transaction) }
                if change != "removed" { try table.put((key + [48]).lent, [UInt8]().lent, &transaction) }
            }
        }
        #expect(try verify(deep: false) == [])
        #expect(try verify(deep: true) == ["STORE205"])
        _ = try await store.migrate(to: 1)
        #expect(try verify(deep: true) == [])
    }
}
