#if Service
    import Evstore
    import EvstoreService
    import Foundation
    import Glibc
    import Logging
    import ServiceLifecycle
    import Synchronization
    import TestSupport
    import Torturing
    import UnixSignals

    /// A store in a group of services that SIGTERM shuts down, while what is not in the group goes on appending; and what is said of the
    /// scene when no process has it open.
    struct Serving {
        /// What the tries of a handler fail with; one in thirty does.
        private struct Refused: Error {}

        /// Who consumes in the group, and how: one event after the other, streams side by side, and several events at once.
        private static let consumers: [(name: String, concurrency: Int, batch: Int)] = [
            ("mailer", 1, 1), ("ledger", 3, 1), ("index", 1, 7),
        ]
        private static let appenders = 3
        /// How long a group may take, in seconds.
        static let grace = 120.0

        let scene: String

        private var path: String { scene + "/store" }
        private var backups: String { scene + "/backups" }
        /// A line for each append that has returned: the position of its first event, its events, the number of the first.
        private var acknowledged: String { scene + "/acknowledged" }
        /// A line for each event that a consumer has handled: its position.
        private func effects(_ consumer: String) -> String { scene + "/effects-" + consumer }

        // MARK: The group

        /// Runs until SIGTERM has come and the group has ended.
        /// - Parameter run: how many runs the scene has had, from which the numbers of its events follow.
        func serve(run: Int, seed: UInt64) async throws {
            let metrics = StoreMetrics()
            var options = Worker.options
            options.commitObserver = metrics.observe
            let store = try await EventStore.open(path, schemas: Order.loaded, options: options)
            let logger = Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }
            let chance = Chance(seed)
            var services: [any Service] = [
                StoreService(store), metrics.service(of: store, backups: backups, every: .milliseconds(15), logger: logger),
                ScheduleService.backups(of: store, into: backups, every: .milliseconds(150), keeping: 3, logger: logger),
                ScheduleService.drills(of: store, every: .milliseconds(400), logger: logger),
            ]
            for consumer in Self.consumers { services.append(try self.consumer(consumer, store, chance)) }
            // The signal is taken before the first of them runs.
            services.append(Herald())
            var configuration = ServiceGroupConfiguration(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm], logger: logger)
            configuration.maximumGracefulShutdownDuration = .seconds(Self.grace)
            let numbers = Numbers(from: (run + 1) * 1_000_000)
            let appending = (0 ..< Self.appenders).map { _ in Task { try await append(to: store, numbers, chance) } }
            try await ServiceGroup(configuration: configuration).run()
            for task in appending { try await task.value }
        }

        private func consumer(
            _ consumer: (name: String, concurrency: Int, batch: Int), _ store: EventStore, _ chance: Chance
        ) throws -> ConsumerService {
            var options = ConsumerOptions()
            options.retry = RetryPolicy(attemptsMax: 1_000, firstPause: .seconds(0.001), pauseMax: .seconds(0.01))
            options.concurrency = consumer.concurrency
            let file = try LineFile(effects(consumer.name))
            return ConsumerService(store, consumer.name, at: SchemaVersion(1), batch: consumer.batch, options: options) { events, _ in
                if chance.isOne(in: 30) { throw Refused() }
                if chance.isOne(in: 10) { try await Task.sleep(for: .milliseconds(3)) }
                try file.write(events.map { "\($0.position)\n" }.joined())
            }
        }

        /// Appends until the store is closed, and notes what has returned.
        private func append(to store: EventStore, _ numbers: Numbers, _ chance: Chance) async throws {
            let file = try LineFile(acknowledged)
            while true {
                let count = chance.isOne(in: 20) ? 60 : 1
                let first = numbers.take(count)
                let events = try (first ..< first + count).map { try Order.event($0) }
                let receipt: AppendReceipt
                do { receipt = try await store.append(events) } catch EvstoreError.misuse { return }
                try file.write("\(receipt.positions.lowerBound) \(count) \(first)\n")
                if chance.isOne(in: 3) { try await Task.sleep(for: .milliseconds(2)) }
            }
        }

        /// Says that the group serves.
        private struct Herald: Service {
            func run() async throws {
                try Worker.say("serving")
                do { try await gracefulShutdown() } catch is CancellationError {}
            }
        }

        // MARK: What is left

        /// What is wrong with the scene, and how many events it has.
        /// - Parameter isLast: whether everything is looked over, its newest backup, too.
        func judge(isLast: Bool) async throws -> ServingVerdict {
            let store = try await EventStore.open(path, schemas: Order.loaded, options: Worker.options)
            var problems: [String] = []
            var events: [Int] = []
            try store.readAll { event in
                events.append(try Order.number(of: event))
                return true
            }
            var count = 0
            for words in try Self.lines(acknowledged).map({ $0.split(separator: " ").compactMap { Int($0) } }) {
                guard words.count == 3, words[0] > 0 else { throw Failure("half a line of what was acknowledged: \(words)") }
                count += 1
                let places = words[0] - 1 ..< words[0] - 1 + words[1]
                if places.upperBound > events.count || !events[places].elementsEqual(words[2] ..< words[2] + words[1]) {
                    problems.append("the append of \(words[1]) events at position \(words[0]) is not there")
                }
            }
            for status in try store.consumers() { problems += try judge(status) }
            if isLast {
                problems += try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.map(\.message)
                problems += try await judgeBackups(events)
            }
            try await store.close()
            return ServingVerdict(problems: problems, events: events.count, appends: count)
        }

        /// A consumer's place is what its handler has finished, and nothing was handled twice.
        private func judge(_ status: ConsumerStatus) throws -> [String] {
            let lines = try Self.lines(effects(status.name)).map { Int($0) ?? 0 }
            let (place, handled) = (Int(status.place.position.rawValue), Set(lines))
            var problems: [String] = []
            if handled.count < lines.count { problems.append("handled \(lines.count - handled.count) events again") }
            if let missing = (0 ..< place).first(where: { !handled.contains($0 + 1) }) {
                problems.append("has its place at \(place) and has never handled \(missing + 1)")
            }
            if status.handled != UInt64(lines.count) { problems.append("notes \(status.handled) handled events, of \(lines.count)") }
            // Side by side events behind the place are handled, which is remembered with it.
            if status.name != "ledger", !lines.elementsEqual((0 ..< place).lazy.map { $0 + 1 }) {
                problems.append("has its place at \(place) and has handled up to \(lines.max() ?? 0)")
            }
            if let holder = status.holder { problems.append("is still held by \(holder)") }
            return problems.map { problem in status.name + " " + problem }
        }

        /// The newest backup, where there is one, has the first events of the log.
        private func judgeBackups(_ events: [Int]) async throws -> [String] {
            if StoreMaintenance.newestBackups(in: backups, limit: 1).isEmpty { return [] }
            let made = scene + "/restored"
            _ = try await StoreMaintenance.restore(from: backups, into: made, options: Worker.options)
            let facts = await Facts.look(at: made)
            let isPart = facts.numbers == Array(events.prefix(facts.numbers.count))
            if isPart, facts.refused == nil, facts.findings.isEmpty { return [] }
            return ["the newest backup has other events"] + [facts.refused].compactMap(\.self) + facts.findings
        }

        private static func lines(_ path: String) throws -> [Substring] {
            FileManager.default.fileExists(atPath: path) ? try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") : []
        }
    }

    /// What is drawn by several tasks at once.
    private final class Chance: Sendable {
        private let generator: Mutex<SeededGenerator>

        init(_ seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed, "serving", 0)) }

        func isOne(in count: Int) -> Bool { generator.withLock { Int.random(in: 0 ..< count, using: &$0) == 0 } }
    }

    /// Numbers of events, each given once.
    private final class Numbers: Sendable {
        private let next: Atomic<Int>

        init(from first: Int) { next = Atomic(first) }

        func take(_ count: Int) -> Int { next.add(count, ordering: .relaxed).oldValue }
    }

    /// A file to which whole lines are added, each by one write.
    private struct LineFile: Sendable {
        private let file: Int32

        init(_ path: String) throws {
            file = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
            if file < 0 { throw Failure("\(path) can't be opened") }
        }

        func write(_ text: String) throws {
            let bytes = Array(text.utf8)
            if unsafe Glibc.write(file, bytes, bytes.count) != bytes.count { throw Failure("a line could not be written") }
        }
    }

    /// What is said of a scene that a group has left.
    struct ServingVerdict: Codable {
        var problems: [String]
        var events: Int
        var appends: Int
    }
#endif
