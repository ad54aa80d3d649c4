/// Limits on the size and nesting of a text, checked while it is validated.
package struct JSONLimits: Hashable, Sendable {
    /// How many containers may be open at once; never more than `deepest`.
    package var depth: Int
    /// The members of all objects plus the elements of all arrays in the text.
    package var members: Int
    /// Length of the text.
    package var bytes: Int

    package init(depth: Int = 64, members: Int = 10_000, bytes: Int = 1 << 20) {
        self.depth = depth
        self.members = members
        self.bytes = bytes
    }

    /// For text whose size was already limited when it was accepted.
    package static let none = JSONLimits(depth: deepest, members: .max, bytes: .max)

    /// The nesting depth that no text may exceed, whatever its limits, so that recursion fits a small thread's stack.
    package static let deepest = 512
    /// How many digits a number's exponent may have, not counting leading zeros.
    package static let exponentDigits = 9
}
