import Evstore
import Foundation
import Measured

extension Work {
    /// Says that it is there when it has seen what was known, then waits for the others.
    static func listen(_ words: Words) async throws {
        let store = try await open(words)
        let (known, count) = (try words.number("known"), try words.number("count"))
        var pages = store.subscribe().makeAsyncIterator()
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

    /// One writer that appends at a rate.
    static func publish(_ words: Words) async throws {
        let events = try Frame.read(words.text("frames"), limit: words.number("events")).map { try $0.event }
        let store = try await EventStore.open(at: words.text("store"), version: SchemaVersion(1), options: words.options())
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
