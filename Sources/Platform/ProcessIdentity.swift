internal import Glibc

/// Which process this is.
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

    /// The effective user of this process.
    package static var user: UInt32 { geteuid() }
}
