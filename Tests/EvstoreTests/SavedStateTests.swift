import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

private struct Put: Event {
    static let type = "Put"
    static let version = SchemaVersion(1)
    var n: Int
}

private struct Other: Event {
    static let type = "Other"
    static let version = SchemaVersion(2)
}

/// What a fold may be: text that grows, so that order and every event count.
private struct Told: Codable, Equatable, Sendable {
    var text = ""
    var sum = 0
}

/// States of long streams that lie on the disk, always compared with what all events make.
@Suite("Saved states", .timeLimit(.minutes(10)))
struct SavedStateTests {
    private static let versions = [
        "evstore: 1\nversion: 1\nevents: {Put: {required: [n], properties: {n: {type: integer}}}}",
        """
        evstore: 1
        version: 2
        upcast: [{add-event: {type: Other, down: {hide: new}}}]
        events: {Put: {required: [n], properties: {n: {type: integer}}}, Other: {properties: {}}}
        """,
    ]

    private let files: SchemaFiles
    private let stream: StreamName

    init() throws {
        files = try SchemaFiles(versions: Self.versions)
        stream = try StreamName("s-1")
    }

    private func fold(_ revision: Int = 1) throws -> StreamFold<Told> {
        try StreamFold("told", revision: revision, initial: Told()) {
            StateHandler(Put.self) { told, put, _ in
                told = Told(text: String((told.text + "\(put.n * revision),").suffix(60)), sum: told.sum + put.n)
            }
        }
    }

    private func cache(_ events: Int = 10) -> StateCache<Told> { StateCache(savedEvery: events) }

    private func put(_ numbers: Range<Int>, _ store: EventStore) async throws {
        for number in numbers { try await store.append(Put(n: number), to: stream, expecting: .any) }
    }

