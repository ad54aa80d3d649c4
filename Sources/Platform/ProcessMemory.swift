internal import Bytes
internal import Glibc

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
