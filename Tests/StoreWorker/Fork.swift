import Glibc

/// Forking, with a child that can't outlive the test.
enum Fork {
    struct Failed: Error { let code: Int32 }

    /// 0 in the child, which a signal ends after five minutes whatever it is stuck in.
    static func child() throws -> pid_t {
        let child = fork()
        if child < 0 { throw Failed(code: errno) }
        if child == 0 { alarm(300) }
        return child
    }

    /// How the child ended, as `waitpid` says it: 0 is well, 14 the alarm.
    static func wait(for child: pid_t) -> Int32 {
        var status: Int32 = -1
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// This program anew, in the place of this process.
    static func become(_ arguments: [String]) throws -> Never {
        var words: [UnsafeMutablePointer<CChar>?] = unsafe (["StoreWorker"] + arguments).map { unsafe strdup($0) } + [nil]
        _ = unsafe execv("/proc/self/exe", &words)
        throw Failed(code: errno)
    }

    /// Straight to the output: what a buffer held at the fork would be written by both.
    static func say(_ line: String) {
        let text = Array("\(line)\n".utf8)
        _ = unsafe text.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}