    private func saved(_ store: EventStore) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(store.path)/states")) ?? []).sorted().map { "\(store.path)/states/\($0)" }
    }

    @Test("a process that has just been started folds what came since the state was saved, and every so many events it is saved anew")
    func again() async throws {
        let temporary = try await TemporaryStore.make(files.load(), at: SchemaVersion(1))
        let store = temporary.store
        let fold = try fold()
        try await put(0 ..< 25, store)
        #expect(try store.state(of: stream, fold, cache: cache()).folded == 25)
        try await put(25 ..< 28, store)
        let state = try store.state(of: stream, fold, cache: cache())
        #expect((state.wasKept, state.folded, state.value.sum) == (true, 3, 28 * 27 / 2))
        #expect(try store.state(of: stream, fold, cache: cache()).folded == 3, "three are too few to save it again")
        try await put(28 ..< 40, store)
        #expect(try store.state(of: stream, fold, cache: cache()).folded == 15)
        #expect(try store.state(of: stream, fold, cache: cache()).folded == 0)
        let revised = try store.state(of: stream, try self.fold(2), cache: cache())
        #expect((revised.wasKept, revised.value) == (false, try store.state(of: stream, self.fold(2)).value))
    }

    @Test("what lies there is believed only of the same log: not with a bit flipped, as another stream's, or behind another history")
    func foreign() async throws {
        let temporary = try await TemporaryStore.make(files.load(), at: SchemaVersion(1))
        let store = temporary.store
        let fold = try fold()
        try await put(0 ..< 12, store)
        _ = try await store.takeSnapshot("here")
        try await put(12 ..< 30, store)
        _ = try store.state(of: stream, fold, cache: cache())
        let file = try #require(saved(store).first)
        let whole = try Data(contentsOf: URL(filePath: file))
        for _ in 0 ..< rounds(40) {
            var bytes = whole
            bytes[Int.random(in: 0 ..< bytes.count)] ^= 1 << UInt8.random(in: 0 ..< 8)
            try bytes.write(to: URL(filePath: file))
            let state = try store.state(of: stream, fold, cache: StateCache(savedEvery: 1_000_000))
            #expect((state.wasKept, state.value.sum) == (false, 30 * 29 / 2))
        }
        try whole.prefix(Int.random(in: 0 ..< whole.count)).write(to: URL(filePath: file))
        #expect(try store.state(of: stream, fold, cache: StateCache(savedEvery: 1_000_000)).folded == 30)
        try whole.write(to: URL(filePath: file))
        // A log that has the same positions again, with other events.
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        try await put(100 ..< 130, store)
        let state = try store.state(of: stream, fold, cache: cache())
        let wanted = try store.state(of: stream, fold).value
        #expect(!state.wasKept && state.value == wanted)
    }

    @Test("nothing is saved that was seen through steps which are not registered, and may change")
    func unregistered() async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: [Self.versions[0]]).load())
        let own = try await temporary.open(schemas: files.load())
        try await put(0 ..< 20, own)
        let newer = try StreamFold("newer", revision: 1, initial: 0) { StateHandler(Other.self) { count, _, _ in count += 1 } }
        let state = try own.state(of: stream, newer, cache: StateCache(savedEvery: 1))
        #expect(state.revision == Revision(19) && saved(own).isEmpty)
        try await own.close()
    }

    @Test("of a store whose events are sealed nothing is written; beyond so many files all go")
    func bounds() async throws {
        var options = Options.forTests
        options.secret = .passphrase(Array("a long secret of the tests".utf8))
        let sealed = try await TemporaryStore.make(files.load(), at: SchemaVersion(1), options: options)
        try await put(0 ..< 20, sealed.store)
        _ = try sealed.store.state(of: stream, try fold(), cache: cache())
        #expect(saved(sealed.store).isEmpty)
        let temporary = try await TemporaryStore.make(files.load(), at: SchemaVersion(1))
        let store = temporary.store
        let cache = StateCache<Told>(streamsMax: 5, savedEvery: 1)
        for number in 0 ..< 12 {
            let stream = try StreamName("s-\(number)")
            try await store.append(Put(n: number), to: stream, expecting: .any)
            #expect(try store.state(of: stream, try fold(), cache: cache).value.sum == number)
            #expect(saved(store).count <= 5)
        }
    }

    @Test("whatever is appended, cut, flipped, rolled back, opened again and copied back, a state is what all events make")
    func random() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let temporary = try await TemporaryStore.make(files.load(), at: SchemaVersion(1))
        var store = temporary.store
        let fold = try fold()
        var (cache, kept, taken, number) = (cache(3), 0, 0, 0)
        /// Those that no cut has taken off.
        var snapshots: [SnapshotReport] = []
        var older: [String: Data] = [:]
        for _ in 0 ..< rounds(120) {
            switch Int.random(in: 0 ..< 12, using: &random) {
            case 0 ... 4:
                let count = Int.random(in: 1 ... 9, using: &random)
                try await put(number ..< number + count, store)
                number += count
            case 5:
                if store !== temporary.store { try await store.close() }
                store = try await temporary.open()
            case 6, 7: cache = StateCache(savedEvery: Int.random(in: 1 ... 6, using: &random))
            case 8:
                taken += 1
                snapshots.append(try await store.takeSnapshot("s\(taken)"))
            case 9 where !snapshots.isEmpty && store === temporary.store:
                let snapshot = snapshots[Int.random(in: 0 ..< snapshots.count, using: &random)]
                _ = try await store.rollback(toSnapshot: snapshot.name, discardTail: true)
                snapshots.removeAll { $0.position > snapshot.position }
            case 10:
                // A cut to before version 2 was registered takes it off.
                if try store.versions.head == 1 { break }
                if try store.versions.live == 1 {
                    _ = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
                } else {
                    _ = try await store.rollback()
                }
            default:
                // Somebody puts files of another day there.
                for (file, content) in older { try content.write(to: URL(filePath: file)) }
                for file in saved(store) { older[file] = try Data(contentsOf: URL(filePath: file)) }
            }
            let state = try store.state(of: stream, fold, cache: cache)
            let wanted = try store.state(of: stream, fold)
            #expect(state.value == wanted.value && state.revision == wanted.revision, "seed \(seed)")
            if state.value != wanted.value { return }
            if state.wasKept { kept += 1 }
        }
        #expect(kept > 10, "seed \(seed): \(kept)")
        if store !== temporary.store { try await store.close() }
    }
}
