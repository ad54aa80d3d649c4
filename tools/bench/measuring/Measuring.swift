import Foundation

/// Times the same work in rounds, and prints what one takes beside what another took.
struct Measuring {
    let rounds: Int
    /// What ratios are told against.
    let unit: String
    /// Room for names.
    let width: Int
    private var kept = 0

    init(rounds: Int, unit: String, width: Int) { (self.rounds, self.unit, self.width) = (rounds, unit, width) }

    /// Nanoseconds a round: the median of nine parts of the run. What `body` returns is kept, so that it must be made.
    @discardableResult
    mutating func callAsFunction(_ name: String, against: Double? = nil, _ body: () throws -> Int) rethrows -> Double {
        let clock = ContinuousClock()
        let part = max(rounds / 9, 1)
        var times: [Double] = []
        for _ in 0 ..< 9 {
            let begin = clock.now
            for _ in 0 ..< part { kept &+= try body() }
            let elapsed = (clock.now - begin).components
            times.append((Double(elapsed.seconds) * 1e9 + Double(elapsed.attoseconds) / 1e9) / Double(part))
        }
        let median = times.sorted()[4]
        let ratio = against.map { String(format: "%8.2f x \(unit)", median / $0) } ?? ""
        print(name.padding(toLength: width, withPad: " ", startingAt: 0) + String(format: "%9.0f ns", median) + ratio)
        return median
    }
}
