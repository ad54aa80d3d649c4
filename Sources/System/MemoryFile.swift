internal import CSystem
internal import Glibc

/// Bytes that another program reads as a file, and that lie on no disk (memfd_create(2)).
package struct MemoryFile: ~Copyable {
    private let descriptor: Int32

    package init(_ bytes: [UInt8]) throws(SystemFailure) {
        descriptor = unsafe evstore_memory_file("evstore")
        if descriptor < 0 { throw SystemFailure(code: errno) }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(written)) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 {
                let code = errno
                close(descriptor)
                throw SystemFailure(code: code)
            }
            written += count
        }
    }

    deinit { close(descriptor) }

    /// Names it for a child of this process, as long as it is there.
    package var path: String { "/proc/self/fd/\(descriptor)" }
}
