package import Bytes
internal import Glibc

/// A file or pipe read from its beginning to its end in large pieces.
package struct InputFile: ~Copyable {
    private let descriptor: Int32
    private let owned: Bool
    /// A regular file can be read twice; a pipe or a terminal can't.
    package let isRegular: Bool
    /// In bytes; 0 where it is not a regular file.
    package let size: UInt64

    /// - Throws: `SystemFailure` where there is no such file or it can't be read.
    package init(path: String) throws(SystemFailure) {
        // Opening a named pipe would block until a writer comes; `isReady` waits for it instead.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        if descriptor < 0 { throw SystemFailure(code: errno) }
        try self.init(descriptor: descriptor, owned: true)
    }

    /// Opens a regular file and nothing else: opening a pipe may let its writer go on, and opening a device may start it.
    /// - Throws: `SystemFailure` as for any file, `notRegularFile` where it is not a regular file.
    package static func regular(_ path: String) throws(SystemFailure) -> InputFile {
        var state = stat()
        if unsafe stat(path, &state) != 0 { throw SystemFailure(code: errno) }
        if state.st_mode & S_IFMT != S_IFREG { throw .notRegularFile }
        let file = try InputFile(path: path)
        if !file.isRegular { throw .notRegularFile }
        return file
    }

    /// Whether something is there that is no directory. It is not opened, because closing it again would send SIGPIPE to a pipe's writer.
    package static func isThere(_ path: String) -> Bool {
        var state = stat()
        return unsafe stat(path, &state) == 0 && state.st_mode & S_IFMT != S_IFDIR
    }

    /// Reads a descriptor from its current offset; it is not closed.
    package init(descriptor: Int32) throws(SystemFailure) { try self.init(descriptor: descriptor, owned: false) }

    private init(descriptor: Int32, owned: Bool) throws(SystemFailure) {
        var state = stat()
        let failed = unsafe fstat(descriptor, &state) != 0
        let code = errno
        (self.descriptor, self.owned) = (descriptor, owned)
        isRegular = !failed && state.st_mode & S_IFMT == S_IFREG && (owned || lseek(descriptor, 0, SEEK_CUR) == 0)
        size = isRegular ? UInt64(max(0, state.st_size)) : 0
        if failed { throw SystemFailure(code: code) }
        if state.st_mode & S_IFMT == S_IFDIR { throw SystemFailure(code: EISDIR) }
        if !Descriptor(descriptor).isReadable { throw SystemFailure(code: EBADF) }
    }

    deinit { if owned { close(descriptor) } }

    /// Appends the next bytes, at most `count`; returns how many, 0 at the end.
    package func read(into buffer: inout ByteBuffer, atMost count: Int) throws(SystemFailure) -> Int {
        while true {
            // Before a pipe's first writer has come, a read returns nothing, as at the end: wait for the writer.
            if owned { _ = isReady(withinMilliseconds: -1) }
            let got = unsafe buffer.extend(by: count) { unsafe Glibc.read(descriptor, $0, $1) }
            if got >= 0 { return got }
            // A regular file is always ready: EAGAIN from one is an error.
            if errno != EINTR && (errno != EAGAIN || isRegular) { throw SystemFailure(code: errno) }
        }
    }

    /// All bytes from here on; nil where there are more than `bytesMax`.
    package func all(atMost bytesMax: Int) throws(SystemFailure) -> [UInt8]? {
        var bytes = ByteBuffer(capacity: Int(min(size, UInt64(bytesMax))) + 1)
        while bytes.count <= bytesMax, try read(into: &bytes, atMost: min(64 << 10, bytesMax + 1 - bytes.count)) > 0 {}
        return bytes.count > bytesMax ? nil : bytes.array()
    }

    /// Whether a read returns within some milliseconds; always true for a regular file.
    package func isReady(withinMilliseconds timeout: Int32) -> Bool {
        if isRegular { return true }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, timeout) != 0
    }

    /// Goes back to the beginning of a regular file.
    package func rewind() throws(SystemFailure) {
        if lseek(descriptor, 0, SEEK_SET) < 0 { throw SystemFailure(code: errno) }
    }
}

/// The error of a system call.
package struct SystemFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// `errno`.
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// There is something else than a regular file.
    package static let notRegularFile = SystemFailure(code: EISDIR)

    package var isNotFound: Bool { code == ENOENT }
    package var isNotRegularFile: Bool { code == EISDIR }
    /// Whether there is no room just now.
    package var isBusy: Bool { code == EAGAIN }
    package var isAddressInUse: Bool { code == EADDRINUSE }
    /// Whether a file can't be started as a program, now or later.
    package var isNotExecutable: Bool { [ENOENT, EACCES, ENOEXEC, ENOTDIR, ELOOP, EISDIR].contains(code) }

    package var description: String { unsafe String(cString: strerror(code)) }
}
