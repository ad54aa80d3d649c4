internal import Bytes
internal import Glibc

/// An open file, pipe or terminal of this process that is written to, by its number. Opening and closing
/// are the owner's business.
package struct Descriptor: Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    package static let standardOutput = Descriptor(1)
    package static let standardError = Descriptor(2)

    /// Writes all bytes; goes on after calls that were interrupted or wrote only some.
    package func write(_ bytes: RawSpan) throws(SystemFailure) {
        var written = 0
        while written < bytes.byteCount {
            let rest = bytes.slice(written, bytes.byteCount - written)
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            let code = errno
            if count < 0 {
                if code == EINTR { continue }
                throw SystemFailure(code: code)
            }
            written += count
        }
    }

    /// Whether it is a file, pipe, socket or device, and not an object of the kernel's that has no type: a process that was started without
    /// a standard stream may have opened one of those under its number.
    package var isStream: Bool {
        var state = stat()
        return unsafe fstat(number, &state) == 0 && state.st_mode & S_IFMT != 0
    }

    /// Whether it is such a stream and was opened for reading.
    package var isReadable: Bool { isStream && fcntl(number, F_GETFL) & O_ACCMODE != O_WRONLY }

    /// Occupies the numbers of the standard streams that the process was started without, so that none of its own files gets one of them.
    /// Reading the first and writing to the others fails, as without them.
    package static func occupyStandardStreams() {
        for number in Int32(0) ... 2 where fcntl(number, F_GETFD) < 0 {
            // A new file has the lowest number that is free.
            _ = unsafe open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Fails where this process can't have so many more open files at once.
    package static func require(_ count: Int) throws(StorageError) {
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        while copies.count < count {
            let copy = dup(standardError.number)
            if copy < 0 { throw .system("opening files") }
            copies.append(copy)
        }
    }

    package var isTerminal: Bool { isatty(number) == 1 }

    /// The width of the terminal, where this is one.
    package var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}

extension SystemFailure {
    /// The other end of a pipe has gone.
    package static let brokenPipe = SystemFailure(code: EPIPE)
}
