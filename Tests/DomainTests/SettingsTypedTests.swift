import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// What the profile was as a Swift type of the first version, and what it became.
private struct UserProfileV1: Codable {
    var firstName: String
    var lastName: String?
}

private struct UserProfileV2: Codable {
    struct Preferences: Codable {
        var notifications = true
        var theme = "system"
        var language = "en"
    }

    var fullName: String
    var preferences = Preferences()
}

private let profiles = TypedStep("user-profile", revision: 1) { (old: UserProfileV1) in
    UserProfileV2(fullName: [old.firstName, old.lastName].compactMap(\.self).joined(separator: " "))
} down: { (new: UserProfileV2) in
    guard let space = new.fullName.lastIndex(of: " ") else { return UserProfileV1(firstName: new.fullName) }
    return UserProfileV1(
        firstName: String(new.fullName[..<space]), lastName: String(new.fullName[new.fullName.index(after: space)...]))
}

@Suite("The settings domain, its transforming migration as typed Swift code")
struct SettingsTypedTests {
    /// The domain with `typed/v3.yaml` in the place of version 3; nothing is locked.
    private func twin() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory(copying: SettingsTests.domain.path)
        try FileManager.default.removeItem(at: copy.url("schemas.lock"))
        try FileManager.default.removeItem(at: copy.url("v3.yaml"))
        try FileManager.default.moveItem(at: copy.url("typed/v3.yaml"), to: copy.url("v3.yaml"))
        return copy
    }

    private func events(_ store: EventStore, at version: Int) throws -> [NSDictionary] {
        try store.all(at: version).map { event in
            try #require(try JSONSerialization.jsonObject(with: Data(event.payload)) as? NSDictionary)
        }
    }

    @Test("the typed twin: every event of every version, every read model and the way back are those of the ops")
    func twin() async throws {
        let copy: TemporaryDirectory = try twin()
        let schemas = try Schemas.load(copy.path)
        let declared = try await SettingsTests.domain.store()
        let typed = try await TemporaryStore.make(schemas, at: SchemaVersion(1), steps: [profiles])
        try await SettingsTests.domain.load(1, into: typed)
        let born = try NewEvent.event(
            "profile-mary", "ProfileSaved",
            #"{"id":"mary","fullName":"Mary Ann Evans","email":"m@example.org","createdAt":"2026-06-15T09:00:00Z","updatedAt":"2026-06-15T09:00:00Z","preferences":{"notifications":true,"theme":"system","language":"en"}}"#,
            at: 5, id: "mary")
        for store in [declared.store, typed.store] {
            _ = try await store.migrate(to: SchemaVersion(5), options: MigrationOptions(yes: true))
            _ = try await store.append([born])
        }
        for version in 1 ... 5 { #expect(try events(typed.store, at: version) == events(declared.store, at: version), "v\(version)") }
        #expect(try typed.store.all(at: 2).last?.json.contains(#""firstName":"Mary Ann""#) == true)
        #expect(try await typed.store.row("profiles", "mary") == declared.store.row("profiles", "mary"))
        #expect(try await typed.store.freshDigests(at: 5) == declared.store.freshDigests(at: 5))
        try await typed.store.rollBackAndCompare(to: 1)
        #expect(try await typed.store.maintenance.verify(laws: true, seed: 1).ok)
    }

    @Test("without the application's code the twin says which step it lacks, and whose settings they are is still read")
    func without() async throws {
        let copy: TemporaryDirectory = try twin()
        let schemas = try Schemas.load(copy.path)
        let typed = try await TemporaryStore.make(schemas, at: SchemaVersion(1), steps: [profiles])
        try await SettingsTests.domain.load(1, into: typed)
        _ = try await typed.store.migrate(to: SchemaVersion(5), options: MigrationOptions(yes: true))
        let bare = try await typed.open(schemas: schemas)
        #expect(throws: EvstoreError.programNeeded(what: "the step user-profile (revision 1) of v3")) {
            try bare.read(try StreamName("profile-ada"))
        }
        #expect(try bare.read(try StreamName("theme-ada")).count == 1)
        await #expect(throws: EvstoreError.misuse("the step user-profile is registered twice")) {
            try await typed.open(schemas: schemas, steps: [profiles, profiles])
        }
    }
}
