internal import Glibc

/// A moment of the clock that nobody sets and that goes on while the machine sleeps (`CLOCK_BOOTTIME`), in nanoseconds since it started.
///
/// `ContinuousClock.Instant` is the same moment, but its library may change how it lies in memory: a struct that holds one is moved and
/// compared by calls that look its size up, with all its other members.
package struct Instant: Comparable, Sendable {
    private var nanoseconds: Int64

    package static var now: Instant {
        var time = timespec()
        // It can't fail: the clock exists, and the address is valid.
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The time from this moment to another one; negative if that is earlier.
    package func duration(to other: Instant) -> Duration {
        .nanoseconds(Int64(clamping: Int128(other.nanoseconds) - Int128(nanoseconds)))
    }

    package static func < (one: Instant, other: Instant) -> Bool { one.nanoseconds < other.nanoseconds }

    /// The moment after a duration; the last or the first one that there is where that lies beyond.
    package static func + (start: Instant, duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Int128(seconds) * 1_000_000_000 + Int128(attoseconds / 1_000_000_000)
        return Instant(nanoseconds: Int64(clamping: Int128(start.nanoseconds) + nanoseconds))
    }
}
