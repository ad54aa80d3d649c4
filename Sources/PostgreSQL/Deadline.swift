internal import Glibc
internal import Platform

extension Instant {
    /// The time left in milliseconds for `poll(2)`, rounded up; 0 where it has passed.
    var millisecondsLeft: Int32 {
        let (seconds, attoseconds) = Instant.now.duration(to: self).components
        if seconds < 0 || attoseconds < 0 { return 0 }
        // At most a day: a longer wait looks at the clock again.
        if seconds >= 86_400 { return 86_400_000 }
        return Int32(seconds) * 1_000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// The events that a wait for a socket is for, and those that have occurred.
struct Readiness: OptionSet {
    let rawValue: Int16

    /// There are bytes to read, or the connection has ended.
    static let reading = Readiness(rawValue: Int16(POLLIN))
    static let writing = Readiness(rawValue: Int16(POLLOUT))

    /// Waits until a socket is ready, or has failed, which counts as ready for everything that was asked.
    /// - Returns: empty where the time has passed, even if the socket is ready: a socket that is always ready would never time out.
    static func wait(_ socket: Int32, for wanted: Readiness, until deadline: Instant) -> Readiness {
        while true {
            let left = deadline.millisecondsLeft
            if left == 0 { return [] }
            let ready = look(socket, for: wanted, milliseconds: left)
            if !ready.isEmpty { return ready }
        }
    }

    /// Polls for at most this many milliseconds, or until a signal; empty where the socket is not ready.
    static func look(_ socket: Int32, for wanted: Readiness, milliseconds: Int32 = 0) -> Readiness {
        var asked = pollfd(fd: socket, events: wanted.rawValue, revents: 0)
        let found = unsafe poll(&asked, 1, milliseconds)
        if found == 0 || (found < 0 && errno == EINTR) { return [] }
        let ready = wanted.intersection(Readiness(rawValue: asked.revents))
        return ready.isEmpty ? wanted : ready
    }

    /// How many bytes wait in the socket to be read.
    static func waitingBytes(_ socket: Int32) -> Int {
        var count: Int32 = 0
        return unsafe ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// The bytes that a TCP socket has received since it was connected, including those not read yet; 0 for another kind of socket, and
    /// before Linux 4.1 (`tcpi_bytes_received` of linux/tcp.h).
    static func receivedBytes(_ socket: Int32) -> Int {
        let offset = 128
        var info = [UInt8](repeating: 0, count: offset + 8)
        var length = socklen_t(info.count)
        let answer = unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &length)
        guard answer == 0, Int(length) == info.count else { return 0 }
        return unsafe Int(clamping: info.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) })
    }
}
