internal import Glibc

package enum WallClock {
    /// Microseconds since 1970-01-01T00:00:00Z (POSIX time); may step back when the clock is set.
    package static var microseconds: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
