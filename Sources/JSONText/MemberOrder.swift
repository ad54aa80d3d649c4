package import Bytes

/// In which order the members of a text stand, and in which they stood in the text before: that is mostly the same, so that
/// one comparison finds a member.
package struct MemberOrder: ~Copyable {
    /// The slots of the members, in the text's order.
    package private(set) var slots = Slots<Int32>(capacity: 32)
    private var before = Slots<Int32>(capacity: 32)
    /// Which of those before is expected next.
    private var next = 0

    package init() {}

    package mutating func begin() {
        swap(&slots, &before)
        slots.removeAll()
        next = 0
    }

    /// The slot that stood here before; -1 where none did.
    @inline(__always)
    var expected: Int { next < before.count ? Int(before[next]) : -1 }

    /// Adds the slot that was expected.
    @inline(__always)
    mutating func appendExpected(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        next &+= 1
    }

    /// Adds another: one before it is missing now, or it was missing before.
    mutating func append(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        if next &+ 1 < before.count, Int(before[next &+ 1]) == slot { next &+= 2 }
    }
}
