internal import Glibc

extension File {
    /// Takes an open-file-description lock on one byte (`fcntl(2)`, F_OFD_SETLK) without waiting; false where another holder
    /// has it. The lock ends when the file is closed; the child of a fork does not keep it (`LockedFiles`).
    package func lock(byte: Int, shared: Bool) throws(StorageError) -> Bool {
        LockedFiles.add(descriptor)
        return try setLock(byte, Int16(shared ? F_RDLCK : F_WRLCK))
    }

    package func unlock(byte: Int) throws(StorageError) {
        _ = try setLock(byte, Int16(F_UNLCK))
    }

    /// Releases all locks of an open file description: those on bytes and the one on the whole file (`flock(2)`).
    static func giveUpLocks(_ descriptor: Int32) {
        var all = flock(l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
        _ = unsafe fcntl(descriptor, setOpenFileLock, &all)
        _ = flock(descriptor, LOCK_UN)
    }

    /// Runs `body` while holding the exclusive lock on a byte; false where another holder keeps it for all of `milliseconds`.
    package func alone(byte: Int, waiting milliseconds: Int, _ body: () throws -> Void) throws -> Bool {
        for waited in 0 ... milliseconds {
            if waited > 0 { _ = Monitor(false).wait(milliseconds: 1) { $0 } }
            guard try lock(byte: byte, shared: false) else { continue }
            let result = Result { try body() }
            try unlock(byte: byte)
            try result.get()
            return true
        }
        return false
    }

    /// Whether another open file description, or a process (this one included), has a lock on the byte.
    package func isLocked(byte: Int) throws(StorageError) -> Bool { try asksLock(byte, Self.getOpenFileLock) }

    /// Takes an exclusive lock of the process (F_SETLK); false where another process has one.
    package func lockForProcess(byte: Int) throws(StorageError) -> Bool { try setLock(byte, Int16(F_WRLCK), F_SETLK) }

    package func unlockForProcess(byte: Int) throws(StorageError) { _ = try setLock(byte, Int16(F_UNLCK), F_SETLK) }

    /// The other process that has a lock on the byte; nil where none has one, 0 or less where the kernel does not say which.
    package func processWithLock(byte: Int) throws(StorageError) -> Int32? {
        let found = try askLock(byte, F_GETLK)
        return found.l_type == Int16(F_UNLCK) ? nil : found.l_pid
    }

    package func isLockedByOtherProcess(byte: Int) throws(StorageError) -> Bool { try asksLock(byte, F_GETLK) }

    // F_OFD_GETLK and F_OFD_SETLK of Linux, which the C library hides behind a feature macro.
    private static let getOpenFileLock: Int32 = 36
    private static let setOpenFileLock: Int32 = 37

    private func asksLock(_ byte: Int, _ question: Int32) throws(StorageError) -> Bool {
        try askLock(byte, question).l_type != Int16(F_UNLCK)
    }

    private func askLock(_ byte: Int, _ question: Int32) throws(StorageError) -> flock {
        defer { withExtendedLifetime(self) {} }
        var range = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1, l_pid: 0)
        while unsafe fcntl(descriptor, question, &range) != 0 {
            if errno != EINTR { throw .system("asking for the locks of \(path)") }
        }
        return range
    }

    private func setLock(_ byte: Int, _ type: Int16, _ command: Int32 = setOpenFileLock) throws(StorageError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var range = flock(l_type: type, l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1, l_pid: 0)
        while unsafe fcntl(descriptor, command, &range) != 0 {
            if errno == EAGAIN || errno == EACCES { return false }
            if errno != EINTR { throw .system("locking \(path)") }
        }
        return true
    }
}

