import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Torturing

/// A job in a scene: a directory with a store, and what lies beside it.
struct JobWork {
    let job: Job
    let scene: String

    init(_ job: Job, in scene: String) { (self.job, self.scene) = (job, scene) }

    var store: String { scene + "/store" }
    var backup: String { scene + "/backup" }
    /// What the job makes beside the store.
    var made: String { scene + "/made" }
    var lines: String { scene + "/lines.jsonl" }
    var acks: String { scene + "/acks" }

    private static let first = SchemaVersion(1)
    private static let fifth = SchemaVersion(5)
    /// Events that are there before the job, and those that an import brings.
    static let before = 60
    static let imported = 60 ..< 180

    func prepare() async throws {
        try FileManager.default.createDirectory(atPath: scene, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: acks))
        if job.appends || job.isSealed { return try await prepareNotes() }
        let store = try await EventStore.create(store, schemas: Order.loaded, version: Self.first, options: Worker.options)
        _ = try await store.append(try (0 ..< Self.before).map { try Order.event($0) })
        _ = try await store.migrate(to: Self.first)
        if [.backup, .restore, .drill].contains(job) { _ = try await store.maintenance.backUp(into: backup) }
        if [.rollback, .cut, .finalize].contains(job) {
            try await close(store)
            return try await prepareFifth()
        }
        if job == .backup { _ = try await store.append(try (60 ..< 90).map { try Order.event($0) }) }
        if job == .importing { try Order.lines(Self.imported).write(toFile: lines, atomically: false, encoding: .utf8) }
        try await close(store)
    }

    private func prepareNotes() async throws {
        let files = try SchemaFiles(Note.taggedVersionFile, projections: Note.projections)
        let store = try await EventStore.create(store, schemas: files.load(), options: options)
        for number in 0 ..< 12 {
            let stream = job.isSealed ? Note.person(number % 4) : nil
            _ = try await store.append([try Note.event(1_000_000_000 + number * 10, stream: stream)])
        }
        if job.isSealed { _ = try await store.migrate(to: Self.first) }
        try await close(store)
    }

    private func prepareFifth() async throws {
        let store = try await open()
        _ = try await store.migrate(to: Self.fifth)
        if job == .cut { _ = try await store.takeSnapshot("here") }
        if job != .finalize { _ = try await store.append(try (60 ..< 70).map { try Order.event($0, at: 5) }) }
        try await close(store)
    }

    /// What opens a store, and what opens it after a job that changes keys.
    private static let secrets = [StoreSecret.key(Array(repeating: 7, count: 32)), .key(Array(repeating: 9, count: 32))]

    private var options: Options {
        var options = Worker.options(job.isSealed ? Self.secrets[0] : nil)
        // An import is several appends: a cut between them leaves the first.
        if job == .importing { options.appendEventsMax = 40 }
        return options
    }
    private var others: Options { Worker.options(job.isSealed ? Self.secrets[1] : nil) }

    private func open() async throws -> EventStore {
        let schemas = job.appends || job.isSealed ? nil : try Order.loaded
        do { return try await EventStore.open(store, schemas: schemas, options: options) } catch {
            guard job == .keys, error.code == "keysRefused" else { throw error }
            return try await EventStore.open(store, schemas: schemas, options: others)
        }
    }

    private func look() async -> Facts {
        let facts = await Facts.look(at: store, options: options)
        guard job == .keys, facts.refused?.hasPrefix("keysRefused") == true else { return facts }
        return await Facts.look(at: store, options: others)
    }

    private func close(_ store: EventStore) async throws { try await store.close() }

    func run(seed: Int) async throws {
        switch job {
        case .append, .sealed: try await Appender(store, acks: acks, seed: seed, options, areSealed: job.isSealed).run()
        case .restore: _ = try await StoreMaintenance.restore(from: backup, into: made, options: Worker.options)
        case .create:
            let store = try await EventStore.create(made, schemas: Order.loaded, version: Self.first, options: Worker.options)
            try await store.close()
        default:
            let store = try await open()
            do { try await run(on: store) } catch {
                try await store.close()
                throw error
            }
            try await store.close()
        }
    }

    private func run(on store: EventStore) async throws {
        switch job {
        case .importing: _ = try await store.importLines(from: .file(lines), as: Self.first)
        case .replay: _ = try await store.migrate(to: Self.fifth)
        case .rollback: _ = try await store.rollback(to: Self.first)
        case .cut: _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        case .finalize: _ = try await store.finalize(Self.fifth)
        case .backup: _ = try await store.maintenance.backUp(into: backup)
        case .drill:
            let report = try await store.maintenance.drill(to: Self.fifth, backups: backup)
            if !report.passed {
                throw EvstoreError.verificationFailed(reason: report.steps.last { !$0.ok }?.detail ?? "the drill did not pass")
            }
        case .forget: _ = try await store.forget([StreamName(Note.person(2))])
        case .keys: try await changeKeys(of: store)
        case .recipher: _ = try await store.maintenance.recipher(into: made, secret: Self.secrets[1])
        case .append, .sealed, .restore, .create: break
        }
    }

    /// Another secret in the place of the first, and another data key; what is done already is not done again.
    private func changeKeys(of store: EventStore) async throws {
        let slots = store.maintenance.keys().filter { $0.kind == .slot }
        if !slots.contains(where: { $0.label == "second" }) { _ = try await store.maintenance.addKey(Self.secrets[1], label: "second") }
        if store.maintenance.keys().filter({ $0.kind == .data }).count < 2 { _ = try await store.maintenance.rotateKey() }
        for slot in slots where slot.label.isEmpty { _ = try await store.maintenance.retireKey(.slot, slot.id) }
    }

    /// Looks at what is left, does the job again, and looks once more.
    func judge() async throws -> Finding {
        let found = await look()
        let beside = await lookBeside("first")
        var finding = Finding(scene: scene, found: found, beside: beside, final: found, finalBeside: beside)
        guard found.refused == nil else { return finding }
        if !job.appends, try !isDone(beside) {
            do { try await run(seed: 0) } catch { finding.again = Worker.words(error) }
            finding.final = await look()
            finding.finalBeside = await lookBeside("second")
        }
        finding.goesOn = try await goesOn(finding.final)
        return finding
    }

    /// A rollback that is done would fail, and what is made beside the store is made once.
    private func isDone(_ beside: Facts?) throws -> Bool {
        switch job {
        case .rollback: try EventStore.versions(store).live == Self.first
        case .restore, .create, .recipher: beside?.refused == nil
        default: false
        }
    }

    /// What the job has made: a store, or a backup that one can be made of.
    private func lookBeside(_ name: String) async -> Facts? {
        switch job {
        case .restore, .create, .recipher: return await Facts.look(at: made, options: others)
        case .backup:
            let restored = scene + "/restored-" + name
            do {
                // A look that a power cut ended may have left its own.
                if FileManager.default.fileExists(atPath: restored) { try FileManager.default.removeItem(atPath: restored) }
                _ = try await StoreMaintenance.restore(from: backup, into: restored, options: Worker.options)
            } catch { return Facts(refused: Worker.words(error)) }
            return await Facts.look(at: restored)
        default: return nil
        }
    }

    private func next(_ facts: Facts) throws -> NewEvent {
        if job.isSealed { return try Note.event(2_000_000_000, stream: Note.person(2)) }
        return try job == .append ? Note.event(2_000_000_000) : Order.event(2_000_000, at: facts.versions[1])
    }

    private func goesOn(_ facts: Facts) async throws -> Bool {
        guard facts.refused == nil else { return false }
        let store = try await open()
        let event = try next(facts)
        let receipt = try await store.append([event])
        try await store.close()
        return receipt.duplicate || receipt.position.rawValue == UInt64(facts.numbers.count + 1)
    }
}
