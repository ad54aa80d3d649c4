internal import CLMDB
internal import Glibc

/// Kinds of file systems, by what `statfs(2)` says: LMDB needs one that keeps its locks and its map between processes, and
/// whose sync is one.
package enum FileSystem: Hashable, Sendable {
    case lasting(String)
    /// Sound, and gone at the latest with the machine's next start: why.
    case passing(String, reason: String)
    /// None that is known to be sound.
    case unknown(String)

    /// The kind that a path lies on.
    package static func of(_ path: String) throws(LMDBError) -> FileSystem {
        var result = statfs()
        if unsafe statfs(path, &result) != 0 { throw .system("asking for the file system of \(path)") }
        return FileSystem(magic: UInt32(truncatingIfNeeded: result.f_type))
    }

    /// - Parameter magic: of `linux/magic.h`.
    package init(magic: UInt32) {
        self =
            switch magic {
            case 0xef53: .lasting("ext4")
            case 0x5846_5342: .lasting("xfs")
            case 0x9123_683e: .lasting("btrfs")
            case 0xf2f5_2010: .lasting("f2fs")
            case 0x2fc1_2fc1: .lasting("zfs")
            case 0x0102_1994: .passing("tmpfs", reason: "it is gone when the machine stops")
            case 0x794c_7630: .passing("overlayfs", reason: "it is gone with its container")
            case 0x6969: .unknown("nfs")
            case 0xff53_4d42, 0xfe53_4d42, 0x517b: .unknown("smb")
            case 0x6573_5546: .unknown("fuse")
            case 0x0102_1997: .unknown("9p")
            case 0x8584_58f6: .unknown("ramfs")
            default: .unknown("of type \(String(magic, radix: 16))")
            }
    }
}
