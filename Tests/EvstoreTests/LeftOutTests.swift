import EventLog
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@testable import Evstore

/// Lines of an input, some of which a store refuses always and some as long as version 2 is not live.
private struct Lines {
    enum Kind: CaseIterable { case good, alsoGood, late, bad, blank }

    let kinds: [Kind]

    func isValid(_ index: Int, at top: Int) -> Bool {
        switch kinds[index] {
        case .good, .alsoGood: true
        case .late: top > 1
        case .bad, .blank: false
        }
    }

    /// The lines among the first ones that a store refuses, by their numbers.
    func refused(of size: Int, at top: Int) -> [UInt64] {
        (0 ..< size).filter { kinds[$0] != .blank && !isValid($0, at: top) }.map { UInt64($0) + 1 }
    }

    func text(_ size: Int) -> String {
        (0 ..< size).map { index in
            let id = index % 3 == 0 ? #","id":"id-\#(index)""# : ""
            switch kinds[index] {
            case .good, .alsoGood: return ImportTests.line(index).dropLast() + "\(id)}\n"
            case .late:
                let data = #"{"id":"\#(index)","customer":"Ann","cents":1,"currency":"USD"}"#
                return #"{"stream":"order-\#(index)","type":"OrderPlaced","data":\#(data),"version":2\#(id)}"# + "\n"
            case .bad: return "nonsense\n"
            case .blank: return " \n"
            }
        }.joined()
    }
}

