internal import Glibc

/// A Unix socket that other programs connect to by its path (unix(7)).
package enum UnixSocket {
    /// Binds a socket to a path; its owner and group may connect. A socket that nobody listens on any more gives way.
    /// - Returns: the descriptor, which the caller listens on and closes.
    /// - Throws: `SystemFailure`, of code EADDRINUSE where another program listens there, or another file has the name.
    package static func bound(to path: String) throws(SystemFailure) -> Int32 {
        let descriptor = try make()
        do throws(SystemFailure) {
            // Until its mode is set below nobody else can connect, whatever the process's mask is.
            if fchmod(descriptor, 0o600) != 0 { throw SystemFailure(code: errno) }
            do throws(SystemFailure) { try unsafe with(path, bind, descriptor) } catch {
                guard error.code == EADDRINUSE, isAbandoned(path) else { throw error }
                unsafe unlink(path)
                try unsafe with(path, bind, descriptor)
            }
            if unsafe chmod(path, 0o660) != 0 { throw SystemFailure(code: errno) }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Takes the name away. Order: before the socket is closed, since the name may be another program's from then on.
    package static func remove(_ path: String) { unsafe unlink(path) }

    /// Whether the path names a socket on which nobody listens.
    private static func isAbandoned(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        do throws(SystemFailure) {
            let descriptor = try make()
            defer { close(descriptor) }
            try unsafe with(path, connect, descriptor)
            return false
        } catch { return error.code == ECONNREFUSED }
    }

    private static func make() throws(SystemFailure) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { throw SystemFailure(code: errno) }
        return descriptor
    }

    private typealias Call = (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32

    private static func with(_ path: String, _ call: Call, _ descriptor: Int32) throws(SystemFailure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The name ends with a zero.
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
