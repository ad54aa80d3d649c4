internal import CEvstoreSystem
internal import Glibc

/// Bytes that another program reads as a file, and that lie on no disk (memfd_create(2)).
package enum MemoryFile {
    /// Calls `body` with a path by which a child of this process opens the file, while `body` runs.
    package static func lend<R>(_ bytes: [UInt8], _ body: (String) throws(SystemFailure) -> R) throws(SystemFailure) -> R {
        let descriptor = unsafe evstore_memory_file("evstore")
        if descriptor < 0 { throw SystemFailure(code: errno) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(written)) }
            if count < 0, errno != EINTR { throw SystemFailure(code: errno) }
            written += max(count, 0)
        }
        return try body("/proc/self/fd/\(descriptor)")
    }
}
