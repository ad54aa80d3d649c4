package import Bytes
internal import LMDB
package import System

/// Which file a `data.mdb` is, and how it was left. Who finds it so need not look at all of its pages: what has happened to it
/// has happened through the store.
package struct FileMark: Hashable, Sendable {
    /// Zero in anchors of programs that did not say so; they vouch for nothing.
    private let inode: UInt64
    private let device: UInt32
    /// The file's size, and the time of its last change (`st_ctime`, which no program can set back), where nobody has it
    /// open; else zero.
    private let bytes: UInt64
    private let changed: Int64
    /// The boot of the machine while somebody has the file open, 36 bytes; zeros where nobody has.
    private let boot: [UInt8]

    package static let size = 64
    private static let noBoot = [UInt8](repeating: 0, count: 36)
    private static let thisBoot = Array((Array(ProcessIdentity.boot.utf8) + noBoot).prefix(36))

    /// A file that is in use, or that nobody has open any more.
    package init(_ status: FileStatus, isClosed: Bool) {
        (inode, device) = (status.inode, UInt32(truncatingIfNeeded: status.device))
        (bytes, changed) = isClosed ? (UInt64(status.bytes), status.changed) : (0, 0)
        boot = isClosed ? Self.noBoot : Self.thisBoot
    }

    package init(_ row: RawSpan) {
        (inode, bytes, changed) = (row.load(UInt64.self, at: 0), row.load(UInt64.self, at: 8), row.load(Int64.self, at: 16))
        (boot, device) = ([UInt8](copying: row.slice(24, 36)), row.load(UInt32.self, at: 60))
    }

    /// Of a file whose disk has failed.
    package static let nothing = FileMark([UInt8](repeating: 0, count: size).lent)

    package var isClosed: Bool { boot == Self.noBoot }
    package var vouchesForNothing: Bool { inode == 0 }

    package func append(to row: inout ByteBuffer) {
        row.append(littleEndian: inode)
        row.append(littleEndian: bytes)
        row.append(littleEndian: changed)
        row.append(boot)
        row.append(littleEndian: device)
    }

    /// Whether the file is the one that was left: closed and not changed since, or in use on this boot, where not even a
    /// process that was killed leaves half a page behind.
    package func vouches(for status: FileStatus) -> Bool {
        guard inode != 0, inode == status.inode, device == UInt32(truncatingIfNeeded: status.device) else { return false }
        return isClosed ? bytes == UInt64(status.bytes) && changed == status.changed : boot == Self.thisBoot
    }
}
