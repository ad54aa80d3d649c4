internal import Foundation

/// SplitMix64 (Steele, Lea and Flood): small, seeded, the same everywhere.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A generator of its own for one of many things that are made from one seed.
    package init(seed: UInt64, _ name: String, _ index: Int) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(name)/\(index)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        state = seed ^ hash
        state = next()
    }

    /// A generator of a new seed, which is printed: what is found with it can be found again.
    package static func announced() -> SeededGenerator {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        return SeededGenerator(seed: seed)
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}

/// How often a random test goes round: the count that it has in every run, times EVSTORE_ROUNDS for a longer one.
package func rounds(_ count: Int) -> Int { count * (ProcessInfo.processInfo.environment["EVSTORE_ROUNDS"].flatMap { Int($0) } ?? 1) }
