internal import Bytes
internal import CEvstoreSystem
internal import Glibc

/// Bytes that another program reads as a file, and that lie on no disk (memfd_create(2)).
package enum MemoryFile {
    /// Calls `body` with a path by which a child of this process opens the file, while `body` runs.
    package static func lend<R>(_ bytes: [UInt8], _ body: (String) throws(SystemFailure) -> R) throws(SystemFailure) -> R {
        let descriptor = unsafe evstore_memory_file("evstore")
        if descriptor < 0 { throw SystemFailure(code: errno) }
        defer { close(descriptor) }
        try Descriptor(descriptor).write(bytes.lent)
        return try body("/proc/self/fd/\(descriptor)")
    }
}
