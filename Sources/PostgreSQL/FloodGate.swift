internal import Bytes
internal import Glibc
internal import Platform

/// Ends a connection whose server sends more than it may while libpq reads. Libpq gives the thread back only when nothing waits to be
/// read: a server that is quick enough has it take a whole message into memory, of the gibibyte that its head says.
///
/// A thread of its own looks at what has come, for as long as libpq reads an answer that has begun.
final class FloodGate: Sendable {
    private struct State {
        /// How many bytes may have come on the connection since it began; nil where libpq is not reading.
        var limit: Int?
        var isShut = false
        var isEnding = false
    }

    private static let lookMilliseconds = 2
    /// Another descriptor of the socket: libpq may close its own meanwhile, whose number another file then has.
    private let descriptor: Int32
    private let inode: UInt64
    private let state = Monitor(State())

    /// Nil where there is no descriptor or no thread left: then the answer is counted after it was read.
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

    /// Whether a descriptor is of the socket that is watched: libpq goes on to another one while it connects, which may get the number.
    func isOf(_ socket: Int32) -> Bool {
        defer { withExtendedLifetime(self) {} }
        return Self.inode(of: socket) == inode
    }

    /// Lets so many bytes come.
    func open(for bytes: Int) {
        defer { withExtendedLifetime(self) {} }
        let limit = Readiness.receivedBytes(descriptor).plus(bytes)
        state.change { $0.limit = limit }
    }

    /// Libpq has read what was there; false where more came than was let.
    func close() -> Bool {
        defer { withExtendedLifetime(self) {} }
        return state.withLock { state in
            state.limit = nil
            return !state.isShut
        }
    }

    private static func watch(_ descriptor: Int32, _ state: Monitor<State>) {
        while state.wait(until: { $0.limit != nil || $0.isEnding }, { !$0.isEnding }) {
            // Order: under the lock, so that nothing is ended that libpq has read to its end.
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
