import Evstore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Torturing

/// The processes of a store that has a consumer: several that consume under one name, and one that appends and migrates meanwhile.
struct Consuming {
    static let name = "mailer"
    /// What the tries of a handler fail with; one in thirty does.
    private struct Refused: Error {}

    /// Whether SIGTERM has come.
    private final class Asked: Sendable { let isTrue = Atomic(false) }

    let scene: String

    private var path: String { scene + "/store" }
    var effects: String { scene + "/effects" }

    /// One effect: which process has made it, for which event of which stream.
    struct Effect: Hashable {
        var process: Int32
        var position: UInt64
        var stream: String

        init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 3, let process = Int32(words[0]), let position = UInt64(words[1]) else { return nil }
            (self.process, self.position, stream) = (process, position, String(words[2]))
        }
    }

    private func open() async throws -> EventStore {
        try await EventStore.open(path, schemas: Order.loaded, options: Worker.options)
    }

    /// Consumes until it is asked to end, each effect a line in a file that all share.
    func consume(at version: SchemaVersion, seed: Int) async throws {
        // Asked to end before it has begun, it ends at once.
        let asked = Asked()
        signal(SIGTERM, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        source.setEventHandler { asked.isTrue.store(true, ordering: .relaxed) }
        source.resume()
        let store = try await open()
        let file = unsafe Glibc.open(effects, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        let chance = Mutex(UInt64(truncatingIfNeeded: seed) &* 2_654_435_769 | 1)
        var options = ConsumerOptions()
        options.retry = RetryPolicy(attemptsMax: 1_000, firstPause: .seconds(0.001), pauseMax: .seconds(0.01))
        options.concurrency = seed % 2 == 0 ? 1 : 3
        let work = Task { [options] in
            try await store.consume(Self.name, at: version, options: options) { event, _ in
                let fails = chance.withLock { state in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return state >> 33 % 30 == 0
                }
                if fails { throw Refused() }
                // One write, so that a kill leaves a whole line or none.
                let line = Array("\(getpid()) \(event.position) \(event.stream)\n".utf8)
                if unsafe write(file, line, line.count) != line.count { throw Failure("the effect could not be written") }
            }
        }
        let asking = Task {
            while !asked.isTrue.load(ordering: .relaxed), !Task.isCancelled { try await Task.sleep(for: .milliseconds(2)) }
            work.cancel()
        }
        try await work.value
        asking.cancel()
        source.cancel()
        try await store.close()
    }

    /// Appends events, takes a snapshot, replays, rolls back and replays again among them.
    func drive(events: Int) async throws {
        let store = try await open()
        let base = Int(try store.last().position.rawValue)
        var (done, version) = (0, 1)
        for tenth in 0 ..< 10 {
            while done < events * (tenth + 1) / 10 {
                let count = min(100, events - done)
                let numbers = base + done ..< base + done + count
                _ = try await store.append(try numbers.map { try Order.event($0, at: version) })
                done += count
                try await Task.sleep(for: .milliseconds(2))
            }
            switch tenth {
            case 2, 6:
                _ = try await store.migrate(to: SchemaVersion(5), options: MigrationOptions(yes: true))
                version = 5
            case 4:
                _ = try await store.rollback(to: SchemaVersion(1))
                version = 1
            default: break
            }
        }
        do {
            _ = try await store.finalize(SchemaVersion(5))
            throw Failure("finalize left a consumer behind without a word")
        } catch EvstoreError.consentNeeded(let what, _) where what.contains(Self.name) {}
        try await store.close()
    }

    /// What is wrong with the effects, once the consumer has come to the log's end.
    /// - Parameter killed: the processes that were ended by SIGKILL.
    func judge(killed: Set<Int32>) async throws -> ConsumingVerdict {
        let store = try await open()
        let last = try store.last().position.rawValue
        try await store.close()
        var problems: [String] = []
        var makers: [UInt64: Int32] = [:]
        var newest: [String: UInt64] = [:]
        var repeated = 0
        let lines = try String(contentsOfFile: effects, encoding: .utf8).split(separator: "\n")
        for line in lines {
            guard let effect = Effect(line) else {
                problems.append("half a line: \(line)")
                continue
            }
            if let before = makers.updateValue(effect.process, forKey: effect.position) {
                repeated += 1
                if before == effect.process || !killed.contains(before) {
                    problems.append("position \(effect.position) was handled again, and process \(before) was not killed")
                }
            } else if let before = newest.updateValue(effect.position, forKey: effect.stream), before > effect.position {
                problems.append("position \(effect.position) of \(effect.stream) was handled behind \(before)")
            }
        }
        let missing = (1 ... last).filter { makers[$0] == nil }
        if let first = missing.first { problems.append("\(missing.count) of \(last) events were never handled, the first at \(first)") }
        return ConsumingVerdict(problems: problems, effects: lines.count, repeated: repeated)
    }

    /// Whether the consumer has come to the log's end.
    func hasArrived() async throws -> Bool {
        let store = try await EventStore.open(path, readOnly: true, options: Worker.options)
        let lag = try store.consumers().first { $0.name == Self.name }?.lag
        try await store.close()
        return lag == 0
    }
}
