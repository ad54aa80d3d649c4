internal import Bytes
internal import Glibc
internal import Platform

/// Ends a connection whose server sends more than it may while libpq reads. Libpq returns only when no more bytes wait to be read: a fast
/// server could make it read a whole message into memory, of up to a gibibyte, as the message's header says.
///
/// A thread of its own looks at how much has come, while libpq reads an answer that has begun.
final class ReceiveLimiter: Sendable {
    private struct State {
        /// How many bytes may have come since the connection began; nil while libpq is not reading.
        var limit: Int?
        var isShut = false
        var isEnding = false
    }

    private static let lookMilliseconds = 2
    /// A descriptor of its own for the socket: libpq may close its descriptor meanwhile, and another file may get that number.
    private let descriptor: Int32
    private let inode: UInt64
    private let state = Monitor(State())

    /// Nil where no descriptor or thread is left: then the answer is counted after it was read.
    init?(_ socket: Int32) {
        descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 3)
        inode = Self.inode(of: socket)
        if descriptor < 0 { return nil }
        do throws(StorageError) {
            _ = try WorkerThread.start("evstore-flood") { [state, descriptor] in Self.watch(descriptor, state) }
        } catch {
            Glibc.close(descriptor)
            return nil
        }
    }

    deinit { state.change { $0.isEnding = true } }

    private static func inode(of socket: Int32) -> UInt64 {
        var status = stat()
        return unsafe fstat(socket, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// Whether a descriptor belongs to the watched socket: while it connects, libpq may go on to another socket, which may get the same
    /// number.
    func isOf(_ socket: Int32) -> Bool {
        defer { withExtendedLifetime(self) {} }
        return Self.inode(of: socket) == inode
    }

    /// Allows this many more bytes.
    func open(for bytes: Int) {
        defer { withExtendedLifetime(self) {} }
        let limit = Readiness.receivedBytes(descriptor).plus(bytes)
        state.change { $0.limit = limit }
    }

    /// Called when libpq has read what was there; false where more bytes came than were allowed.
    func close() -> Bool {
        defer { withExtendedLifetime(self) {} }
        return state.withLock { state in
            state.limit = nil
            return !state.isShut
        }
    }

    private static func watch(_ descriptor: Int32, _ state: Monitor<State>) {
        while state.wait(until: { $0.limit != nil || $0.isEnding }, { !$0.isEnding }) {
            // Order: under the lock, so that no connection is ended after libpq has read everything.
            state.withLock { state in
                guard let limit = state.limit, !state.isShut, Readiness.receivedBytes(descriptor) > limit else { return }
                shutdown(descriptor, Int32(SHUT_RDWR))
                state.isShut = true
            }
            _ = state.wait(milliseconds: lookMilliseconds) { $0.isEnding }
        }
        Glibc.close(descriptor)
    }
}
