package import Bytes

/// The order of a text's members, and the order of the previous text's members. Both are mostly equal, so that one comparison usually finds
/// a member.
package struct MemberOrder: ~Copyable {
    /// The slots of the members, in the order of the text.
    package private(set) var slots = UniqueArray<Int32>(capacity: 32)
    private var before = UniqueArray<Int32>(capacity: 32)
    /// The index in `before` of the slot that is expected next.
    private var next = 0

    package init() {}

    package mutating func begin() {
        swap(&slots, &before)
        slots.removeAll()
        next = 0
    }

    /// The slot that the previous text had at this index; -1 if there is none.
    @inline(__always)
    var expected: Int { next < before.count ? Int(before[next]) : -1 }

    /// Appends the slot that was expected.
    @inline(__always)
    mutating func appendExpected(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        next &+= 1
    }

    /// Appends another slot than expected: the expected member is missing now, or this one was missing before.
    mutating func append(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        if next &+ 1 < before.count, Int(before[next &+ 1]) == slot { next &+= 2 }
    }
}
