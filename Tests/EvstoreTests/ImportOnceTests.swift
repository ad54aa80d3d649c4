import EventLog
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Importing each line once")
struct ImportOnceTests {
    private static let batch = 10

    private static func store() async throws -> TemporaryStore { try await ImportTests.store() }

    /// Lines that all differ; of those with ids, every third has one.
    private static func lines(_ range: Range<Int>, ids: Bool = false) -> String {
        range.map { ImportTests.line($0, eventID: ids && $0 % 3 == 0 ? "id-\($0)" : nil) + "\n" }.joined()
    }

    /// How often each line was appended.
    private static func counts(_ store: EventStore) throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try store.readAll { event in
            counts[Int(event.stream.text.dropFirst("order-".count)) ?? -1, default: 0] += 1
            return true
        }
        return counts
    }

    private func fromPipe(
        _ store: EventStore, _ text: String, pieces: [Int] = [], _ options: ImportOptions = .init(),
        progress: (@Sendable (ProgressEvent) -> Void)? = nil
    ) async throws -> ImportReport {
        let pipe = try pieces.isEmpty ? FilledPipe(text) : FilledPipe(text, pieces: pieces)
        return try await store.importLines(
            from: .descriptor(pipe.descriptor), as: SchemaVersion(1), options: options, progress: progress)
    }

    private func fromFile(_ temporary: TemporaryStore, _ text: String, _ options: ImportOptions = .init()) async throws -> ImportReport {
        let file = try temporary.write(text, to: "\(UUID().uuidString).jsonl")
        return try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: options)
    }

    @Test("the same short pipe five times is one import")
    func shortPipe() async throws {
        let temporary = try await Self.store()
        for round in 0 ..< 5 {
            let report = try await fromPipe(temporary.store, Self.lines(0 ..< 3))
            #expect((report.added, report.skipped) == (round == 0 ? 3 : 0, round == 0 ? 0 : 3))
        }
        #expect(try temporary.store.last().position == Position(3))
    }

    @Test("what a store has exported adds nothing to it, nor to one that was restored: also events whose ids it made itself")
    func exported() async throws {
        let temporary = try await Self.store()
        for batch in 0 ..< 4 {
            _ = try await fromPipe(temporary.store, Self.lines(batch * 7 ..< batch * 7 + 7, ids: batch % 2 == 0))
            try await Task.sleep(for: .milliseconds(batch))
        }
        var lines = ""
        try await temporary.store.export { some in
            lines += String(decoding: some, as: UTF8.self)
            return true
        }
        #expect(lines.split(separator: "\n").count == 28)
        let report = try await fromPipe(temporary.store, lines)
        #expect((report.added, report.skipped) == (0, 28))
        #expect(try temporary.store.last().position == Position(28))
    }

    @Test("a file that grows by whole batches adds only what is new, however often it is run")
    func wholeBatches() async throws {
        let temporary = try await Self.store()
        for size in [10, 10, 20, 20, 30, 30, 30, 10, 20] {
            _ = try await fromFile(temporary, Self.lines(0 ..< size))
            _ = try await fromPipe(temporary.store, Self.lines(0 ..< size))
        }
        #expect(try temporary.store.last().position == Position(30))
    }

    @Test("what ends before an input that was imported adds nothing, at whatever line, and what goes on otherwise is new")
    func beginnings() async throws {
        let temporary = try await Self.store()
        _ = try await fromFile(temporary, Self.lines(0 ..< 25, ids: true))
        for size in 0 ... 25 {
            #expect(try await fromFile(temporary, Self.lines(0 ..< size, ids: true)).added == 0, "\(size)")
            #expect(try await fromPipe(temporary.store, Self.lines(0 ..< size, ids: true)).added == 0, "\(size)")
        }
        let other = try await fromFile(temporary, Self.lines(0 ..< 14) + ImportTests.line(99))
        #expect((other.added, other.skipped) == (5 + 10, 0))
        let timed = Self.lines(0 ..< 1).replacing("}}", with: #"},"time":"2026-01-02T03:04:05Z"}"#)
        #expect(try await fromFile(temporary, timed).added == 1)
    }

    @Test("two imports of one input at once append it once, from files and from pipes")
    func atOnce() async throws {
        for slow in [false, true] {
            let temporary = try await Self.store()
            let text = Self.lines(0 ..< 95)
            let added = try await withThrowingTaskGroup(of: UInt64.self) { group in
                for number in 0 ..< 4 {
                    group.addTask {
                        if number % 2 == 0 && !slow { return try await fromFile(temporary, text).added }
                        return try await fromPipe(temporary.store, text, pieces: slow ? [1, 7 + number, 23, 5, 11] : []).added
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(added == 95)
            #expect(try Self.counts(temporary.store).values.allSatisfy { $0 == 1 })
        }
    }

    @Test("an import that waits for whoever writes into its pipe lets others in, and says who is at work where that takes too long")
    func turn() async throws {
        let temporary = try await Self.store()
        let (pipe, began) = (try OpenPipe(), Flag())
        let first = Task {
            try await temporary.store.importLines(
                from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1), progress: { _ in began.set() })
        }
        try pipe.writing.write(contentsOf: Data((Self.lines(0 ..< 21) + "{").utf8))
        while !began.isSet { try await Task.sleep(for: .milliseconds(5)) }
        // The first has appended some or all of what it was given, and waits for the rest of a line.
        let others = try await fromPipe(temporary.store, Self.lines(0 ..< 25)).added
        #expect(others >= 4)

        // The first may be at its next whole lines just then.
        var free: HeldLock?
        while free == nil {
            free = try StoreLock.importing.acquireIfFree(at: temporary.path, what: "imports other.jsonl")
            if free == nil { try await Task.sleep(for: .milliseconds(5)) }
        }
        let held = try #require(free)
        var options = temporary.store.options
        options.appendDeadline = .milliseconds(100)
        let other = try await EventStore.open(temporary.path, options: options)
        await #expect {
            try await fromPipe(other, Self.lines(0 ..< 1))
        } throws: { ($0 as? EvstoreError)?.message.hasSuffix("(imports other.jsonl)") == true }
        try held.release()
        try await other.close()

        try pipe.writing.write(contentsOf: Data(Self.lines(21 ..< 28).dropFirst().utf8))
        try pipe.writing.close()
        let report = try await first.value
        #expect((report.added, report.skipped) == (28 - others, others))
        #expect(try Self.counts(temporary.store).values.allSatisfy { $0 == 1 })
    }

    @Test("an import whose task is cancelled while its pipe is open has appended every whole line that it took")
    func cancelledPipe() async throws {
        let temporary = try await Self.store()
        let pipe = try OpenPipe()
        try pipe.writing.write(contentsOf: Data((Self.lines(0 ..< 17) + "{").utf8))
        await #expect(throws: EvstoreError.self) {
            try await cancellable { cancel in
                let work = Task {
                    while try await !Self.isDrained(pipe) { try await Task.sleep(for: .milliseconds(5)) }
                    cancel()
                }
                defer { work.cancel() }
                _ = try await temporary.store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
            }
        }
        #expect(try Self.counts(temporary.store).count == 17)
    }

    /// Whether a pipe has nothing left to read.
    private static func isDrained(_ pipe: OpenPipe) async throws -> Bool {
        var waiting = pollfd(fd: pipe.reading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, 0) == 0
    }

    @Test("whole lines are appended while the next is written byte by byte, and others get their turn", .timeLimit(.minutes(10)))
    func dribble() async throws {
        let temporary = try await Self.store()
        let (pipe, isEnough) = (try OpenPipe(), Flag())
        Thread.detachNewThread { [writer = pipe.writing] in
            writer.write(Data(Self.lines(0 ..< 3).utf8))
            while !isEnough.isSet {
                writer.write(Data(" ".utf8))
                usleep(2_000)
            }
            writer.write(Data(Self.lines(3 ..< 4).utf8))
            writer.closeFile()
        }
        let first = Task {
            try await temporary.store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
        }
        while try temporary.store.last().position < Position(3) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await fromPipe(temporary.store, Self.lines(0 ..< 3) + Self.lines(5 ..< 7)).added == 2)
        isEnough.set()
        #expect(try await first.value.added == 4)
        #expect(try temporary.store.last().position == Position(6))
    }

    @Test("whatever is imported in whatever order, ended when it may be, each line is there once", arguments: [false, true])
    func anyOrder(ids: Bool) async throws {
        let seed = UInt64.random(in: 0 ... UInt64(UInt32.max))
        var random = SeededGenerator(seed: seed)
        for trial in 0 ..< 6 {
            let temporary = try await Self.store()
            let store = temporary.store
            var (longest, again): (Int, [Int: Int]) = (0, [:])
            for step in 0 ..< 12 {
                let size =
                    Bool.random(using: &random) ? Int.random(in: 0 ... 64, using: &random) : 10 * Int.random(in: 0 ... 6, using: &random)
                let text = Self.lines(0 ..< size, ids: ids)
                let pieces = (0 ..< 5).map { _ in Int.random(in: 1 ... 13, using: &random) }
                var options = ImportOptions()
                var isWhole = true
                switch Int.random(in: 0 ..< 6, using: &random) {
                case 0: _ = try await fromFile(temporary, text)
                case 1: _ = try await fromPipe(store, text)
                case 2: _ = try await fromPipe(store, text, pieces: pieces)
                case 3:
                    options.again = true
                    // Lines with ids are in the store once, whatever is said.
                    for line in 0 ..< min(size, longest) where !ids || line % 3 != 0 { again[line, default: 0] += 1 }
                    _ = try await fromPipe(store, text, pieces: Bool.random(using: &random) ? pieces : [], options)
                case 4:
                    let last = UInt64.random(in: 0 ... 60, using: &random)
                    do {
                        _ = try await cancellable { cancel in
                            try await fromPipe(store, text, pieces: pieces) { if $0.done >= last { cancel() } }
                        }
                    } catch EvstoreError.interrupted { isWhole = false }
                default:
                    async let one = fromPipe(store, text, pieces: pieces)
                    async let two = fromFile(temporary, text)
                    _ = try await (one, two)
                }
                let counts = try Self.counts(store)
                longest = isWhole ? max(longest, size) : max(longest, (counts.keys.max() ?? -1) + 1)
                let expected = Dictionary(uniqueKeysWithValues: (0 ..< longest).map { ($0, 1 + again[$0, default: 0]) })
                try #require(counts == expected, "seed \(seed), ids \(ids), trial \(trial), step \(step), size \(size)")
            }
        }
    }

    @Test("a file that is cut short between its two readings is told of, whatever it still has, and a second import has the rest")
    func cutShort() async throws {
        for kept in [0, 1, 5, 9] {
            let temporary = try await Self.store()
            let lines = Self.lines(0 ..< 10 * Self.batch)
            let file = try temporary.write(lines, to: "cut.jsonl")
            let rest = lines.split(separator: "\n").prefix(kept * Self.batch).map { $0 + "\n" }.joined()
            await #expect("\(kept)") {
                try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1)) { event in
                    guard event.step == "check", event.done == UInt64(10 * Self.batch) else { return }
                    do { try rest.write(toFile: file, atomically: false, encoding: .utf8) } catch { Issue.record(error) }
                }
            } throws: {
                if case .ioFailure(_, let reason)? = $0 as? EvstoreError { reason.contains("cut short") } else { false }
            }
            #expect(try temporary.store.last().position == Position(UInt64(kept * Self.batch)))
            try lines.write(toFile: file, atomically: true, encoding: .utf8)
            #expect(
                try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1)).added == UInt64((10 - kept) * Self.batch))
        }
    }
}
