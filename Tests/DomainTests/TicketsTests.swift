import Evstore
import EvstoreTesting
import TestSupport
import Testing

/// A till that writes numbers as texts: codecs within a list, beside a copy and in a part of a split.
@Suite("The tickets domain")
struct TicketsTests {
    static let domain = Domain(name: "tickets")

    @Test("texts become numbers in each element, beside a copy and in a part of a split, and come back")
    func converts() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let written = try store.all().map(\.json)
        _ = try await store.migrate(to: SchemaVersion(3))
        let sale = try store.read(try StreamName("sale-1")).map(\.json)
        #expect(sale[0].contains(#""number":117"#) && sale[0].contains(#"{"seat":"A1","cents":1250}"#), "\(sale)")
        #expect(sale[1] == #"{"id":"1","cents":2450}"#)
        #expect(try store.all(at: 1).map(\.json) == written)
        #expect(try await store.row("sales", "1") == #"{"cents":2450,"receipt":"000117"}"#)
    }

    @Test("made up texts that are no numbers are refused wherever the codec is, and no law fails", arguments: [1, 2, 3, 4] as [UInt64])
    func laws(seed: UInt64) async throws {
        let temporary = try await Self.domain.store(at: 3)
        let report = try await temporary.store.maintenance.verify(deep: true, laws: true, seed: seed)
        #expect(report.ok && report.laws.allSatisfy { $0.failed == 0 }, "seed \(seed): \(report.findings)")
        let wrong = #"{"id":"9","receipt":"none","seats":[{"seat":"A1","cents":"x"}],"total":"x"}"#
        await #expect(throws: EvstoreError.self) {
            _ = try await temporary.store.append([try .event("sale-9", "TicketsSold", wrong, at: 1)])
        }
    }
}
