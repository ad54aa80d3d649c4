import Evstore
import Foundation
import Torturing

/// What a process reads of a store that may be damaged, each way by itself: what it got, or that it was refused.
struct Sight: Codable, Hashable {
    /// Nil where it was refused with a named error.
    var all: [Int]?
    /// The numbers of the events of each stream.
    var streams: [String: [Int]?] = [:]
    /// The rows of each read model.
    var rows: [String: [String]?] = [:]
    /// The same as `all` after some appends, and how many of these were made.
    var later: [Int]?
    var appended = 0
    var refused: String?

    static func look(at path: String, streams: [String]) async -> Sight {
        var sight = Sight()
        do {
            let store = try await EventStore.open(path, options: Worker.options)
            sight.all = all(of: store)
            for name in streams { sight.streams[name] = numbers(of: name, store) }
            do {
                for model in try store.projections() where !model.isTagIndex { sight.rows[model.name] = await rows(of: model.name, store) }
            } catch { sight.refused = Worker.words(error) }
            for number in 0 ..< 20 where sight.appended == number { if await append(number, to: store) { sight.appended += 1 } }
            sight.later = all(of: store)
            do { _ = try await store.maintenance.verify(deep: true) } catch { sight.refused = Worker.words(error) }
            try await store.close()
        } catch { sight.refused = Worker.words(error) }
        return sight
    }

    private static func append(_ number: Int, to store: EventStore) async -> Bool {
        do {
            _ = try await store.append([Note.event(1_500_000_000 + number * 10)])
            return true
        } catch { return false }
    }

    private static func all(of store: EventStore) -> [Int]? {
        collect { numbers in
            try store.readAll { event in
                numbers.append(number(of: event))
                return true
            }
        }
    }

    private static func numbers(of stream: String, _ store: EventStore) -> [Int]? {
        collect { numbers in
            try store.read(try StreamName(stream), limit: nil) { event in
                numbers.append(number(of: event))
                return true
            }
        }
    }

    /// -1 for an event that is not as it was written: that is no refusal, but a wrong answer.
    private static func number(of event: RecordedEvent) -> Int {
        do { return try Facts.number(of: event) } catch { return -1 }
    }

    private static func collect(_ body: (inout [Int]) throws -> Void) -> [Int]? {
        var numbers: [Int] = []
        do { try body(&numbers) } catch { return nil }
        return numbers
    }

    private static func rows(of model: String, _ store: EventStore) async -> [String]? {
        var rows: [String] = []
        do {
            _ = try await store.query(model) { row in
                rows.append("\(row.key) \(String(decoding: row.value, as: UTF8.self))")
                return true
            }
        } catch { return nil }
        return rows
    }

    /// What of this is neither the truth nor a refusal.
    func wrong(beside truth: Sight) -> [String] {
        var wrong: [String] = []
        if let all, all != truth.all {
            wrong.append("a read of all shows \(all.count) events, not \(truth.all?.count ?? 0), and says nothing")
        }
        for (name, numbers) in streams.sorted(by: { $0.key < $1.key }) {
            if let numbers, numbers != truth.streams[name] ?? nil { wrong.append("stream \(name) is shown wrong, and nothing is said") }
        }
        for (name, rows) in rows {
            if let rows, rows != truth.rows[name] ?? nil { wrong.append("the rows of \(name) are wrong, and nothing is said") }
        }
        let made = (0 ..< appended).map { 1_500_000_000 + $0 * 10 }
        if let later, later != (truth.all ?? []) + made {
            wrong.append("after \(appended) appends a read of all shows \(later.count) events")
        }
        return wrong
    }
}
