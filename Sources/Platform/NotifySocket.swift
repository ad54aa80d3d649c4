internal import Glibc

/// Tells systemd how this program is: a datagram to the socket that NOTIFY_SOCKET names (sd_notify(3)).
package struct NotifySocket: Sendable {
    private let address: String

    /// Nil where the environment names no socket.
    package init?(_ environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@") else { return nil }
        self.address = address
    }

    /// Sends lines such as `READY=1`.
    /// - Throws: `SystemFailure` where the datagram can't be sent.
    package func tell(_ lines: String...) throws(SystemFailure) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { throw SystemFailure(code: errno) }
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var path = Array(address.utf8)
        // A socket without a file has a name that begins with a zero.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: name.sun_path) else { throw SystemFailure(code: ENAMETOOLONG) }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: path) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = Array(lines.joined(separator: "\n").utf8)
        let sent = unsafe withUnsafePointer(to: name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, size)
            }
        }
        if sent < 0 { throw SystemFailure(code: errno) }
    }

    /// How often to tell systemd that the program is alive: half of the time that systemd waits, and at most 100 times a second. Nil where
    /// systemd does not ask for it.
    package static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(UInt64.init), microseconds > 0 else { return nil }
        return max(.microseconds(Int64(clamping: microseconds)) / 2, .milliseconds(10))
    }
}
