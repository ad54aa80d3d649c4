package import Bytes
internal import LMDB
package import Platform

/// Identifies a `data.mdb` and the state in which it was left. A file that matches was changed only by the store, so that its pages need no
/// check.
package struct FileMark: Hashable, Sendable {
    /// Zero in the anchors of older programs, which match no file.
    private let inode: UInt64
    private let device: UInt32
    /// The file's size and the time of its last change (`st_ctime`, which no program can set back), if no process has it open; else zero.
    private let bytes: UInt64
    private let changed: Int64
    /// The machine's boot id while a process has the file open, 36 bytes; zeros if none has.
    private let boot: [UInt8]

    package static let size = 64
    private static let noBoot = [UInt8](repeating: 0, count: 36)
    private static let thisBoot = Array((Array(ProcessIdentity.boot.utf8) + noBoot).prefix(36))

    /// The mark of a file that is in use, or that no process has open any more.
    package init(_ status: FileStatus, isClosed: Bool) {
        (inode, device) = (status.inode, UInt32(truncatingIfNeeded: status.device))
        (bytes, changed) = isClosed ? (UInt64(status.bytes), status.changed) : (0, 0)
        boot = isClosed ? Self.noBoot : Self.thisBoot
    }

    package init(_ row: RawSpan) {
        (inode, bytes, changed) = (row.load(UInt64.self, at: 0), row.load(UInt64.self, at: 8), row.load(Int64.self, at: 16))
        (boot, device) = ([UInt8](copying: row.slice(24, 36)), row.load(UInt32.self, at: 60))
    }

    /// The mark of a file whose disk has failed: it matches no file.
    package static let nothing = FileMark([UInt8](repeating: 0, count: size).lent)

    package var isClosed: Bool { boot == Self.noBoot }
    package var matchesNothing: Bool { inode == 0 }

    package func append(to row: inout ByteBuffer) {
        row.append(littleEndian: inode)
        row.append(littleEndian: bytes)
        row.append(littleEndian: changed)
        row.append(boot)
        row.append(littleEndian: device)
    }

    /// Whether the file is in the state in which it was left: closed and not changed since, or in use during this boot, in which even a
    /// killed process leaves no torn page.
    package func matches(_ status: FileStatus) -> Bool {
        guard inode != 0, inode == status.inode, device == UInt32(truncatingIfNeeded: status.device) else { return false }
        return isClosed ? bytes == UInt64(status.bytes) && changed == status.changed : boot == Self.thisBoot
    }
}
