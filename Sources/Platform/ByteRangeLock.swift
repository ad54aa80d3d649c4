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

    /// Whether another process has a lock on the byte.
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
