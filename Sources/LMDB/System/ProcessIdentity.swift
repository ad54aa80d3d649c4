internal import Glibc

/// Which process this is.
package enum ProcessIdentity {
    package static var id: Int32 { getpid() }

    /// Changes at every boot of the machine; empty where the system does not tell.
    package static let boot: String = {
        do throws(LMDBError) {
            let bytes = try File("/proc/sys/kernel/random/boot_id", .read).read(36)
            return String(decoding: bytes, as: UTF8.self)
        } catch { return "" }
    }()

    /// Whether a process of this id is running.
    package static func isRunning(_ id: Int32) -> Bool { kill(id, 0) == 0 || errno == EPERM }
}
