import Evstore
import Measured

extension Work {
    /// Rows of the orders by their keys, each an await of its own through the front door.
    static func rows(_ words: Words) async throws {
        let store = try await open(words)
        let (count, keys, readers) = (try words.number("count"), try words.number("keys"), try words.number("readers", or: 1))
        // The first query opens the read model.
        guard try await store.query("orders", key: key(0)) != nil else { throw Unexpected(what: "no row \(key(0))") }
        let begin = clock.now
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for reader in 0 ..< readers { group.addTask { try await look(store, from: UInt64(42 + reader), count: count, keys: keys) } }
            return try await group.reduce(0, +)
        }
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["reads": count * readers, "rows": found, "seconds": seconds])
    }

    /// Pages of the orders by cents, each an await of its own through the front door.
    static func ranges(_ words: Words) async throws {
        let store = try await open(words)
        let (count, limit) = (try words.number("count"), try words.number("limit"))
        _ = try await store.query("orders", index: "by-cents", limit: 1)
        var (state, found) = (UInt64(42), 0)
        let begin = clock.now
        for _ in 0 ..< count {
            state = next(state)
            found += try await store.query("orders", index: "by-cents", from: IndexValue(Int(state >> 33) % 80_000), limit: limit).rows
                .count
        }
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["reads": count, "rows": found, "seconds": seconds])
    }

    /// Events by one of their tags, each an await of its own through the front door.
    static func tags(_ words: Words) async throws {
        let store = try await open(words)
        let (count, keys, tag) = (try words.number("count"), try words.number("keys"), try words.text("tag"))
        // The first query opens the index.
        _ = try await store.read(matching: .tags("\(tag):0"))
        var (state, found, times) = (UInt64(42), 0, [Double]())
        for _ in 0 ..< count {
            state = next(state)
            let query = EventQuery.tags("\(tag):\(Int(state >> 33) % keys)")
            let begin = clock.now
            found += try await store.read(matching: query).events.count
            times.append((clock.now - begin).seconds)
        }
        times.sort()
        try await store.close()
        try say([
            "reads": count, "events": found, "seconds": times.reduce(0, +), "p50": times[count / 2], "p99": times[count * 99 / 100],
        ])
    }

    /// Orders whose cents are others than before, and their read model at the log's end.
    static func changes(_ words: Words) async throws {
        let store = try await open(words)
        let (count, keys) = (try words.number("count"), try words.number("keys"))
        _ = try await store.query("orders", key: key(0))
        var state = UInt64(42)
        var events: [NewEvent] = []
        for number in 0 ..< count {
            state = next(state)
            let id = key(Int(state >> 33) % keys)
            let payload = #"{"id":"\#(id)","customer":"Ada Lovelace","total":"\#(number % 900 + 10).07","placedAt":1700000000,"note":""}"#
            events.append(
                NewEvent(
                    stream: try StreamName("order-" + id), type: "OrderPlaced", payload: Array(payload.utf8), version: SchemaVersion(1)))
        }
        for start in stride(from: 0, to: count, by: 10_000) {
            _ = try await store.append(Array(events[start ..< min(start + 10_000, count)]))
        }
        let begin = clock.now
        try await store.follow(["orders"])
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["events": count, "seconds": seconds])
    }

    private static func next(_ state: UInt64) -> UInt64 { state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }

    /// The same order of keys as in the other drivers.
    private static func look(_ store: EventStore, from seed: UInt64, count: Int, keys: Int) async throws -> Int {
        var (state, found) = (seed, 0)
        for _ in 0 ..< count {
            state = next(state)
            if try await store.query("orders", key: key(Int(state >> 33) % keys)) != nil { found += 1 }
        }
        return found
    }

    /// `0000042`, as in the payload's `id`.
    private static func key(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(7 - digits.utf8.count, 0)) + digits
    }
}
