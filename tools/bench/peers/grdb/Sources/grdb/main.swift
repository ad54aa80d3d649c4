import Foundation

// usage: grdb append|bulk --store FILE --frames FILE --events N [--writers K | --batch B]
//        grdb rows --store FILE --count N --keys N [--threads T]
//
// `append`: tasks whose events share transactions. `rows`: rows of the table `orders` by their keys. Prints one
// JSON object, as the other drivers of the comparison do.

struct Wrong: Error { let what: String }

func readRows(_ path: String, limit: Int) throws -> [Row] {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    func number(_ at: Int) -> Int { (0 ..< 4).reduce(0) { $0 | Int(bytes[at + $1]) << ($1 * 8) } }
    var (rows, revisions): ([Row], [Int: Int]) = ([], [:])
    var at = 0
    while at + 8 <= bytes.count, rows.count < limit {
        let (stream, size) = (number(at), number(at + 4))
        let digits = String(stream)
        rows.append(
            Row(
                stream: "order-" + String(repeating: "0", count: max(7 - digits.count, 0)) + digits,
                revision: revisions[stream, default: 0],
                payload: String(decoding: bytes[at + 8 ..< at + 8 + size], as: UTF8.self)))
        revisions[stream, default: 0] += 1
        at += 8 + size
    }
    return rows
}

func seconds(_ duration: Duration) -> Double { Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18 }

func appendSingly(_ rows: [Row], to base: Base, writers: Int) async throws -> [Double] {
    let committer = Committer(base)
    let clock = ContinuousClock()
    return try await withThrowingTaskGroup(of: [Double].self) { group in
        for writer in 0 ..< writers {
            group.addTask {
                var times: [Double] = []
                for index in stride(from: writer, to: rows.count, by: writers) {
                    let asked = clock.now
                    // A single writer has nobody to share a transaction with.
                    if writers == 1 { try await base.append([rows[index]]) } else { try await committer.append(rows[index]) }
                    times.append(seconds(clock.now - asked) * 1e6)
                }
                return times
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }
    }
}

func appendTogether(_ rows: [Row], to base: Base, batch: Int) async throws -> [Double] {
    let clock = ContinuousClock()
    var times: [Double] = []
    for start in stride(from: 0, to: rows.count, by: batch) {
        let asked = clock.now
        try await base.append(Array(rows[start ..< min(start + batch, rows.count)]))
        times.append(seconds(clock.now - asked) * 1e6)
    }
    return times
}

/// `WORK --name value …`
struct Words {
    let work: String
    private let values: [String: String]

    init(_ arguments: [String]) {
        work = arguments.first ?? ""
        let rest = Array(arguments.dropFirst())
        values = Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: rest.count - 1, by: 2).map { (String(rest[$0].dropFirst(2)), rest[$0 + 1]) })
    }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Wrong(what: "no --\(name)") }
        return value
    }

    func number(_ name: String, or usual: Int? = nil) throws -> Int {
        if let usual, values[name] == nil { return usual }
        guard let value = Int(try text(name)) else { throw Wrong(what: "--\(name) is no number") }
        return value
    }
}

func append(_ words: Words) async throws -> [String: Any] {
    let rows = try readRows(words.text("frames"), limit: words.number("events"))
    let base = try Base(path: words.text("store"))
    let begin = ContinuousClock.now
    let times =
        try await words.work == "append"
        ? appendSingly(rows, to: base, writers: words.number("writers", or: 1))
        : appendTogether(rows, to: base, batch: words.number("batch"))
    let all = seconds(ContinuousClock.now - begin)
    try base.pool.close()
    let sorted = times.sorted()
    return [
        "events": rows.count, "commits": times.count, "seconds": all, "p50": sorted[sorted.count / 2],
        "p99": sorted[sorted.count * 99 / 100],
        "max": sorted[sorted.count - 1],
    ]
}

func lookUp(_ words: Words) async throws -> [String: Any] {
    let orders = try Orders(path: words.text("store"))
    let (count, keys, threads) = (try words.number("count"), try words.number("keys"), try words.number("threads", or: 1))
    let begin = ContinuousClock.now
    let found = try await withThrowingTaskGroup(of: Int.self) { group in
        for thread in 0 ..< threads { group.addTask { try orders.look(from: UInt64(42 + thread), count: count, keys: keys) } }
        return try await group.reduce(0, +)
    }
    let all = seconds(ContinuousClock.now - begin)
    try orders.pool.close()
    return ["reads": count * threads, "rows": found, "seconds": all]
}

do {
    let words = Words(Array(CommandLine.arguments.dropFirst()))
    let result = try await words.work == "rows" ? lookUp(words) : append(words)
    FileHandle.standardOutput.write(try JSONSerialization.data(withJSONObject: result, options: [.sortedKeys]) + Data("\n".utf8))
} catch {
    FileHandle.standardError.write(Data("grdb: \(error)\n".utf8))
    exit(1)
}
