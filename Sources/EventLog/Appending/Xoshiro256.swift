/// Random numbers for event ids: xoshiro256** (Blackman and Vigna), seeded by the system. Asking the system for each id would cost more
/// than the rest of an append.
struct Xoshiro256: RandomNumberGenerator {
    private var a, b, c, d: UInt64

    init() {
        var system = SystemRandomNumberGenerator()
        (a, b, c, d) = (system.next() | 1, system.next(), system.next(), system.next())
    }

    mutating func next() -> UInt64 {
        let result = Self.rotated(b &* 5, 7) &* 9
        let shifted = b << 17
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = Self.rotated(d, 45)
        return result
    }

    private static func rotated(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
}