@Suite("Lines that an import left out")
struct LeftOutTests {
    /// A store that is live at version 1, knows version 2, and has batches of so many lines.
    private static func store(batch: Int = 10) async throws -> TemporaryStore {
        var options = Options.forTests
        options.appendEventsMax = batch
        let schemas = try SchemaFiles(versions: Array(ShopHistory.released.prefix(2))).load()
        return try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: options)
    }

    /// Which lines are there, and how often.
    private static func counts(_ store: EventStore) throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try store.readAll { event in
            counts[Int(event.stream.text.dropFirst("order-".count)) ?? -1, default: 0] += 1
            return true
        }
        return counts
    }

    private static func once(_ lines: some Sequence<Int>) -> [Int: Int] { Dictionary(uniqueKeysWithValues: lines.map { ($0, 1) }) }

    private func fromFile(
        _ temporary: TemporaryStore, _ text: String, _ options: ImportOptions,
        progress: (@Sendable (ProgressEvent) -> Void)? = nil
    ) async throws -> ImportReport {
        let file = try temporary.write(text, to: "\(UUID().uuidString).jsonl")
        return try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: options, progress: progress)
    }

    private func migrate(_ store: EventStore) async throws {
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
    }

    @Test(
        "are told by each run until they are valid, then appended once, and left out again where a cut takes them off",
        arguments: [20, 2_000])
    func appendedLater(batch: Int) async throws {
        let temporary = try await Self.store(batch: batch)
        let store = temporary.store
        // In the large batch one row can't name all of them.
        let lines = Lines(kinds: (0 ..< 700).map { $0 == 333 ? .bad : $0 % 3 == 1 ? .late : .good })
        let (text, late) = (lines.text(700), lines.kinds.indices.filter { lines.kinds[$0] == .late })
        let quarantine = ImportOptions(onError: .quarantine)
        for round in 0 ..< 2 {
            let report = try await fromFile(temporary, text, quarantine)
            #expect(report.refused.map(\.line) == lines.refused(of: 700, at: 1))
            #expect((report.read, report.added + report.skipped, report.quarantined) == (700, 466, 234))
            #expect(report.leftOut == (round == 0 ? 0 : 234))
        }
        let rows = try store.log.read { try $0.rows(.imports) }
        #expect(rows.allSatisfy { $0.key.count == 32 && $0.value.count == 48 }, "an earlier program reads each row as a mark")
        _ = try await store.takeSnapshot("before")
        try await migrate(store)
        _ = try await store.takeSnapshot("between")
        // The run stops at the line that is still bad, and appends nothing; it has looked at lines that were left out.
        await #expect { _ = try await fromFile(temporary, text, ImportOptions()) } throws: { ($0 as? EvstoreError)?.place.line == 334 }
        #expect(try store.last().position == Position(466))
        let rehearsed = try await fromFile(temporary, text, ImportOptions(onError: .quarantine, dryRun: true))
        #expect((rehearsed.added, rehearsed.quarantined, rehearsed.leftOut) == (233, 1, 234))
        for added in [233, 0, 0] as [UInt64] {
            let report = try await fromFile(temporary, text, quarantine)
            #expect((report.added, report.skipped, report.quarantined) == (added, 699 - added, 1))
            #expect(report.refused.map(\.line) == [334])
        }
        #expect(try Self.counts(store) == Self.once(lines.kinds.indices.filter { $0 != 333 }))
        _ = try await store.rollback(toSnapshot: "between", discardTail: true)
        #expect(try await fromFile(temporary, text, quarantine).added == 233)
        _ = try await store.rollback(toSnapshot: "before", discardTail: true)
        #expect(try Set(Self.counts(store).keys).isDisjoint(with: late))
        #expect(try await fromFile(temporary, text, quarantine).refused.map(\.line) == lines.refused(of: 700, at: 1))
    }

    @Test("an import that stops tells that it has checked lines that were left out, and of a pipe keeps those before the bad one")
    func stopped() async throws {
        let temporary = try await Self.store()
        let lines = Lines(kinds: [.late, .good, .late, .bad, .good, .late, .good])
        _ = try await fromFile(temporary, lines.text(7), ImportOptions(onError: .quarantine))
        try await migrate(temporary.store)
        for (added, leftOut) in [(2, 4), (0, 2)] as [(UInt64, UInt64)] {
            let pipe = try FilledPipe(lines.text(7))
            var told: [ImportReport] = []
            do {
                _ = try await temporary.store.importLines(
                    from: .descriptor(pipe.descriptor), as: SchemaVersion(1), progress: nil, stopped: { told.append($0) })
                Issue.record("it did not stop")
            } catch { #expect(error.place.line == 4) }
            #expect(told.map(\.added) == [added] && told.map(\.leftOut) == [leftOut])
        }
        #expect(try Self.counts(temporary.store) == Self.once([0, 1, 2, 4, 6]))
    }

    @Test("--again appends them too, once they are valid, and a run after that does not append them a second time")
    func again() async throws {
        let temporary = try await Self.store()
        let lines = Lines(kinds: [.good, .late, .late, .good, .late])
        let quarantine = ImportOptions(onError: .quarantine)
        _ = try await fromFile(temporary, lines.text(5), quarantine)
        try await migrate(temporary.store)
        // Lines 1 and 4 have ids: the store has them once.
        #expect(try await fromFile(temporary, lines.text(5), ImportOptions(again: true)).added == 3)
        let report = try await fromFile(temporary, lines.text(5), quarantine)
        #expect((report.added, report.skipped, report.leftOut) == (0, 5, 0))
        #expect(try Self.counts(temporary.store) == Self.once(0 ..< 5))
    }

    @Test("an input that begins like another is told its own bad lines, and what it appends is not taken for a line of the other")
    func alike() async throws {
        let temporary = try await Self.store()
        let lines = Lines(kinds: [.good, .good, .late, .good, .good])
        let (text, quarantine) = (lines.text(5), ImportOptions(onError: .quarantine))
        #expect(try await fromFile(temporary, text, quarantine).refused.map(\.line) == [3])
        let bad = try await fromFile(temporary, lines.text(3) + "nonsense\n", quarantine)
        #expect(bad.added == 0 && bad.refused.map(\.line) == [3, 4])
        try await migrate(temporary.store)
        let other = lines.text(2) + ImportTests.line(90) + "\n"
        for added in [1, 0] as [UInt64] { #expect(try await fromFile(temporary, other, quarantine).added == added) }
        for added in [1, 0] as [UInt64] { #expect(try await fromFile(temporary, text, quarantine).added == added) }
        #expect(try await fromFile(temporary, other, quarantine).added == 0)
        #expect(try Self.counts(temporary.store) == Self.once([0, 1, 2, 3, 4, 90]))
    }

    /// What a store holds, as a naive model has it.
    private struct Model {
        let lines: Lines
        var there: Set<Int> = []
        var snapshots: [(name: String, there: Set<Int>)] = []
        var named = 0
    }

    @Test("whatever is imported, migrated, ended and cut in whatever order, each valid line is there once, and the others are told")
    func anyOrder() async throws {
        var random = SeededGenerator.announced()
        for trial in 0 ..< rounds(8) {
            let temporary = try await Self.store()
            let count = Int.random(in: 3 ... 45, using: &random)
            let lines = Lines(kinds: (0 ..< count).map { _ in Lines.Kind.allCases[Int.random(in: 0 ..< 5, using: &random)] })
            var model = Model(lines: lines)
            for step in 0 ..< 16 {
                let what = try await self.step(temporary, &model, &random)
                try #require(
                    try Self.counts(temporary.store) == Self.once(model.there), "trial \(trial), step \(step): \(what), \(lines.kinds)")
            }
        }
    }

    /// Makes a change of a store, or imports some of the lines; returns what it did.
    private func step(_ temporary: TemporaryStore, _ model: inout Model, _ random: inout SeededGenerator) async throws -> String {
        let store = temporary.store
        switch Int.random(in: 0 ..< 10, using: &random) {
        case 0:
            if try store.versions.top == SchemaVersion(1) { try await migrate(store) }
            return "migrate"
        case 1:
            model.named += 1
            model.snapshots.append(("s\(model.named)", model.there))
            _ = try await store.takeSnapshot("s\(model.named)")
            return "snapshot"
        case 2 where !model.snapshots.isEmpty:
            let index = Int.random(in: 0 ..< model.snapshots.count, using: &random)
            model.snapshots.removeLast(model.snapshots.count - index - 1)
            model.there = model.snapshots[index].there
            _ = try await store.rollback(toSnapshot: model.snapshots[index].name, discardTail: true)
            return "cut"
        default:
            let count = model.lines.kinds.count
            let size = Bool.random(using: &random) ? count : Int.random(in: 0 ... count, using: &random)
            return try await run(temporary, &model, size, &random)
        }
    }

    /// Imports the first lines, from a file or a pipe, perhaps until it is ended at a line.
    private func run(
        _ temporary: TemporaryStore, _ model: inout Model, _ size: Int, _ random: inout SeededGenerator
    ) async throws -> String {
        let (lines, top) = (model.lines, try Int(temporary.store.versions.top.rawValue))
        let (isPipe, isStop) = (Bool.random(using: &random), Int.random(in: 0 ..< 4, using: &random) == 0)
        let end = Int.random(in: 0 ..< 4, using: &random) == 0 ? UInt64.random(in: 0 ... 45, using: &random) : nil
        let pieces = (0 ..< 5).map { _ in Int.random(in: 1 ... 13, using: &random) }
        let (text, options) = (lines.text(size), ImportOptions(onError: isStop ? .stop : .quarantine))
        let (valid, refused) = (Set((0 ..< size).filter { lines.isValid($0, at: top) }), lines.refused(of: size, at: top))
        let what = "\(isPipe ? "pipe" : "file") of \(size), \(options.onError), top \(top), ended at \(end.map { "\($0)" } ?? "no line")"
        do {
            let report = try await cancellable { cancel in
                let progress: @Sendable (ProgressEvent) -> Void = { if let end, $0.step == "import", $0.done >= end { cancel() } }
                if !isPipe { return try await fromFile(temporary, text, options, progress: progress) }
                let pipe = try FilledPipe(text, pieces: pieces)
                return try await temporary.store.importLines(
                    from: .descriptor(pipe.descriptor), as: SchemaVersion(1), options: options, progress: progress)
            }
            #expect(report.refused.map(\.line) == refused, "\(what)")
            #expect(report.added == UInt64(valid.subtracting(model.there).count), "\(what)")
            #expect(report.read == UInt64(valid.count + refused.count) && report.read == report.added + report.skipped + report.quarantined)
            model.there.formUnion(valid)
        } catch EvstoreError.interrupted {
            let found = try Set(Self.counts(temporary.store).keys)
            #expect(found.isSuperset(of: model.there) && found.isSubset(of: model.there.union(valid)), "\(what)")
            model.there = found
        } catch EvstoreError.refusedLine(let line, _, _) {
            #expect(isStop && line == refused.first, "\(what): \(line)")
            if isPipe { model.there.formUnion(valid.filter { UInt64($0) + 1 < line }) }
        }
        return what
    }
}
