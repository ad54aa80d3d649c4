internal import Bytes
internal import CEvstoreSystem
internal import Glibc

/// Another program, run by this process (POSIX `posix_spawn`). It starts with no signal blocked or
/// ignored, and inherits the open files of this process that are not close-on-exec.
package final class ChildProcess {
    package enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// The paths of the files that a program has as its standard streams.
    package struct StandardFiles: Sendable {
        /// An existing file that the program reads.
        package var input: String
        /// Files that the program writes, created or truncated first. Nil: the program inherits the stream of this process.
        package var output, errors: String?

        package init(input: String = "/dev/null", output: String?, errors: String?) {
            (self.input, self.output, self.errors) = (input, output, errors)
        }
    }

    package let id: Int32
    private var ending: Ending?

    /// - Parameters:
    ///   - environment: the whole environment of the program, as `NAME=value`.
    ///   - inOwnGroup: whether it gets a process group of its own, which a ^C of the terminal does not reach.
    /// - Throws: `SystemFailure` where the program can't be started.
    package init(
        _ path: String, _ arguments: [String], environment: [String], files: StandardFiles, inOwnGroup: Bool = false
    ) throws(SystemFailure) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, files.input, O_RDONLY, 0)
        for (descriptor, file) in [(1, files.output), (2, files.errors)] {
            guard let file else { continue }
            unsafe posix_spawn_file_actions_addopen(&actions, Int32(descriptor), file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The threads of a pool block most signals, and the program would inherit that.
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let group = inOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
        var started: pid_t = 0
        let code = unsafe Self.withTexts([path] + arguments) { arguments in
            unsafe Self.withTexts(environment) { environment in
                unsafe posix_spawn(&started, path, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw SystemFailure(code: code) }
        id = started
    }

    /// Lends texts as a null-terminated array of C strings.
    private static func withTexts<R>(_ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R) -> R {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe pointers.forEach { unsafe free($0) } }
        unsafe pointers.append(nil)
        return unsafe body(pointers)
    }

    package var isRunning: Bool {
        if ending == nil { look(WNOHANG) }
        return ending == nil
    }

    /// Waits some milliseconds, then says whether the program still runs; returns at once where it has ended already.
    package func isRunning(after milliseconds: Int32) -> Bool {
        if isRunning { _ = poll(nil, 0, milliseconds) }
        return isRunning
    }

    package func send(signal: Int32) { if ending == nil { kill(id, signal) } }

    /// Sends a signal to all processes of the program's group; the program was started `inOwnGroup`. Also works after the program itself
    /// has ended: its id is not given to another process while one of the group is left.
    package func sendGroup(signal: Int32) { kill(-id, signal) }

    package func groupEnds(within time: Duration) -> Bool {
        let end = Instant.now + time
        guard ends(within: time) else { return false }
        while kill(-id, 0) == 0 || errno != ESRCH {
            if Instant.now >= end { return false }
            _ = poll(nil, 0, 10)
        }
        return true
    }

    /// Whether the program ends within this time. Polls with growing pauses: the end is noticed late by at most the time waited so far, and
    /// by at most 50 ms.
    package func ends(within time: Duration) -> Bool {
        let end = Instant.now + time
        var milliseconds: Int32 = 1
        while isRunning(after: milliseconds) {
            let rest = Instant.now.duration(to: end)
            if rest <= .zero { return false }
            milliseconds = rest < .milliseconds(100) ? 1 : min(2 * milliseconds, 50)
        }
        return true
    }

    package func wait() -> Ending {
        while true {
            if let ending { return ending }
            look(0)
        }
    }

    private func look(_ options: Int32) {
        var status: Int32 = 0
        let found = unsafe waitpid(id, &status, options)
        if found < 0, errno == EINTR { return }
        // Another part of this process has waited for the program already: how it ended is unknown.
        if found < 0 { ending = .exit(-1) }
        if found == id { ending = status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f) }
    }
}

/// Bytes that another program reads as a file, and that lie on no disk (memfd_create(2)).
package enum MemoryFile {
    /// Calls `body` with a path by which a child of this process opens the file, while `body` runs.
    package static func lend<R>(_ bytes: [UInt8], _ body: (String) throws(SystemFailure) -> R) throws(SystemFailure) -> R {
        let descriptor = unsafe evstore_memory_file("evstore")
        if descriptor < 0 { throw SystemFailure(code: errno) }
        defer { close(descriptor) }
        try Descriptor(descriptor).write(bytes.lent)
        return try body("/proc/self/fd/\(descriptor)")
    }
}
