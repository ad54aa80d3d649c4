/// A random number generator whose sequence depends only on its seed, on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A random element; the list must not be empty.
    package mutating func pick<T>(_ elements: [T]) -> T { elements[Int.random(in: elements.indices, using: &self)] }

    /// True with a probability of one in `times`.
    package mutating func once(in times: Int) -> Bool { Int.random(in: 0 ..< times, using: &self) == 0 }
}
