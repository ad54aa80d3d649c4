internal import Glibc

/// A Unix socket that other programs connect to by its path (unix(7)).
package struct UnixSocket: Sendable {
    package let path: String
    /// The caller listens on it and closes it.
    package let descriptor: Int32
    /// The file that the path named when this socket was bound to it.
    private let name: NameInode?

    /// Binds a socket to a path, so that its owner and group may connect. Replaces a socket that no process listens on any more.
    /// - Throws: `SystemFailure`, of code EADDRINUSE where another program listens there, or another file has the name.
    package init(boundTo path: String) throws(SystemFailure) {
        self.path = path
        descriptor = try Self.make()
        do throws(SystemFailure) {
            // Until its mode is set below nobody else can connect, whatever the process's mask is.
            if fchmod(descriptor, 0o600) != 0 { throw SystemFailure(code: errno) }
            // Locked, since of two programs that find an abandoned socket the second could remove the new socket of the first.
            let directory = try Self.locked(Directory.parent(of: path))
            defer { close(directory) }
            do throws(SystemFailure) { try unsafe Self.with(path, bind, descriptor) } catch {
                guard error.code == EADDRINUSE, Self.isAbandoned(path) else { throw error }
                unsafe unlink(path)
                try unsafe Self.with(path, bind, descriptor)
            }
            if unsafe chmod(path, 0o660) != 0 { throw SystemFailure(code: errno) }
            name = NameInode(path)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Removes the name if it is still this socket's. Order: this comes before the socket is closed, which then counts as abandoned.
    package func remove() { if let name, NameInode(path) == name { unsafe unlink(path) } }

    /// The file that a path names itself, links not followed. The inode's number is not reused while a socket that was bound to it is open.
    private struct NameInode: Equatable {
        let device, inode: UInt64
        let isSocket: Bool

        init?(_ path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            (device, inode, isSocket) = (UInt64(status.st_dev), UInt64(status.st_ino), status.st_mode & S_IFMT == S_IFSOCK)
        }
    }

    private static let lockMilliseconds = 5_000

    /// Opens a directory and locks it (flock(2)); the lock ends with the descriptor.
    /// - Throws: EADDRINUSE where another program keeps the lock.
    private static func locked(_ path: String) throws(SystemFailure) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw SystemFailure(code: errno) }
        for _ in 0 ..< lockMilliseconds {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            usleep(1_000)
        }
        close(descriptor)
        throw SystemFailure(code: EADDRINUSE)
    }

    /// Whether the path names a socket on which nobody listens.
    private static func isAbandoned(_ path: String) -> Bool {
        guard NameInode(path)?.isSocket == true else { return false }
        do throws(SystemFailure) {
            // A stopped process does not accept connections: don't wait for one.
            let descriptor = try make(flags: Int32(SOCK_NONBLOCK.rawValue))
            defer { close(descriptor) }
            try unsafe with(path, connect, descriptor)
            return false
        } catch { return error.code == ECONNREFUSED }
    }

    private static func make(flags: Int32 = 0) throws(SystemFailure) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
        if descriptor < 0 { throw SystemFailure(code: errno) }
        return descriptor
    }

    private typealias Call = (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32

    private static func with(_ path: String, _ call: Call, _ descriptor: Int32) throws(SystemFailure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The name ends with a zero byte.
        let path = Array(path.utf8) + [0]
        guard path.count <= MemoryLayout.size(ofValue: address.sun_path) else { throw SystemFailure(code: ENAMETOOLONG) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let result = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result != 0 { throw SystemFailure(code: errno) }
    }
}

/// Tells systemd how this program is: a datagram to the socket that NOTIFY_SOCKET names (sd_notify(3)).
package struct NotifySocket: Sendable {
    private let address: String

    /// Nil where the environment names no socket.
    package init?(_ environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@") else { return nil }
        self.address = address
    }

    /// Sends lines such as `READY=1`.
    /// - Parameter patience: how long it waits, in whole seconds, for a reader whose queue is full (10 datagrams, where the kernel's
    ///   net.unix.max_dgram_qlen is left as it is); not at all where it is 0.
    /// - Throws: `SystemFailure` where the datagram can't be sent; EAGAIN where the queue is full.
    package func tell(_ lines: String..., patience seconds: Int = 1) throws(SystemFailure) {
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
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let sent = unsafe withUnsafePointer(to: name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL) | (seconds > 0 ? 0 : Int32(MSG_DONTWAIT)), $0, size)
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
