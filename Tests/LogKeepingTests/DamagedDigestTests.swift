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
        for version in [1, 3] { _ = try await store.replay(to: version) }
        if version == 1 { _ = try await store.replay(to: 4) }
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
            try Verify.run(store.site(), deep: deep, laws: false).findings.filter { $0.severity == .error }.map(\.id)
        }
        #expect(try verify(deep: false) == [])
        #expect(try verify(deep: true) == [finding])
        #expect(try verify(deep: false) == ["STORE014"], "it is noted")
        if version == 1 {
            #expect(try await store.rollback(to: 1).rebuilt.contains("orders"))
        } else {
            _ = try await store.replay(to: 3)
        }
        #expect(try verify(deep: true) == [])
    }
}
