internal import Foundation

/// Files that are written without the pages that hold nothing, so that thousands of them have room in memory.
package enum SparseFile {
    private static let page = 4_096

    /// Makes the file anew, 0600.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("\(path) can't be made: \(errno)") }
        defer { close(file) }
        guard ftruncate(file, off_t(bytes.count)) == 0 else { throw Failure("\(path) can't be made long: \(errno)") }
        try unsafe bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            var start = 0
            while start < buffer.count {
                let count = min(page, buffer.count - start)
                // A run of zeros equals itself one byte further.
                let place = unsafe base + start
                let isEmpty = unsafe buffer[start] == 0 && (count == 1 || memcmp(place, place + 1, count - 1) == 0)
                if !isEmpty, unsafe pwrite(file, place, count, off_t(start)) != count {
                    throw Failure("\(path) can't be written: \(errno)")
                }
                start += count
            }
        }
    }

    /// Copies the parts of a file that hold something.
    package static func copy(file: String, to target: String) throws {
        let (from, to) = unsafe (open(file, O_RDONLY | O_CLOEXEC), open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600))
        defer { for file in [from, to] where file >= 0 { close(file) } }
        let size = lseek(from, 0, SEEK_END)
        guard from >= 0, to >= 0, ftruncate(to, size) == 0 else { throw Failure("\(file) can't be copied: \(errno)") }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var at = lseek(from, 0, seekData)
        while at >= 0, at < size {
            let end = lseek(from, at, seekHole)
            while at < end {
                let count = unsafe pread(from, &buffer, min(buffer.count, Int(end - at)), at)
                // Zeros that were written, as a new file system does, are none in the copy.
                let isThere = unsafe count > 0 && (isEmpty(buffer, count) || pwrite(to, buffer, count, at) == count)
                if !isThere { throw Failure("\(target) can't be written: \(errno)") }
                at += off_t(count)
            }
            at = lseek(from, at, seekData)
        }
    }

    static func isEmpty(_ bytes: [UInt8], _ count: Int) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return true }
            // A run of zeros equals itself one byte further.
            return unsafe bytes[0] == 0 && (count == 1 || memcmp(base, base + 1, count - 1) == 0)
        }
    }

    // As <unistd.h> has them.
    private static let (seekData, seekHole) = (Int32(3), Int32(4))

    /// Copies a directory with everything in it, the locks of LMDB aside.
    package static func copy(_ directory: String, to target: String) throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name != "lock.mdb" {
            let (from, to) = (directory + "/" + name, target + "/" + name)
            var isDirectory: ObjCBool = false
            _ = unsafe FileManager.default.fileExists(atPath: from, isDirectory: &isDirectory)
            if isDirectory.boolValue {
                try copy(from, to: to)
            } else {
                try write([UInt8](try Data(contentsOf: URL(filePath: from))), to: to)
            }
        }
    }
}

extension [UInt8] {
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    /// Appends zeros up to a length. Whole runs at once: byte by byte takes most of a trial's time where nothing is optimized.
    mutating func grow(to size: Int) {
        while count < size { append(contentsOf: Self.zeros[..<Swift.min(size - count, Self.zeros.count)]) }
    }

    /// Overwrites from `offset` on with a part of `bytes`, with zeros before it where these bytes end earlier.
    package mutating func put(_ bytes: [UInt8], _ part: Range<Int>, at offset: Int) {
        grow(to: offset + part.count)
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                if let from = source.baseAddress, let to = target.baseAddress {
                    unsafe memcpy(to + offset, from + part.lowerBound, part.count)
                }
            }
        }
    }
}
