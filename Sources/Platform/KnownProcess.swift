internal import Glibc
internal import Synchronization

/// This process's number in a page of memory that the kernel gives to the child of a fork empty (madvise(2), `MADV_WIPEONFORK`).
@safe
struct KnownProcess: @unchecked Sendable {
    // Sound to share: the one number there is written and read atomically, and never freed.
    private let number: UnsafeMutablePointer<Atomic<Int32>>

    /// Nil where the kernel has no such pages.
    static let shared = KnownProcess()

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
