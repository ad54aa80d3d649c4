import Evstore
import EvstoreTesting
import Foundation
import Testing

/// What else changes in the life of a vault: the cipher that the store seals its events with, and how a passphrase opens it.
@Suite("The keys of the vault domain")
struct VaultKeyTests {
    private static let domain = Domain(name: "vault")
    private static let first = StoreSecret.key([UInt8](repeating: 0x4d, count: 32))

    private static func options(_ secret: StoreSecret) -> Options {
        var options = Options.forTests
        options.secret = secret
        return options
    }

    private static func open(_ path: String, _ secret: StoreSecret) async throws -> EventStore {
        try await EventStore.open(path, schemas: try domain.schemas(), options: options(secret))
    }

    /// A vault at version 1 whose events were all sealed by the older suite.
    private static func olderVault(_ secrets: VaultSecrets) async throws -> TemporaryStore {
        let temporary = try await TemporaryStore.make(try domain.schemas(), at: SchemaVersion(1), options: options(first))
        #expect(try await temporary.store.maintenance.rotateKey(suite: .cbcWithHMAC).id == 2)
        _ = try await temporary.store.maintenance.retireKey(.data, 1)
        try await secrets.load(into: temporary)
        return temporary
    }

    @Test("the cipher changes from CBC to GCM in the middle of the log: every secret opens at every version, forward and back")
    func cipher() async throws {
        let secrets = VaultSecrets(count: 300)
        let temporary = try await Self.olderVault(secrets)
        let store = temporary.store
        let old = try store.all(at: 1).map(\.json)
        _ = try await store.maintenance.rotateKey()
        #expect(store.maintenance.keys().compactMap(\.suite) == [.cbcWithHMAC, .gcm] && store.maintenance.keys().last?.isWriting == true)
        _ = try await store.migrate(to: SchemaVersion(5))
        for version in 2 ... 5 { try await Self.domain.load(version, into: temporary) }
        #expect(try await secrets.opened(in: store) == 300)
        let forward = try store.all(at: 5).map(\.json)
        for version in [4, 1] {
            try await store.rollBackAndCompare(to: version)
            #expect(try await secrets.opened(in: store) == 300, "at \(version)")
        }
        #expect(try Array(store.all(at: 1).map(\.json).prefix(300)) == old)
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(try store.all(at: 5).map(\.json) == forward)
        #expect(try store.digests(at: 5) == (try await store.freshDigests(at: 5)))
        // What is sealed with CBC stays needed, until the log is written anew.
        await #expect { _ = try await store.maintenance.retireKey(.data, 2) } throws: { ($0 as? EvstoreError)?.code == "keyNeeded" }
        let path = temporary.path + "-anew"
        let made = try await store.maintenance.recipher(into: path, secret: .key([UInt8](repeating: 0x5e, count: 32)))
        #expect(made.position == (try store.last().position))
        let anew = try await Self.open(path, .key([UInt8](repeating: 0x5e, count: 32)))
        #expect(anew.maintenance.keys().compactMap(\.suite) == [.gcm])
        #expect(try anew.all(at: 5).map(\.json) == forward)
        #expect(try await secrets.opened(in: anew) == 300)
        try await anew.rollBackAndCompare(to: 1)
        #expect(try await secrets.opened(in: anew) == 300)
        #expect(try await anew.maintenance.verify(deep: true, laws: true).ok)
        try await anew.close()
        try FileManager.default.removeItem(atPath: path)
    }

    @Test(
        "a passphrase is stretched with PBKDF2, then with scrypt: the same words open it, no event changes, and a rollback works across it")
    func derivation() async throws {
        let words = StoreSecret.passphrase(Array("correct horse battery staple".utf8))
        let secrets = VaultSecrets(count: 60)
        let temporary = try await Self.olderVault(secrets)
        let slot = try await temporary.store.maintenance.addKey(words, derivation: .pbkdf2, label: "of 2021")
        #expect(slot.openedBy == "pbkdf2-sha256")
        _ = try await temporary.store.maintenance.retireKey(.slot, 1)
        try await temporary.store.close()
        await #expect { _ = try await Self.open(temporary.path, Self.first) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
        let before = try await Self.open(temporary.path, words)
        _ = try await before.migrate(to: SchemaVersion(5))
        let digests = try before.digests(at: 5)
        #expect(try await before.maintenance.addKey(words, derivation: .scrypt).openedBy == "scrypt")
        _ = try await before.maintenance.retireKey(.slot, slot.id)
        try await before.close()
        let after = try await Self.open(temporary.path, words)
        #expect(after.maintenance.keys().compactMap(\.openedBy) == ["scrypt"])
        #expect(try after.digests(at: 5) == digests)
        try await after.rollBackAndCompare(to: 1)
        #expect(try await secrets.opened(in: after) == 60)
        #expect(try after.maintenance.journal().filter { $0.kind == .key }.map(\.outcome).suffix(2) == ["add slot 3", "retire slot 2"])
        try await after.close()
    }
}
