internal import Glibc
internal import Synchronization

/// Caches the id of this process in a page of memory that the kernel clears in the child of a fork (madvise(2), `MADV_WIPEONFORK`).
@safe
struct ProcessIDCache: @unchecked Sendable {
    // Sound to share: the number there is read and written atomically, and never freed.
    private let number: UnsafeMutablePointer<Atomic<Int32>>

    /// Nil where the kernel has no such pages.
    static let shared = ProcessIDCache()

    private init?() {
        let bytes = Int(getpagesize())
        let page = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let page = unsafe page, unsafe page != MAP_FAILED else { return nil }
        guard unsafe madvise(page, bytes, Int32(MADV_WIPEONFORK)) == 0 else {
            unsafe munmap(page, bytes)
            return nil
        }
        unsafe number = page.bindMemory(to: Atomic<Int32>.self, capacity: 1)
    }

    var id: Int32 {
        let known = unsafe number.pointee.load(ordering: .relaxed)
        if known != 0 { return known }
        let found = getpid()
        unsafe number.pointee.store(found, ordering: .relaxed)
        return found
    }
}
