internal import Glibc

/// Waits until one of some files is written to, by any process (inotify). Each write costs its writer more while somebody watches.
package final class FileWatch: Sendable {
    private let paths: [String]
    /// Negative where the system has no inotify instance left; `poll` ignores it then.
    private let descriptor: Int32
    /// The numbers of the watches by path; empty while nothing is watched.
    private let watches = Monitor<[String: Int32]>([:])
    /// Both ends of a pipe that ends a wait early.
    private let wakeEnd: Int32
    private let wakeStart: Int32

    /// Watches nothing before `start`.
    package init(_ paths: [String]) throws(StorageError) {
        self.paths = paths
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .system("starting to watch \(paths.first ?? "")") }
        (wakeEnd, wakeStart) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    }

    /// Notices each write from here on, also to a file that was created since the last call. Where the system has no watch left, each wait
    /// lasts its whole time.
    package func start() {
        defer { withExtendedLifetime(self) {} }
        watches.withLock { watches in
            if descriptor < 0 { return }
            for path in paths where watches[path] == nil {
                let number = unsafe inotify_add_watch(descriptor, path, UInt32(IN_MODIFY))
                if number >= 0 { watches[path] = number }
            }
        }
    }

    package func stop() {
        defer { withExtendedLifetime(self) {} }
        watches.withLock { watches in
            for number in watches.values { _ = inotify_rm_watch(descriptor, number) }
            watches = [:]
        }
    }

    deinit { for open in [descriptor, wakeEnd, wakeStart] where open >= 0 { close(open) } }

    /// Waits until a file was written to, `interrupt` was called or the time has passed; false if the time has passed.
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
