import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Torturing

/// A sealed store by chance, in which the same positions come back again and again: what is cut off, and what a backup restores, is
/// appended anew. Nothing that was sealed may share a salt, and nobody may read what was forgotten.
struct Secrecy {
    let scene: String
    let seed: Int
    /// Events that are appended before each return.
    let events: Int

    static let returns = 50
    private static let people = 12
    /// Every text that is a person's begins so.
    static let mark = "c4n4ry"

    private var chance: SeededGenerator
    private var envelopes = Envelopes(canary: Secrecy.mark)
    private var problems: [String] = []
    private var appended = 0
    private var stores = 0
    private var store: EventStore
    private var place: String
    private var secret: UInt8 = 1
    private var told = Told()
    private var backup: (path: String, secret: UInt8, told: Told)?
    private var shown = (forgotten: 0, backups: 0)

    init(scene: String, seed: Int, events: Int) async throws {
        (self.scene, self.seed, self.events) = (scene, seed, events)
        (chance, place) = (SeededGenerator(seed: UInt64(seed), "secrecy", 0), scene + "/store-0")
        store = try await EventStore.create(place, schemas: Told.schemas, version: SchemaVersion(1), options: Self.options(1))
    }

    static func options(_ secret: UInt8) -> Options {
        var options = Worker.options
        options.secret = .key(bytes(of: secret))
        return options
    }

    private static func bytes(of secret: UInt8) -> [UInt8] { [UInt8](repeating: secret, count: 32) }

    mutating func run() async throws -> [String] {
        for number in 0 ..< Self.returns {
            let snapshot = "s\(number)"
            _ = try await store.takeSnapshot(snapshot)
            let before = told
            try await append()
            if oneOf(4) { _ = try await store.maintenance.rotateKey(suite: oneOf(3) ? .cbcWithHMAC : .gcm) }
            if oneOf(5) { try await turn() }
            if number % 4 == 1 { try await backUp(number) }
            if oneOf(4) { try await forget() }
            try collect()
            switch number % 10 {
            case 4, 8: try await restore()
            case 9: try await recipher()
            default:
                _ = try await store.rollback(toSnapshot: snapshot, discardTail: true)
                told.events = before.events
            }
            try collect()
            if !problems.isEmpty { return problems }
        }
        try await look("at the end")
        try await store.close()
        if envelopes.records < appended || envelopes.personal == 0 {
            problems.append("\(envelopes.records) records were seen, \(envelopes.personal) of them personal, and \(appended) were appended")
        }
        if shown.forgotten == 0 || shown.backups == 0 { problems.append("nothing was forgotten that a backup still has: \(shown)") }
        return problems
    }

