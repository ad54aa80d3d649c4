internal import EventModel
internal import Evstore
internal import EvstoreService
internal import EvstoreWeb
internal import Foundation
internal import SchemaEvolution

/// Everything that is asked of a store that was changed, and of its backups.
struct StoreSight {
    private let whole: DamagedStore
    private let place: String
    private var store: String { place + "/store" }
    private var backups: String { place + "/backups" }

    init(_ whole: DamagedStore, in place: String) { (self.whole, self.place) = (whole, place) }

    /// - Returns: also the errors that were answered, in their order.
    func verdict(_ kind: StoreFuzzer.Kind, _ random: SeededRandom) async -> (answers: [String], verdict: Verdict) {
        var (trial, random) = (Trial(), random)
        switch kind {
        case .row, .block, .model, .report: await look(at: store, &trial, &random)
        case .run:
            await trial.ask { _ = try StoreMaintenance.backups(in: backups) }
            await trial.ask { _ = try await StoreMaintenance.verifyBackups(in: backups) }
            await restore(backups, &trial, &random)
            await look(at: store, &trial, &random)
        case .backup: await restore(place + "/backup", &trial, &random)
        }
        return (trial.refusals, trial.verdict)
    }

    private func restore(_ backup: String, _ trial: inout Trial, _ random: inout SeededRandom) async {
        let restored = place + "/restored"
        let target: RestoreTarget? =
            random.once(in: 3)
            ? .position(Position(random.pick(Extremes.integers)))
            : random.once(in: 4) ? .time(Timestamp(microseconds: Int64(bitPattern: random.pick(Extremes.integers)))) : nil
        await trial.ask { _ = try await StoreMaintenance.restore(from: backup, into: restored, to: target, options: DamagedStore.options) }
        if FileManager.default.fileExists(atPath: restored) { await look(at: restored, &trial, &random) }
        let replica = place + "/replica"
        if backup == backups {
            return await trial.ask { _ = try await StoreMaintenance.follow(from: backup, into: replica, options: DamagedStore.options) }
        }
        await trial.ask {
            var rest = [UInt8](try Data(contentsOf: URL(filePath: backup)))[...]
            _ = try await StoreMaintenance.follow(named: backup, into: replica, options: DamagedStore.options) { count in
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
        }
    }

    private func look(at path: String, _ trial: inout Trial, _ random: inout SeededRandom) async {
        let store: EventStore
        do { store = try await EventStore.open(path, policy: .require, options: DamagedStore.options) } catch {
            trial.judge(error)
            await trial.ask { _ = try await EventStore.open(path, readOnly: true, options: DamagedStore.options).close() }
            return
        }
        do { trial.isSound = try await store.maintenance.verify(deep: true).ok } catch { trial.judge(error) }
        await state(of: store, &trial)
        await page(of: store, &trial)
        await events(of: store, &trial, random.pick(Extremes.integers))
        if random.once(in: 2) { await migrations(of: store, &trial, &random) }
        await writing(to: store, &trial)
        trial.isSound = false
        do { try await store.close() } catch { trial.judge(error) }
    }

    private func state(of store: EventStore, _ trial: inout Trial) async {
        await trial.ask { _ = try store.status() }
        await trial.ask { _ = try await store.maintenance.verify() }
        await trial.ask { _ = try store.maintenance.journal() }
        await trial.ask { _ = try store.consumers() }
        await trial.ask { _ = try store.parked(of: "parks") }
        await trial.ask { _ = try store.snapshots() }
        await trial.ask { _ = try store.maintenance.verifySnapshots() }
        await trial.ask { _ = try store.projections() }
        await trial.ask { _ = try store.quarantine() }
        #if Service
            await trial.ask {
                let registry = PrometheusRegistry()
                try StoreMetrics(factory: registry).take(of: store, backups: backups)
                _ = registry.text
            }
        #endif
    }

    /// An answer of the page is one whatever it says.
    private func page(of store: EventStore, _ trial: inout Trial) async {
        let page = Page(store, backups: BackupLook(backups))
        var paths = ["/", "/events", "/migration", "/consumers", "/quarantine", "/drills", "/census", "/storage", "/read-models"]
        paths += whole.projections.prefix(2).map { "/read-models/\($0)" } + whole.streams.prefix(1).map { "/streams/\($0)" }
        for path in paths { _ = await page.answer(PageRequest(path: path)) }
        _ = await page.answer(PageRequest(path: "/events", query: "before=18446744073709551615"))
        _ = await page.answer(PageRequest(path: "/events/18446744073709551615"))
    }

    private func events(of store: EventStore, _ trial: inout Trial, _ extreme: UInt64) async {
        await trial.ask { try store.readAll { _ in true } }
        await trial.ask { try store.readAll(backwards: true) { _ in true } }
        await trial.ask { try store.readAll(from: Position(extreme)) { _ in true } }
        await trial.ask { _ = try store.event(position: Position(extreme)) }
        for stream in whole.streams {
            await trial.ask { _ = try store.read(stream) }
            await trial.ask { _ = try store.read(stream, from: Revision(extreme), backwards: true) }
        }
        await trial.ask { try await store.export { _ in true } }
        for name in whole.projections { await trial.ask { _ = try await store.count(name) } }
    }

    private func migrations(of store: EventStore, _ trial: inout Trial, _ random: inout SeededRandom) async {
        let version = SchemaVersion(Int.random(in: 1 ... whole.versions, using: &random))
        await trial.ask { _ = try await store.plan(to: version) }
        await trial.ask { _ = try await store.planRollback(to: version) }
        if random.once(in: 3) { await trial.ask { _ = try await store.migrate(to: version, options: MigrationOptions(yes: true)) } }
        if random.once(in: 3) { await trial.ask { _ = try await store.rollback(to: version) } }
    }

    private func writing(to store: EventStore, _ trial: inout Trial) async {
        var options = ConsumerOptions()
        (options.retry, options.endsAtLogEnd) = (RetryPolicy(attemptsMax: 1), true)
        for name in ["parks", "takes", "new"] {
            await trial.ask { [options] in
                try await store.consume(name, options: options) { _, _ in throw EvstoreError.usage("it is full") }
            }
        }
        await trial.ask { _ = try await store.takeSnapshot("two") }
        await trial.ask {
            guard let stream = whole.streams.first, let last = try store.event(position: Position(1)) else { return }
            _ = try await store.append([NewEvent(stream: stream, type: last.type, payload: last.payload, version: last.version)])
        }
        await trial.ask { _ = try await store.maintenance.backUp(into: backups) }
    }
}

/// Asks one thing after the other, and remembers the first answer that is none.
private struct Trial {
    private var complaint: String?
    /// Whether `verify --deep` has called the store sound: then no question finds damage.
    var isSound = false
    private(set) var refusals: [String] = []

    var verdict: Verdict { complaint.map { .wrong($0) } ?? (refusals.isEmpty ? .accepted : .refused) }

    mutating func ask(_ body: () async throws -> Void) async {
        do { try await body() } catch { judge(error) }
    }

    mutating func judge(_ error: any Error) {
        refusals.append("\((error as? EvstoreError)?.message ?? "\(error)")")
        guard complaint == nil else { return }
        guard let error = error as? EvstoreError else { return complaint = "an error that is not the store's own: \(error)" }
        if ["internalFailure", "misuse", "ioFailure"].contains(error.details.code) || error.message.allSatisfy(\.isWhitespace) {
            complaint = "\(error.details.code): \(error.message)"
        }
        if isSound, ["storeDamaged", "corruptBlock"].contains(error.details.code) { complaint = "it was called sound: \(error.message)" }
    }
}
