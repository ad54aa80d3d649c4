internal import CEvstoreSystem
internal import Glibc
package import Synchronization

/// The first page of a file, mapped: what one process stores, all others that map it see, without a system call. The child of a fork does
/// not have it.
@safe
package final class SharedPage: @unchecked Sendable {
    // Sound to share: its words are atomic, and whoever stores bytes keeps others from storing them meanwhile.
    package static let bytes = 4_096
    package let start: UnsafeMutableRawPointer

    /// Whether others see what is stored here; nothing may be stored where it is false.
    package let isWritable: Bool

    /// - Parameter file: at least one page long, and open for writing unless the page is only read. Its holes are filled first.
    package init(_ file: File, isWritable: Bool = true) throws(StorageError) {
        self.isWritable = isWritable
        if isWritable { try file.fillHoles() }
        let map = unsafe mmap(nil, Self.bytes, isWritable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.descriptor, 0)
        guard let map = unsafe map, unsafe map != MAP_FAILED else { throw .system("mapping \(file.path)") }
        // A map in the child of a fork would keep the open file there, and its locks with it.
        if unsafe madvise(map, Self.bytes, MADV_DONTFORK) != 0 {
            unsafe munmap(map, Self.bytes)
            throw .system("mapping \(file.path)")
        }
        unsafe start = unsafe map
    }

    deinit { unsafe munmap(start, Self.bytes) }

    package func word<R>(_ offset: Int, _ body: (borrowing Atomic<UInt32>) -> R) -> R {
        defer { withExtendedLifetime(self) {} }
        return unsafe body((start + offset).assumingMemoryBound(to: Atomic<UInt32>.self).pointee)
    }

    package func longWord<R>(_ offset: Int, _ body: (borrowing Atomic<UInt64>) -> R) -> R {
        defer { withExtendedLifetime(self) {} }
        return unsafe body((start + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee)
    }

    /// Sleeps while the word at an offset is `seen`, at most this many microseconds; may return early.
    package func sleep(while seen: UInt32, at offset: Int, microseconds: Int) {
        defer { withExtendedLifetime(self) {} }
        unsafe evstore_futex_wait((start + offset).assumingMemoryBound(to: UInt32.self), seen, microseconds * 1_000)
    }

    /// Wakes all threads, of every process, that sleep on the word at an offset.
    package func wake(at offset: Int) {
        defer { withExtendedLifetime(self) {} }
        unsafe evstore_futex_wake((start + offset).assumingMemoryBound(to: UInt32.self))
    }

    package func bytes(_ count: Int, at offset: Int) -> [UInt8] {
        precondition(offset >= 0 && count >= 0 && offset + count <= Self.bytes, "what is read lies within the page")
        defer { withExtendedLifetime(self) {} }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start + offset, count: count))
    }

    /// Stores bytes. A reader may find only some of them, during the call or after a process was killed in it.
    package func put(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && offset + bytes.byteCount <= Self.bytes, "what is stored lies within the page")
        defer { withExtendedLifetime(self) {} }
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress { unsafe (start + offset).copyMemory(from: base, byteCount: source.count) }
        }
    }
}
