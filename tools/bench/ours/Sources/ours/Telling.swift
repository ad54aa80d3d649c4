import Evstore
import Foundation
import Measured
import Synchronization

extension Work {
    /// Says that it is there when it has seen what was known, then waits for the others.
    static func listen(_ words: Words) async throws {
        let store = try await open(words)
        let (known, count) = (try words.number("known"), try words.number("count"))
        var pages = store.subscribe().pages.makeAsyncIterator()
        var (seen, isReady) = (0, false)
        var (positions, moments): ([UInt64], [Int]) = ([], [])
        while seen < known + count, let page = try await pages.next() {
            let moment = nanoseconds()
            seen += page.count
            if isReady {
                positions += page.map(\.position.rawValue)
                moments += page.map { _ in moment }
            } else if seen >= known {
                isReady = true
                try say(["ready": true])
            }
        }
        try await store.close()
        try say(["positions": positions, "moments": moments])
    }

    /// The same by a consumer, which keeps its place.
    static func consume(_ words: Words) async throws {
        let store = try await open(words)
        let (known, count) = (try words.number("known"), try words.number("count"))
        let seen = Mutex<(positions: [UInt64], moments: [Int])>(([], []))
        let work = Task {
            try await store.consume("listener") { event, _ in
                let moment = nanoseconds()
                let all = seen.withLock { seen in
                    seen.positions.append(event.position.rawValue)
                    seen.moments.append(moment)
                    return seen.positions.count
                }
                if all == known { try say(["ready": true]) }
            }
        }
        while seen.withLock({ $0.positions.count }) < known + count { try await Task.sleep(for: .milliseconds(20)) }
        work.cancel()
        try await work.value
        try await store.close()
        let (positions, moments) = seen.withLock { $0 }
        try say(["positions": Array(positions.dropFirst(known)), "moments": Array(moments.dropFirst(known).map { UInt64($0) })])
    }

    /// One writer that appends at a rate.
    static func publish(_ words: Words) async throws {
        let events = try Frame.read(words.text("frames"), limit: words.number("events")).map { try $0.event }
        let store = try await EventStore.open(words.text("store"), version: SchemaVersion(1), options: words.options())
        let step = 1_000_000_000 / (try words.number("rate"))
        var (positions, begins, ends): ([UInt64], [Int], [Int]) = ([], [], [])
        let start = nanoseconds()
        for (index, event) in events.enumerated() {
            let rest = start + index * step - nanoseconds()
            if rest > 0 { try await Task.sleep(nanoseconds: UInt64(rest)) }
            begins.append(nanoseconds())
            let receipt = try await store.append(event, expecting: .any)
            ends.append(nanoseconds())
            positions.append(receipt.position.rawValue)
        }
        try await store.close()
        try say(["positions": positions, "begins": begins, "ends": ends])
    }

    /// The clock that all processes of a machine share.
    private static func nanoseconds() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
