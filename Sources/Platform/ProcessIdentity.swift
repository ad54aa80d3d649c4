internal import Bytes
internal import Glibc
internal import Synchronization

package enum ProcessIdentity {
    /// Read from memory, since every transaction asks for it: the kernel is asked once, and once more in the child of a fork.
    package static var id: Int32 { ProcessIDCache.shared?.id ?? getpid() }

    /// Changes at every boot of the machine; empty where the system does not say it.
    package static let boot: String = {
        do throws(StorageError) {
            let bytes = try File("/proc/sys/kernel/random/boot_id", .read).read(36)
            return String(decoding: bytes, as: UTF8.self)
        } catch { return "" }
    }()

    /// Tells a machine, or a container with an id of its own, from others (machine-id(5)); empty where the system does not say it.
    package static let machine: String = {
        do throws(StorageError) { return String(decoding: try File("/etc/machine-id", .read).read(32), as: UTF8.self) } catch { return "" }
    }()

    package static var user: UInt32 { geteuid() }
}

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

/// This process's memory: whether it may go into core dumps, and how much address space is left.
package enum ProcessMemory {
    /// Whether this many bytes of address space are left (RLIMIT_AS).
    package static func hasAddresses(_ bytes: Int) -> Bool {
        let place = unsafe mmap(nil, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        if unsafe place == MAP_FAILED { return false }
        unsafe munmap(place, bytes)
        return true
    }

    /// Keeps this process's memory, which holds secrets, out of core dumps from now on, also out of those that the system collects. Does
    /// nothing where the system does not allow it.
    package static func excludeFromCoreDumps() {
        var limit = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 {
            limit.rlim_cur = 0
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        }
        // core(5): no kind of memory is dumped.
        let filter = unsafe open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC)
        if filter < 0 { return }
        defer { close(filter) }
        do { try Descriptor(filter).write(Array("0".utf8).lent) } catch {}
    }
}
