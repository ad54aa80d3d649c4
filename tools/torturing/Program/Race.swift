import Evstore
import Foundation
import TestSupport
import Torturing

/// One of several processes that append to the same streams and read, and note what they saw and when.
struct Race {
    private static let (threads, streams) = (2, 6)
    let store: String
    let id: Int
    let seed: Int
    let operations: Int
    let notes: String

    /// What was noted, with the moments before and after it, in nanoseconds that all processes share.
    enum Memo: Codable, Hashable {
        case appended(stream: String, expected: UInt64?, revision: UInt64, position: UInt64, number: Int, after: Int64)
        case refused
        case last(position: UInt64, before: Int64, reader: Int)
        case page(from: UInt64, numbers: [Int])
        case failed(String)
    }

    func run() async throws {
        let store = try await EventStore.open(store, options: Worker.options)
        let seen = await withTaskGroup(of: [Memo].self) { group in
            for thread in 0 ..< Self.threads { group.addTask { await run(thread, on: store) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        try await store.close()
        try JSONEncoder().encode(seen).write(to: URL(filePath: notes))
    }

    private func run(_ thread: Int, on store: EventStore) async -> [Memo] {
        var chance = SeededGenerator(seed: UInt64(seed), "race-\(id)", thread)
        var seen: [Memo] = []
        for operation in 0 ..< operations {
            let number = ((id * Self.threads + thread) * 1_000_000 + operation) * 10
            do { seen.append(try await step(number, id * Self.threads + thread, on: store, &chance)) } catch {
                seen.append(.failed(Worker.words(error)))
            }
        }
        return seen
    }

    private func step(_ number: Int, _ reader: Int, on store: EventStore, _ chance: inout SeededGenerator) async throws -> Memo {
        switch Int.random(in: 0 ..< 10, using: &chance) {
        case 0 ..< 6:
            let stream = try StreamName("race-\(Int.random(in: 0 ..< Self.streams, using: &chance))")
            let end = try store.read(stream, limit: 1, backwards: true).first?.revision
            do {
                let receipt = try await store.append(
                    Note.event(number, stream: stream.text), expecting: end.map { .revision($0) } ?? .noStream)
                return .appended(
                    stream: stream.text, expected: end?.rawValue, revision: receipt.revision.rawValue, position: receipt.position.rawValue,
                    number: number,
                    after: Self.now)
            } catch EvstoreError.expectationFailed { return .refused }
        case 6 ..< 8:
            let before = Self.now
            return .last(position: try store.last().position.rawValue, before: before, reader: reader)
        default:
            let last = try store.last().position.rawValue
            let from = UInt64.random(in: 1 ... max(last, 1), using: &chance)
            var numbers: [Int] = []
            try store.readAll(from: Position(from), limit: 30) { event in
                numbers.append(event.position.rawValue == from + UInt64(numbers.count) ? try Note.number(of: event) : -1)
                return true
            }
            return .page(from: from, numbers: numbers)
        }
    }

    private static var now: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Race {
    /// What in the notes of all can't have been, seen from the log as it is in the end.
    static func anomalies(_ store: String, _ notes: [String]) async throws -> [String] {
        let store = try await EventStore.open(store, options: Worker.options)
        var events: [RecordedEvent] = []
        try store.readAll { event in
            events.append(event)
            return true
        }
        try await store.close()
        let numbers = try events.map { try Note.number(of: $0) }
        var problems: [String] = []
        var revisions: [String: UInt64] = [:]
        for (index, event) in events.enumerated() {
            if event.position.rawValue != UInt64(index + 1) { problems.append("position \(index + 1) is missing") }
            if event.revision.rawValue != revisions[event.stream.text, default: 0] { problems.append("\(event.stream) skips a revision") }
            revisions[event.stream.text, default: 0] += 1
        }
        let seen = try notes.flatMap { try JSONDecoder().decode([Memo].self, from: Data(contentsOf: URL(filePath: $0))) }
        var winners: Set<String> = []
        var acked: [(after: Int64, position: UInt64)] = []
        for case .appended(let stream, let expected, let revision, let position, let number, let after) in seen {
            acked.append((after, position))
            if revision != expected.map({ $0 + 1 }) ?? 0 {
                problems.append("an append of \(stream) that expected another revision got \(revision)")
            }
            if !winners.insert("\(stream) \(revision)").inserted {
                problems.append("two appends have won revision \(revision) of \(stream)")
            }
            let event = position <= UInt64(events.count) ? events[Int(position - 1)] : nil
            guard let event, numbers[Int(position - 1)] == number, event.stream.text == stream, event.revision.rawValue == revision else {
                problems.append("the append of \(number) is not at position \(position)")
                continue
            }
        }
        if numbers.filter({ $0 < 1_000_000_000 }).count != acked.count { problems.append("there are other events than were appended") }
        problems += readers(seen, acked, numbers)
        return problems
    }

    private static func readers(_ seen: [Memo], _ acked: [(after: Int64, position: UInt64)], _ numbers: [Int]) -> [String] {
        var problems: [String] = []
        var latest: [Int: UInt64] = [:]
        var highest: [(after: Int64, position: UInt64)] = []
        for ack in acked.sorted(by: { $0.after < $1.after }) { highest.append((ack.after, max(ack.position, highest.last?.position ?? 0))) }
        for note in seen {
            switch note {
            case .last(let position, let before, let reader):
                if position < latest[reader, default: 0] { problems.append("a reader went back to position \(position)") }
                latest[reader] = position
                if let ack = highest.last(where: { $0.after < before }), ack.position > position {
                    problems.append("a reader saw \(position), and \(ack.position) had returned before")
                }
            case .page(let from, let page):
                let place = Int(from) - 1 ..< Int(from) - 1 + page.count
                if place.upperBound > numbers.count || Array(numbers[place]) != page {
                    problems.append("a page from \(from) is no part of the log")
                }
            case .failed(let what): problems.append("failed: \(what)")
            case .appended, .refused: continue
            }
        }
        return problems
    }
}
