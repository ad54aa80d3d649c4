import EventLog
import Evstore
import EvstoreTesting
import Foundation
import LogKeeping
import Migration
import TestSupport
import Testing

@Suite("Keys and what was forgotten, signed")
struct SignedKeysTests {
    private let key: SigningKey

    init() throws { key = try SigningKey(parsing: Array(String(repeating: "5a", count: 32).utf8)) }

    private func sign(_ store: EventStore) async throws -> SignedHead {
        try #require(try await store.maintenance.verify(signing: key).head)
    }

    /// What is said of a store against a head, by ids and words.
    private func judge(_ store: EventStore, _ head: SignedHead) async throws -> [String] {
        let report = try await store.maintenance.verify(signing: key, since: [head])
        #expect((report.head != nil) == report.ok)
        return report.findings.filter { $0.id.hasPrefix("STORE1") }.map { "\($0.id) \($0.message)" }
    }

    @Test("a slot or data key that was made or retired since is a note by its name; an older file that was put back is found")
    func keys() async throws {
        let temporary = try await SealedPersons.store()
        let file = URL(filePath: temporary.path + "/keys")
        let first = try await sign(temporary.store)
        let slot = try await temporary.store.maintenance.addKey(.key([UInt8](repeating: 9, count: 32)))
        _ = try await temporary.store.maintenance.rotateKey()
        let grown = try await judge(temporary.store, first)
        #expect(grown.count == 1 && grown[0].hasPrefix("STORE112") && grown[0].contains("slot 2 added; data key 2 added"), "\(grown)")
        let old = try Data(contentsOf: file)
        let second = try await sign(temporary.store)
        _ = try await temporary.store.maintenance.retireKey(.slot, slot.id)
        #expect(try await judge(temporary.store, second).first?.contains("slot 2 retired") == true)
        let third = try await sign(temporary.store)
        try await temporary.store.close()
        try old.write(to: file)
        let store = try await temporary.open()
        let found = try await judge(store, third)
        #expect(
            found.count == 1 && found[0].hasPrefix("STORE110") && found[0].contains("slot 2, given up since, is there again"), "\(found)")
        #expect(try await judge(store, second) == [], "it is what was signed before")
        try await store.close()
    }

    @Test("an older file of keys is found also by who had the store open when it was put back")
    func open() async throws {
        let temporary = try await SealedPersons.store()
        let file = URL(filePath: temporary.path + "/keys")
        let old = try Data(contentsOf: file)
        _ = try await temporary.store.maintenance.rotateKey()
        let head = try await sign(temporary.store)
        try old.write(to: file)
        let found = try await judge(temporary.store, head)
        #expect(found.count == 1 && found[0].hasPrefix("STORE110") && found[0].contains("data key 2 is missing"), "\(found)")
        try await temporary.store.close()
    }

    @Test("the ledger of what was forgotten may grow; rows that are missing are found")
    func ledger() async throws {
        let temporary = try await SealedPersons.store()
        let none = try await sign(temporary.store)
        _ = try await temporary.store.forget([StreamName("person-1")])
        let one = try await sign(temporary.store)
        #expect(try await judge(temporary.store, none).first?.contains("1 more forgotten") == true)
        _ = try await temporary.store.forget([StreamName("person-2")])
        let two = try await sign(temporary.store)
        try await temporary.store.close()
        let log = try EventLog.open(at: temporary.path, options: temporary.store.options)
        try await log.update { update in
            if let row = try update.rows(.notes).last { try update.delete(.notes, row.key) }
        }
        try await log.close()
        let store = try await temporary.open()
        #expect(try await judge(store, two).map { String($0.prefix(8)) } == ["STORE109"])
        #expect(try await judge(store, one) == [])
        _ = try await store.append([.event("person-1", "Joined", #"{"id":"1","name":"Ada again"}"#)])
        _ = try await store.forget([StreamName("person-1")])
        #expect(try await judge(store, two).first?.contains("does not begin with the rows") == true, "as many rows, and others")
        try await store.close()
    }
}
