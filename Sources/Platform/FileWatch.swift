internal import Glibc

/// Waits until a file is written to, by any process (inotify).
package final class FileWatch: Sendable {
    /// Below zero, which `poll` ignores, where there is no watch.
    private let descriptor: Int32
    /// Both ends of a pipe that ends a wait early.
    private let wakeEnd: Int32
    private let wakeStart: Int32

    /// Where the system has no watch left, each wait lasts its whole time.
    package init(_ path: String) throws(StorageError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .system("starting to watch \(path)") }
        (wakeEnd, wakeStart) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let notes = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        if notes >= 0, unsafe inotify_add_watch(notes, path, UInt32(IN_MODIFY)) < 0 {
            close(notes)
            descriptor = -1
        } else {
            descriptor = notes
        }
    }

    deinit { for open in [descriptor, wakeEnd, wakeStart] where open >= 0 { close(open) } }

    /// Waits until the file was written to, `interrupt` was called or the time has passed; false where only that.
    @discardableResult
    package func wait(milliseconds: Int) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var files = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: wakeEnd, events: Int16(POLLIN), revents: 0)]
        guard unsafe poll(&files, 2, Int32(clamping: milliseconds)) > 0 else { return false }
        // What exactly changed does not matter: everything pending is read and dropped.
        var notes = [UInt8](repeating: 0, count: 4_096)
        while descriptor >= 0, unsafe read(descriptor, &notes, notes.count) > 0 {}
        while unsafe read(wakeEnd, &notes, notes.count) > 0 {}
        return true
    }

    package func interrupt() {
        defer { withExtendedLifetime(self) {} }
        var note: UInt8 = 1
        // A full pipe wakes the waiter as well as one more byte would.
        _ = unsafe write(wakeStart, &note, 1)
    }
}
