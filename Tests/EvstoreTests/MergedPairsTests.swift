import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Events that belong together, wherever appends are made")
struct MergedPairsTests {
    private func store(_ batch: Int = 10, at version: Int = 2, allOptional: Bool = false) async throws -> TemporaryStore {
        let v2 = allOptional ? MergeTests.v2.replacing("required: [id, name]", with: "required: [id]") : MergeTests.v2
        let schemas = try SchemaFiles(MergeTests.v1, v2, projections: MergeTests.projections).load()
        var options = Options.forTests
        options.appendEventsMax = batch
        return try await TemporaryStore.make(schemas, at: SchemaVersion(version), from: SchemaVersion(1), options: options)
    }

    private static func named(_ id: String) -> String {
        #"{"stream":"item-\#(id)","type":"Named","data":{"id":"\#(id)","name":"N"},"version":1}"# + "\n"
    }

    private static func priced(_ id: String) -> String {
        #"{"stream":"item-\#(id)","type":"Priced","data":{"id":"\#(id)","price":1},"version":1}"# + "\n"
    }

    private func prices(_ store: EventStore) throws -> Int {
        var count = 0
        try store.readAll(at: SchemaVersion(2)) { event in
            count += event.json.contains("price") ? 1 : 0
            return true
        }
        return count
    }

    @Test("the end of a batch parts no pair, in files, pipes and slow pipes, of one stream and of several", arguments: [5, 6, 7, 10])
    func batches(batch: Int) async throws {
        let pairs = (0 ..< 12).map { Self.named("\($0)") + Self.priced("\($0)") }.joined()
        let oneStream = Self.named("a") + (0 ..< 8).map { _ in Self.named("a") + Self.priced("a") }.joined()
        for (text, count) in [(pairs, 12), (Self.named("z") + pairs, 12), (oneStream, 8)] {
            for way in 0 ..< 3 {
                let temporary = try await store(batch)
                let source: ImportSource
                let pipe = try way == 1 ? FilledPipe(text) : FilledPipe(text, pieces: [3, 1, 4])
                source = way == 0 ? .file(try temporary.write(text, to: "input.jsonl")) : .descriptor(pipe.descriptor)
                let report = try await temporary.store.importLines(from: source, as: SchemaVersion(1))
                #expect(report.added == UInt64(text.split(separator: "\n").count))
                #expect(try prices(temporary.store) == count)
            }
        }
    }

    /// Lines of appends of at most so many events, whose pairs lie among each other and among single events.
    private static func appends(of most: Int, _ count: Int, _ random: inout some RandomNumberGenerator) -> String {
        var text = ""
        for append in 0 ..< count {
            var lines: [String] = []
            for pair in 0 ..< Int.random(in: 1 ... most / 2, using: &random) {
                let id = "\(append)-\(pair / Int.random(in: 1 ... 2, using: &random))"
                lines += [named(id), priced(id)]
            }
            text += lines.shuffled(using: &random).joined()
        }
        return text
    }

    @Test("nor does it part pairs that lie among each other, of one stream and of many", arguments: 0 ..< 6, [false, true])
    func interleaved(round: Int, allOptional: Bool) async throws {
        let seed = UInt64(round)
        var random = SeededGenerator(seed: seed)
        let batch = Int.random(in: 8 ... 20, using: &random)
        let text = Self.appends(of: batch / 2, 12, &random)
        let pairs = text.split(separator: "\n").count / 2
        let temporary = try await store(batch, allOptional: allOptional)
        let pieces = (0 ..< 4).map { _ in Int.random(in: 1 ... 40, using: &random) }
        let pipe = try round % 3 == 1 ? FilledPipe(text) : FilledPipe(text, pieces: pieces)
        let source: ImportSource =
            round % 3 == 0 ? .file(try temporary.write(text, to: "input.jsonl")) : .descriptor(pipe.descriptor)
        let report = try await temporary.store.importLines(from: source, as: SchemaVersion(1))
        #expect(report.added == UInt64(2 * pairs), "seed \(seed)")
        var seen = 0
        try temporary.store.readAll(at: SchemaVersion(2)) { event in
            seen += 1
            return true
        }
        #expect(seen == pairs, "seed \(seed), batch \(batch)")
    }

    @Test("pairs without a place between them where an append could end are refused, and what can be seen alone is parted")
    func endless() async throws {
        let chain = Self.named("0") + (1 ..< 30).map { Self.named("\($0)") + Self.priced("\($0 - 1)") }.joined()
        for pipe in [false, true] {
            let temporary = try await store(10)
            let filled = try FilledPipe(Self.named("x") + chain)
            let source: ImportSource =
                pipe ? .descriptor(filled.descriptor) : .file(try temporary.write(Self.named("x") + chain, to: "input.jsonl"))
            await #expect { try await temporary.store.importLines(from: source, as: SchemaVersion(1)) } throws: { error in
                guard case .refusedLine(2, _, .appendTooLarge) = error as? EvstoreError else { return false }
                return true
            }
            #expect(try temporary.store.last().position == Position(pipe ? 1 : 0))
            let optional = try await store(10, allOptional: true)
            let file = try optional.write(chain, to: "input.jsonl")
            #expect(try await optional.store.importLines(from: .file(file), as: SchemaVersion(1)).added == 59)
        }
    }

    @Test("of a pipe that falls silent, what can be seen alone is appended alone, and what can't waits on", .timeLimit(.minutes(10)))
    func silence() async throws {
        let temporary = try await store()
        let pipe = try OpenPipe()
        pipe.writing.write(Data((Self.named("a") + Self.priced("b")).utf8))
        let importing = Task {
            try await temporary.store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
        }
        while try temporary.store.last().position < Position(1) { try await Task.sleep(for: .milliseconds(20)) }
        pipe.writing.write(Data(Self.named("b").utf8))
        pipe.writing.closeFile()
        #expect(try await importing.value.added == 3)
        #expect(try prices(temporary.store) == 1)
    }

    @Test("what a bad line of a pipe belongs with waits until that is mended")
    func badLine() async throws {
        let temporary = try await store()
        let bad = try FilledPipe(Self.named("a") + Self.priced("a") + Self.named("b") + Self.priced("b").replacing(":1}", with: ":x}"))
        await #expect { try await temporary.store.importLines(from: .descriptor(bad.descriptor), as: SchemaVersion(1)) } throws: {
            ($0 as? EvstoreError)?.place.line == 4
        }
        #expect(try temporary.store.last().position == Position(2))
        let mended = try FilledPipe(["a", "b"].map { Self.named($0) + Self.priced($0) }.joined())
        #expect(try await temporary.store.importLines(from: .descriptor(mended.descriptor), as: SchemaVersion(1)).added == 2)
        #expect(try prices(temporary.store) == 2)
    }

    @Test("a drill of a history that merges passes, from either side, and appends no lone half")
    func drill() async throws {
        for version in [1, 2] {
            let temporary = try await store(100, at: version)
            for id in ["a", "b", "c", "d"] {
                _ = try await temporary.store.append(temporary.store.events(ofLines: Array((Self.named(id) + Self.priced(id)).utf8)))
            }
            let report = try await temporary.store.maintenance.drill(to: SchemaVersion(2), seed: 7)
            #expect(report.passed, "\(report.steps.filter { !$0.ok })")
        }
    }
}
