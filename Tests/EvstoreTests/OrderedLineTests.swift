import Synchronization
import Testing

@testable import Evstore

@Suite("Work in parallel whose results come in order")
struct OrderedLineTests {
    private struct Broken: Error {}

    /// Units of three pieces each, of very different costs.
    private static let work: OrderedPipeline<Int>.Work<Int> = { unit, _, handOver in
        for part in 0 ..< 3 {
            var sum = 0
            for number in 0 ..< (unit * 7_919 % 13) * 2_000 { sum &+= number }
            if unit == 40 && part == 1 { throw Broken() }
            if try !handOver(unit * 3 + part, sum == -1 ? 0 : 100) { return }
        }
    }

    @Test("pieces come in the order of their units, however many threads make them", arguments: [1, 2, 5])
    func order(jobs: Int) throws {
        var pieces: [Int] = []
        // A limit that the pieces of one unit reach.
        try OrderedPipeline<Int>(units: 40, waitingMax: 250).run(jobs: jobs, make: { 0 }, work: Self.work) { piece in
            pieces.append(piece)
            return true
        }
        #expect(pieces == Array(0 ..< 120))
    }

    @Test("a failure comes after everything before it, and nothing behind it", arguments: [1, 3])
    func failure(jobs: Int) {
        var pieces: [Int] = []
        #expect(throws: Broken.self) {
            try OrderedPipeline<Int>(units: 90, waitingMax: 1_000).run(jobs: jobs, make: { 0 }, work: Self.work) { piece in
                pieces.append(piece)
                return true
            }
        }
        #expect(pieces == Array(0 ..< 121))
    }

    @Test("few pieces wait, even of the unit whose turn it is", arguments: [2, 3])
    func waiting(jobs: Int) throws {
        let made = Atomic(0)
        var (taken, most) = (0, 0)
        try OrderedPipeline<Int>(units: 3, waitingMax: 250).run(
            jobs: jobs, make: { 0 },
            work: { unit, _, handOver in
                for _ in 0 ..< 1_000 {
                    made.add(1, ordering: .relaxed)
                    if try !handOver(unit, 100) { return }
                }
            }
        ) { _ in
            if taken % 500 == 0 {
                let end = ContinuousClock.now + .milliseconds(10)
                while ContinuousClock.now < end {}
            }
            taken += 1
            most = max(most, made.load(ordering: .relaxed) - taken)
            return true
        }
        #expect(taken == 3_000 && most < 20)
    }

    @Test("nothing more is made once nothing more is wanted", arguments: [1, 3])
    func stopping(jobs: Int) throws {
        let begun = Atomic(0)
        var pieces = 0
        try OrderedPipeline<Int>(units: 1_000_000, waitingMax: 1_000).run(
            jobs: jobs, make: { 0 },
            work: { unit, _, handOver in
                begun.add(1, ordering: .relaxed)
                _ = try handOver(unit, 100)
            }
        ) { _ in
            pieces += 1
            return pieces < 5
        }
        #expect(pieces == 5 && begun.load(ordering: .relaxed) < 100)
    }
}
