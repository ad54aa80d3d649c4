import Bytes
import EventLog
import EventModel
import Foundation
import JSONText
import Projections
import SchemaEvolution
import TestStores
import Testing

@testable import LogKeeping
@testable import Migration

@Suite("The signed state of versions, definitions and keys")
struct SignedStateTests {
    /// A store that knows three versions, of which events were born at the first two, and its head.
    private func signed() async throws -> (store: OrdersStore, head: SignedHead) {
        let store = try OrdersStore(at: 2, knowing: 3)
        try await store.place(1, born: 1)
        try await store.place(2, born: 2)
        return (store, try sign(store))
    }

    private func sign(_ store: OrdersStore, after heads: [SignedHead] = []) throws -> SignedHead {
        try #require(try Verify.run(store.context(), deep: false, laws: false, signing: SigningKey.ofTests, since: heads).head)
    }

    private func findings(_ store: OrdersStore, _ heads: SignedHead..., accepting: Bool = false) throws -> [Finding] {
        let report = try Verify.run(
            store.context(), deep: false, laws: false, signing: SigningKey.ofTests, since: heads, accepting: accepting)
        #expect(report.since?.holds == !report.findings.contains { $0.severity != .note && $0.id.hasPrefix("STORE1") })
        #expect((report.head != nil) == report.ok && (report.head?.previous ?? heads[0].digest) == heads[0].digest)
        return report.findings.filter { $0.id.hasPrefix("STORE1") }
    }

    /// A version file that says something else under the number of the one that there is.
    private func other(_ number: Int, of store: OrdersStore) throws -> VersionFile {
        var files = OrdersHistory.files
        files["projections.yaml"] = OrdersHistory.projections
        files["v\(number).yaml"] = files["v\(number).yaml"]?.replacing("enum: [card, cash]", with: "enum: [card]")
        let history = try OrdersStore.load(files, in: store.directory + "/other-\(number)").0
        return try #require(history[SchemaVersion(UInt32(number))])
    }

    @Test("an exchanged version file is found: an error where events were born at it, else for the signer to judge")
    func versions() async throws {
        for number in 1 ... 3 {
            let (store, head) = try await signed()
            #expect(try findings(store, head) == [])
            let file = try other(number, of: store)
            try await store.log.update { try RegisteredRows.register(&$0, versions: [file]) }
            let found = try findings(store, head)
            #expect(found.map(\.id) == [number < 3 ? "STORE107" : "STORE108"])
            #expect(found.first?.message.contains("the stored v\(number) is not what") == true)
            #expect(try findings(store, head, accepting: true).map(\.severity) == [number < 3 ? .error : .warning])
        }
    }

    @Test("a removed version file is found, and an added one is a note")
    func grown() async throws {
        let (store, head) = try await signed()
        let history = store.history
        try await store.log.update { try RegisteredRows.register(&$0, versions: [history.versions[3]]) }
        let found = try findings(store, head)
        #expect(found.map(\.id) == ["STORE112"] && found.first?.severity == .note && found.first?.message.contains("v4 added") == true)
        let newer = try sign(store)
        try await store.log.update { update in
            try update.delete(.schemas, RegisteredRows.key(SchemaVersion(4)))
            update.state.head = SchemaVersion(3)
            update.state.history = RegisteredRows.digest(schemas: try update.rows(.schemas), definitions: try update.rows(.definitions))
        }
        #expect(try Set(findings(store, newer).map(\.id)) == ["STORE108"])
        #expect(try findings(store, head) == [])
        try await store.log.update { update in
            for row in try update.rows(.schemas).dropFirst() { try update.delete(.schemas, row.key) }
        }
        #expect(try findings(store, head).first?.message.contains("the stored v2 is gone") == true)
    }

    @Test("an exchanged or removed definition is found, and signed anew where the signer accepts it; an added one is a note")
    func definitions() async throws {
        let (store, head) = try await signed()
        let rows = try store.log.read { try $0.rows(.definitions) }
        let row = try #require(rows.first { String(decoding: $0.value, as: UTF8.self).contains("paid") })
        let changed = String(decoding: row.value, as: UTF8.self).replacing("paid", with: "free")
        try await store.log.update { try $0.put(.definitions, row.key, Array(changed.utf8)) }
        let found = try findings(store, head)
        #expect(found.map(\.id) == ["STORE108"] && found.first?.message.contains("definition of orders since v1 is not what") == true)
        #expect(try findings(store, head, accepting: true).map(\.severity) == [.warning])
        try await store.log.update { try $0.delete(.definitions, row.key) }
        #expect(try findings(store, head).first?.message.contains("is gone") == true)
        let newer = try sign(store)
        try await store.log.update { try $0.put(.definitions, row.key, row.value) }
        #expect(try findings(store, newer).map(\.id) == ["STORE112"])
    }

    @Test("another live version, after a replay or a rollback, is a note")
    func live() async throws {
        let (store, head) = try await signed()
        try await store.migrate(to: 3)
        let found = try findings(store, head)
        #expect(found.map(\.id) == ["STORE112"] && found.first?.message.contains("v3 is live, and v2 was") == true)
        try await store.rollback()
        #expect(try findings(store, head) == [])
    }

    @Test("a head of format 1 still covers the log, and the next head names it")
    func older() async throws {
        let (store, head) = try await signed()
        var fields = JSONRow()
        fields.set("evstore", "head")
        fields.set("format", 1)
        fields.set("store", head.store)
        fields.set("epoch", UInt64(head.epoch.rawValue))
        fields.set("position", head.position.rawValue)
        for (name, text) in [
            ("link", head.link), ("content", head.content), ("time", head.time.description), ("key", head.key.description),
        ] {
            fields.set(name, text)
        }
        let body = try Canonical.bytes(of: fields.bytes.lent)
        fields.set("signature", hex(try SigningKey.ofTests.signature(of: Array("evstore head 1\n".utf8) + body)))
        let older = try SignedHead(parsing: fields.bytes)
        #expect(older.format == 1 && older.previous == nil)
        let file = try other(1, of: store)
        try await store.log.update { try RegisteredRows.register(&$0, versions: [file]) }
        #expect(try findings(store, older) == [])
        #expect(try sign(store, after: [older]).previous == older.digest)
    }

    @Test("a head is read as it was written, and refused with any member changed, left out or added")
    func text() async throws {
        let (_, head) = try await signed()
        #expect(try SignedHead(parsing: Array(head.line.utf8)) == head && head.format == 2)
        let value = try JSONValue(parsing: Array(head.line.utf8).lent, limits: JSONLimits())
        guard case .object(let members) = value else { throw Unexpected() }
        for (index, member) in members.enumerated() {
            for changed in [[], [JSONValue.Member(name: member.name, value: .string("x"))], [member, .init(name: "more", value: .null)]] {
                var others = members
                others.replaceSubrange(index ... index, with: changed)
                let text = Array(JSONValue.object(others).text.utf8)
                #expect(throws: EvstoreError.self, "\(member.name)") { try SignedHead(parsing: text) }
            }
        }
    }
}
