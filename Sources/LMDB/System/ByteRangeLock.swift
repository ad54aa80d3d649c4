internal import Glibc

extension File {
    /// Takes an open-file-description lock on one byte (`fcntl(2)`, F_OFD_SETLK) without waiting;
    /// false where another holder is in the way. Goes when the file is closed.
    package func lock(byte: Int, shared: Bool) throws(LMDBError) -> Bool {
        try setLock(byte, Int16(shared ? F_RDLCK : F_WRLCK))
    }

    package func unlock(byte: Int) throws(LMDBError) {
        _ = try setLock(byte, Int16(F_UNLCK))
    }

    private func setLock(_ byte: Int, _ type: Int16) throws(LMDBError) -> Bool {
        // Linux: F_OFD_SETLK is 37; the C library hides it behind a feature macro.
        let setOpenFileLock: Int32 = 37
        var range = flock(l_type: type, l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1, l_pid: 0)
        while unsafe fcntl(descriptor, setOpenFileLock, &range) != 0 {
            if errno == EAGAIN || errno == EACCES { return false }
            if errno != EINTR { throw .system("locking \(path)") }
        }
        return true
    }
}