/// The process that holds a lock on a byte of a file.
package struct LockHolder: Hashable, Sendable {
    package let process: Int32
    package let isShared: Bool

    package init(process: Int32, isShared: Bool) { (self.process, self.isShared) = (process, isShared) }

    /// Whether a signal or a debugger has stopped the process (states `T` and `t` of `/proc/PID/stat`, `proc_pid_stat(5)`); false where it
    /// is gone.
    package var isStopped: Bool {
        do throws(StorageError) {
            let stat = try File("/proc/\(process)/stat", .read).read(4_096)
            // The program's name stands before the state, in brackets, and may hold any byte.
            guard let name = stat.lastIndex(of: UInt8(ascii: ")")), stat.count > name + 2 else { return false }
            return [UInt8(ascii: "T"), UInt8(ascii: "t")].contains(stat[name + 2])
        } catch { return false }
    }

    /// Whether the control group of the process is frozen (`cgroup.events` of version 2, `cgroups(7)`), as that of a paused container is;
    /// the state of the process does not show it. False where the process is gone, or this process can't see its group.
    package var isFrozen: Bool {
        do throws(StorageError) {
            let mounts = String(decoding: try File("/proc/self/mounts", .read).read(1 << 20), as: UTF8.self)
            let groups = String(decoding: try File("/proc/\(process)/cgroup", .read).read(65_536), as: UTF8.self)
            let mount = mounts.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.count > 2 && $0[2] == "cgroup2" }
            guard let mount, let group = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return false }
            let events = try File("\(mount[1])\(group.dropFirst(3))/cgroup.events", .read).read(4_096)
            return String(decoding: events, as: UTF8.self).split(separator: "\n").contains("frozen 1")
        } catch { return false }
    }
}

extension File {
    /// The process that has a lock on the byte, as the kernel lists the locks of open files in `/proc/PID/fdinfo` (`proc_pid_fdinfo(5)`);
    /// another process goes before this one. Nil where no process has the lock any more, or the one that has it can't be seen from here:
    /// another user's, or one of another container.
    ///
    /// Unless the expected process holds the lock, this looks at all open files of all processes: meant for messages, after a lock was
    /// refused.
    package func lockHolder(byte: Int, expecting process: Int32? = nil) throws(StorageError) -> LockHolder? {
        let inode = try status().inode
        // Without /proc no process can be seen.
        let processes = Self.orNothing { () throws(StorageError) in try Directory.names("/proc") }.compactMap(Int32.init)
        let order = (process.map { [$0] } ?? []).filter { $0 != ProcessIdentity.id } + processes.filter { $0 != ProcessIdentity.id }
        for process in order + [ProcessIdentity.id] {
            if let found = Self.holder(process, byte, of: inode) { return found }
        }
        return nil
    }

    /// "process 42 (doing something)", or as much of it as is known.
    package func lockHolderWords(byte: Int, doing what: String) throws(StorageError) -> String {
        "\(try lockHolder(byte: byte).map { "process \($0.process)" } ?? Self.unknownHolder) (\(what))"
    }

    /// How messages name a holder that this process can't see.
    package static var unknownHolder: String { "a process that is gone, or is another user's or container's" }

    private static func holder(_ process: Int32, _ byte: Int, of inode: UInt64) -> LockHolder? {
        let directory = "/proc/\(process)/fdinfo/"
        for descriptor in orNothing({ () throws(StorageError) in try Directory.names(directory) }) {
            let text = orNothing { () throws(StorageError) in try File(directory + descriptor, .read).read(4_096) }
            for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
                if let isShared = isShared(line, byte, inode) { return LockHolder(process: process, isShared: isShared) }
            }
        }
        return nil
    }

    /// Empty where the file or the process is gone meanwhile, or this process may not look.
    private static func orNothing<Element>(_ body: () throws(StorageError) -> [Element]) -> [Element] {
        do throws(StorageError) { return try body() } catch { return [] }
    }

    /// Whether a line such as `lock: 1: OFDLCK ADVISORY WRITE -1 08:01:2342 4294967297 4294967297` says that the lock is shared; nil where
    /// the line is of another inode or byte, or no such lock.
    private static func isShared(_ line: Substring, _ byte: Int, _ inode: UInt64) -> Bool? {
        guard line.hasPrefix("lock:"), line.contains("OFDLCK") else { return nil }
        let words = line.split(separator: " ")
        let place = words.suffix(3).map(String.init)
        guard place.count == 3, place[0].hasSuffix(":\(inode)"), place[1] == "\(byte)" else { return nil }
        return words.contains("READ")
    }
}
