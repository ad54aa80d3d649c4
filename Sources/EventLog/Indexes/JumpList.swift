/// The earlier revision of its stream that a record's jump pointer leads to: Myers' skew-binary jump list ("An applicative random-access
/// stack", 1983). It reaches any revision in O(log n) steps.
package enum JumpList {
    /// jump(n) = jump(jump(p)) if r(p) - r(jump p) = r(jump p) - r(jump jump p), else p, with p = n - 1
    /// and jump(0) = 0. That is n less the weight (2^k - 1) of n's lowest digit in skew binary.
    static func target(of revision: UInt64) -> UInt64 {
        if revision == 0 { return 0 }
        var rest = revision
        var weight: UInt64 = 0
        while rest > 0 {
            // The largest 2^k - 1 that is not more than `rest`.
            weight = UInt64.max >> UInt64(rest.leadingZeroBitCount)
            if weight > rest { weight >>= 1 }
            rest -= weight
        }
        return revision - weight
    }

    /// Whether the jump pointer of `revision` equals that of its predecessor's jump target, which then has to be looked up; otherwise it
    /// leads to the predecessor.
    package static func isMerging(_ revision: UInt64) -> Bool { revision > 1 && target(of: revision) != revision - 1 }
}
