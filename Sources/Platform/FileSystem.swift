internal import CEvstoreSystem
internal import Glibc

/// Kinds of file systems, by what `statfs(2)` says. LMDB needs one that shares locks and memory maps between processes and whose sync makes
/// bytes durable.
package enum FileSystem: Hashable, Sendable {
    case persistent(String)
    /// Sound, but its files are gone after the next boot at the latest; the reason says why.
    case ephemeral(String, reason: String)
    /// Not known to be sound.
    case unknown(String)

    package static func of(_ path: String) throws(StorageError) -> FileSystem {
        var result = statfs()
        if unsafe statfs(path, &result) != 0 { throw .system("asking for the file system of \(path)") }
        return FileSystem(magic: UInt32(truncatingIfNeeded: result.f_type))
    }

    /// The name of a path's file system if it keeps copies of overwritten bytes, because it does not write in place or because its journal
    /// holds data; else nil. The copies stay until their blocks are used again, and as long as a snapshot refers to them.
    package static func keeping(_ path: String) throws(StorageError) -> String? {
        let kind = try of(path)
        guard case .persistent(let name) = kind else { return nil }
        if kind.isCopyOnWrite { return name }
        guard name == "ext4", try hasDataInJournal(path) else { return nil }
        return "ext4 with data=journal"
    }

    /// Whether it writes elsewhere instead of overwriting in place (copy on write).
    package var isCopyOnWrite: Bool { [.persistent("btrfs"), .persistent("f2fs"), .persistent("zfs")].contains(self) }

    /// Whether a mounted ext4 journals data, as a mount option or as a default of the file system; false where the kernel does not say.
    private static func hasDataInJournal(_ path: String) throws(StorageError) -> Bool {
        guard let device = try Directory.status(path)?.device else { return false }
        var name = [CChar](repeating: 0, count: 4_096)
        let count = unsafe readlink("/sys/dev/block/\(deviceName(device))", &name, name.count)
        guard count > 0 else { return false }
        let link = String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        let options = "/proc/fs/ext4/\(Directory.name(of: link))/options"
        guard try Directory.status(options) != nil else { return false }
        return try String(decoding: File(options, .read).read(1 << 16), as: UTF8.self).split(separator: "\n").contains("data=journal")
    }

    /// Whether the file system that a path lies on can't be written at all, by whatever mount. False where only the path's own mount forbids
    /// it, as that of a container that may read alone, and where nothing is at the path.
    package static func isReadOnly(_ path: String) throws(StorageError) -> Bool {
        guard let device = try Directory.status(path)?.device else { return false }
        var result = statvfs()
        if unsafe statvfs(path, &result) != 0 {
            if errno == ENOENT { return false }
            throw .system("asking for the file system of \(path)")
        }
        guard result.f_flag & UInt(ST_RDONLY) != 0 else { return false }
        let name = deviceName(device)
        // proc_pid_mountinfo(5): the third field is the device; behind a hyphen come the type, the source, and what all mounts share.
        let mounts = try String(decoding: File("/proc/self/mountinfo", .read).read(1 << 22), as: UTF8.self).split(separator: "\n")
        let mount = mounts.first { $0.split(separator: " ").dropFirst(2).first.map(String.init) == name }
        return mount?.split(separator: " ").last?.split(separator: ",").contains("ro") ?? false
    }

    /// `major:minor`. The layout of a device number is that of `makedev(3)`.
    private static func deviceName(_ device: UInt64) -> String {
        "\(device >> 8 & 0xfff | device >> 32 & ~0xfff):\(device & 0xff | device >> 12 & ~0xff)"
    }

    /// - Parameter magic: of `linux/magic.h`.
    package init(magic: UInt32) {
        self =
            switch magic {
            case 0xef53: .persistent("ext4")
            case 0x5846_5342: .persistent("xfs")
            case 0x9123_683e: .persistent("btrfs")
            case 0xf2f5_2010: .persistent("f2fs")
            case 0x2fc1_2fc1: .persistent("zfs")
            case 0x0102_1994: .ephemeral("tmpfs", reason: "it is gone when the machine stops")
            case 0x794c_7630: .ephemeral("overlayfs", reason: "it is gone with its container")
            case 0x6969: .unknown("nfs")
            case 0xff53_4d42, 0xfe53_4d42, 0x517b: .unknown("smb")
            case 0x6573_5546: .unknown("fuse")
            case 0x0102_1997: .unknown("9p")
            case 0x8584_58f6: .unknown("ramfs")
            default: .unknown("of type \(String(magic, radix: 16))")
            }
    }
}
