/// What a text may cost before it is looked at for its meaning.
package struct JSONLimits: Hashable, Sendable {
    /// Containers that may be open at once; never more than `deepest`.
    package var depth: Int
    /// Members of all objects and elements of all arrays of the text together.
    package var members: Int
    /// Length of the text.
    package var bytes: Int

    package init(depth: Int = 64, members: Int = 10_000, bytes: Int = 1 << 20) {
        self.depth = depth
        self.members = members
        self.bytes = bytes
    }

    /// For text whose size was limited when it was taken in.
    package static let none = JSONLimits(depth: deepest, members: .max, bytes: .max)

    /// The depth that no text may pass whatever its limits say, so that a small thread's stack is enough for it.
    package static let deepest = 512
    /// Digits that a number's exponent may have, leading zeros aside.
    package static let exponentDigits = 9
}