    private mutating func oneOf(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &chance) == 0 }

    private mutating func append() async throws {
        var left = events
        while left > 0 {
            let batch = min(left, Int.random(in: 1 ... 8, using: &chance))
            let version = try store.versions.live.number
            var made: [NewEvent] = []
            for _ in 0 ..< batch {
                let person = oneOf(3) ? nil : Int.random(in: 0 ..< Self.people, using: &chance)
                made.append(try told.event(person, seed, at: version))
            }
            _ = try await store.append(made)
            (left, appended) = (left - batch, appended + batch)
        }
    }

    /// To the other version.
    private func turn() async throws {
        if try store.versions.live == SchemaVersion(1) {
            _ = try await store.migrate(to: SchemaVersion(2))
        } else {
            _ = try await store.rollback()
        }
    }

    private mutating func backUp(_ number: Int) async throws {
        let path = scene + "/backup-\(number)"
        _ = try await store.maintenance.backUp(into: path)
        if let backup { try FileManager.default.removeItem(atPath: backup.path) }
        backup = (path, secret, told)
    }

    private mutating func forget() async throws {
        guard let person = told.visible.randomElement(using: &chance)?.person else { return }
        // It was there to be seen, in a read model too.
        _ = try await store.count("people")
        _ = try await store.forget([StreamName("person-\(person)")])
        told.forget(person)
        shown.forgotten += 1
        try await look("after person \(person) was forgotten")
    }

    /// Goes on with what the newest backup has.
    private mutating func restore() async throws {
        guard let backup else { return }
        try await leave()
        let isWhole = backup.told.events.isEmpty || Bool.random(using: &chance)
        let target =
            isWhole ? nil : RestoreTarget.position(Position(UInt64(Int.random(in: 1 ... backup.told.events.count, using: &chance))))
        let options = Self.options(backup.secret)
        // Within the first append there is nothing to restore.
        if try await !Self.isRestored(backup.path, place, target, options) {
            _ = try await StoreMaintenance.restore(from: backup.path, into: place, options: options)
        }
        let before = told
        (told, secret) = (backup.told, backup.secret)
        store = try await open()
        told.events.removeLast(told.events.count - Int(try store.last().position.rawValue))
        try await look("restored")
        // The half that shows that there was something to forget: a backup from before has what was forgotten since.
        shown.backups += Set(told.visible).intersection(before.forgotten).count
    }

    private static func isRestored(
        _ backup: String, _ place: String, _ target: RestoreTarget?, _ options: Options
    ) async throws -> Bool {
        do {
            _ = try await StoreMaintenance.restore(from: backup, into: place, to: target, options: options)
            return true
        } catch {
            if case EvstoreError.notInBackup = error { return false }
            throw error
        }
    }

    private mutating func recipher() async throws {
        let (old, before) = (store, place)
        stores += 1
        place = scene + "/store-\(stores)"
        secret = UInt8(stores % 250 + 2)
        _ = try await old.maintenance.recipher(into: place, secret: .key(Self.bytes(of: secret)), suite: oneOf(2) ? .cbcWithHMAC : .gcm)
        try await old.close()
        try FileManager.default.removeItem(atPath: before)
        store = try await open()
        try await look("under other keys")
    }

    private mutating func leave() async throws {
        try await store.close()
        try collect()
        try FileManager.default.removeItem(atPath: place)
        stores += 1
        place = scene + "/store-\(stores)"
    }

    private func open() async throws -> EventStore {
        try await EventStore.open(place, schemas: Told.schemas, options: Self.options(secret))
    }

    /// Looks at every byte of the store and of its backup.
    private mutating func collect() throws {
        var clear: [String] = []
        try envelopes.collect(place, secret: Self.bytes(of: secret)) { file, text in clear.append("\(file) shows \(text.prefix(30))") }
        if let backup {
            try envelopes.collect(backup.path, secret: Self.bytes(of: backup.secret)) { file, _ in
                clear.append("a backup's \(file) shows a canary")
            }
        }
        problems += clear.prefix(3) + envelopes.problems.prefix(3)
    }

    /// Looks through everything that shows events: what was forgotten is nowhere, and everything else is there.
    private mutating func look(_ when: String) async throws {
        let sightings = try await Sightings(of: store, told)
        var whole = sightings.all
        if !told.events.isEmpty { whole["a salvage"] = try await salvage() }
        let visible = Set(told.visible.map { $0.text(seed) })
        let gone = Set(told.forgotten.map { $0.text(seed) })
        for (way, text) in whole.merging(sightings.some, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }) {
            let found = Set(text.ranges(of: /c4n4ry-[0-9]+-[0-9]+-[0-9]+z/).map { String(text[$0]) })
            if let name = found.intersection(gone).min() { problems.append("\(when), \(way) shows \(name)") }
            if whole[way] != nil, let name = visible.subtracting(found).min() { problems.append("\(when), \(way) does not show \(name)") }
        }
    }

    private mutating func salvage() async throws -> String {
        let salvaged = scene + "/salvaged"
        try await store.close()
        _ = try await StoreMaintenance.salvage(place, into: salvaged, options: Self.options(secret))
        let other = try await EventStore.open(salvaged, schemas: Told.schemas, options: Self.options(secret))
        let text = try Sightings.all(of: other, at: nil)
        try await other.close()
        try envelopes.collect(salvaged, secret: Self.bytes(of: secret)) { _, _ in }
        try FileManager.default.removeItem(atPath: salvaged)
        store = try await open()
        return text
    }
}

extension TortureCase {
    private static let eventsPerReturn = 40

    static let secrets = TortureCase(
        "R14", "sealed stores whose positions come back by cuts and restores: no salt is used twice, nothing forgotten is read anywhere",
        goal: 100_000, seconds: 15, floor: 2_000, runsPerTrial: Secrecy.returns * eventsPerReturn
    ) { trial in
        try trial.ask("seal", "\(eventsPerReturn)")
        trial.runs += Secrecy.returns * eventsPerReturn
    }
}
