internal import Bytes

/// Whether two texts mean the same value.
package enum JSONEquality {
    /// Compares canonically: spelling, spaces and the order of members do not count.
    package static func same(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        if left.equals(right) { return true }
        return try Canonical.bytes(of: left) == Canonical.bytes(of: right)
    }
}
