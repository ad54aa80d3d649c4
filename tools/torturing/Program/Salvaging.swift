import Bytes
import Evstore
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestSupport
import Torturing

/// A store by chance, closed; copies of it with pages that say nothing or anything, and what a salvage gives back of each.
struct Salvaging {
    let scene: String
    let seed: Int
    let files: Int

    private static let pageBytes = 4_096
    private var store: String { scene + "/store" }
    private static var schemas: Schemas { get throws { try SchemaFiles(Note.versionFile, projections: Note.projections).load() } }

    /// What a store holds, by position, and the pages that each event's block lies on.
    private struct Truth {
        var numbers: [Int] = []
        var pages: [Set<Int>] = []
        var filePages = 0
    }

    func run() async throws -> [String] {
        var (problems, chance) = ([String](), SeededGenerator(seed: UInt64(seed), "salvage", 0))
        let isCut = Bool.random(using: &chance)
        let truth = try await made(isCut, &chance)
        for number in 0 ..< files {
            let (copy, target) = ("\(scene)/damaged-\(number)", "\(scene)/salvaged-\(number)")
            try SparseFile.copy(store, to: copy)
            let count = Int.random(in: 1 ... 20, using: &chance)
            let damaged = Set((0 ..< count).map { _ in Int.random(in: 0 ..< truth.filePages, using: &chance) })
            try damage(copy, damaged, &chance)
            let wanted = zip(truth.numbers, truth.pages).filter { $0.1.isDisjoint(with: damaged) }.map(\.0)
            let wrong = await Self.wrong(copy, target, truth.numbers, wanted, isCut: isCut)
            problems += wrong.map { "file \(number), pages \(damaged.sorted()): \($0)" }
            if wrong.isEmpty { for path in [copy, target] where exists(path) { try FileManager.default.removeItem(atPath: path) } }
        }
        return problems
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// What of a salvage is not as it must be.
    private static func wrong(_ copy: String, _ target: String, _ all: [Int], _ wanted: [Int], isCut: Bool) async -> [String] {
        do {
            let report = try await StoreMaintenance.salvage(copy, into: target, schemas: schemas, options: Worker.options)
            return try await wrong(report, target, all, wanted, isCut: isCut)
        } catch EvstoreError.nothingToSalvage { return wanted.isEmpty ? [] : ["nothing came back"] } catch { return [Worker.words(error)] }
    }

    private static func wrong(
        _ report: SalvageReport, _ target: String, _ all: [Int], _ wanted: [Int], isCut: Bool
    ) async throws -> [String] {
        let back = try await numbers(of: target)
        var wrong: [String] = []
        if report.events != back.count { wrong.append("it tells of \(report.events) events and gives \(back.count)") }
        if !isSubsequence(back, of: all) { wrong.append("what it gives was not there, or not in this order") }
        // Where a cut is not known any more, what came before it is in doubt.
        var unconfirmed = ""
        if isCut, report.unconfirmed > 0 { unconfirmed = try Self.unconfirmed(target) }
        let lost = Set(wanted).subtracting(back).sorted().filter { !unconfirmed.contains(#""id":"\#($0)""#) }
        return wrong + lost.map { "\($0) is lost" }
    }

    private static func unconfirmed(_ target: String) throws -> String {
        try String(contentsOfFile: target + "/" + SalvageReport.unconfirmedName, encoding: .utf8)
    }

    private static func isSubsequence(_ some: [Int], of all: [Int]) -> Bool {
        var rest = all[...]
        for one in some {
            guard let index = rest.firstIndex(of: one) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }

    private static func stream(of number: Int) -> String { "note-\(number / 10 % 40)" }

    /// The numbers of a sound store's events, each as it was written and in its stream, whose name may be lost.
    private static func numbers(of path: String) async throws -> [Int] {
        let store = try await EventStore.open(path, options: Worker.options)
        var numbers: [Int] = []
        var wrong: String?
        try store.readAll { event in
            do { numbers.append(try Note.number(of: event)) } catch { wrong = "\(error)" }
            let number = numbers.last ?? 0
            if event.stream.text != stream(of: number), !event.stream.text.hasPrefix("lost:") { wrong = "\(number) is in another stream" }
            return wrong == nil
        }
        if let wrong { throw Failure(wrong) }
        let findings = try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }
        try await store.close()
        if let first = findings.first { throw Failure("what came back is unsound: \(first.message)") }
        return numbers
    }

    private func made(_ isCut: Bool, _ chance: inout SeededGenerator) async throws -> Truth {
        var options = Worker.options
        (options.sweepDueEvents, options.sweepForcedEvents) = (50, 90)
        let store = try await EventStore.create(store, schemas: Self.schemas, options: options)
        try await fill(store, 25, from: 0, &chance)
        if isCut {
            _ = try await store.takeSnapshot("here")
            try await fill(store, 10, from: 1_000, &chance)
            _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        }
        try await fill(store, 20, from: 2_000, &chance)
        try await store.close()
        let numbers = try await Self.numbers(of: self.store)
        return try truth(numbers)
    }

    private func fill(_ store: EventStore, _ appends: Int, from start: Int, _ chance: inout SeededGenerator) async throws {
        var number = start * 10
        for _ in 0 ..< appends {
            let count = Int.random(in: 1 ... 4, using: &chance)
            _ = try await store.append(
                try (0 ..< count).map { try Note.event(number + $0 * 10, stream: Self.stream(of: number + $0 * 10)) })
            number += count * 10
        }
    }

    private func truth(_ numbers: [Int]) throws -> Truth {
        let file = try File(store + "/log/data.mdb", .read)
        guard let commit = try TreeRemains.commits(in: file).first else { throw Failure("a whole store has no commit") }
        var truth = Truth(numbers: numbers, pages: Array(repeating: [], count: numbers.count))
        truth.filePages = try file.status().bytes / Self.pageBytes
        var tree = try TreeRemains(commit, of: file)
        try tree.walk(["blocks": true]) { _, key, value in
            // A block says at byte 40 how many events it holds.
            let first = Int(key.load(UInt64.self, at: 0))
            let header = try file.read(4, at: value.offset + 40)
            let count = Int(header.lent.load(UInt32.self, at: 0))
            let own = Set(value.offset / Self.pageBytes ... (value.offset + value.count - 1) / Self.pageBytes)
            for position in first ..< first + count { truth.pages[position - 1] = own }
        }
        if truth.pages.contains(where: \.isEmpty) { throw Failure("a whole store has an event in no block") }
        return truth
    }

    /// Overwrites pages with zeros, or with anything.
    private func damage(_ copy: String, _ pages: Set<Int>, _ chance: inout SeededGenerator) throws {
        let file = try File(copy + "/log/data.mdb", .write)
        for page in pages.sorted() {
            let isGarbled = Bool.random(using: &chance)
            let bytes = (0 ..< Self.pageBytes / 8).flatMap { _ in
                let word = isGarbled ? chance.next() : 0
                return (0 ..< 8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
            }
            try file.write(bytes, at: page * Self.pageBytes)
        }
    }
}

extension TortureCase {
    private static let filesPerTrial = 25

    static let salvages = TortureCase(
        "R8", "a log with 1 to 20 damaged pages: a salvage gives back every event of every other page, as it was",
        goal: 500, seconds: 12, floor: 25, runsPerTrial: filesPerTrial
    ) { trial in
        try trial.ask("salvage", "\(filesPerTrial)")
        trial.runs += filesPerTrial
    }
}
