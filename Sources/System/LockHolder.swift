extension File {
    /// Which process has a lock on the byte, as the kernel tells it of open files in `/proc/PID/fdinfo` (`proc_pid_fdinfo(5)`). Nil where
    /// nobody has it any more, or one has whose files this process may not look at: another user's, or one of another container.
    ///
    /// Looks at all open files of all processes, where it is not the one that is expected: for messages, when somebody is in the way.
    package func lockHolder(byte: Int, expecting process: Int32? = nil) throws(StorageError) -> Int32? {
        let inode = try status().inode
        if let process, Self.holds(process, byte, of: inode) { return process }
        return try Directory.names("/proc").compactMap(Int32.init).first { Self.holds($0, byte, of: inode) }
    }

    /// "process 42 (doing something)", or as much of it as can be told.
    package func lockHolderWords(byte: Int, doing what: String) throws(StorageError) -> String {
        "\(try lockHolder(byte: byte).map { "process \($0)" } ?? Self.unseen) (\(what))"
    }

    /// How messages call a holder that this process can't see.
    package static var unseen: String { "a process that is gone, or is another user's or container's" }

    private static func holds(_ process: Int32, _ byte: Int, of inode: UInt64) -> Bool {
        let directory = "/proc/\(process)/fdinfo/"
        return orNothing { () throws(StorageError) in try Directory.names(directory) }.contains { descriptor in
            let text = orNothing { () throws(StorageError) in try File(directory + descriptor, .read).read(4_096) }
            return String(decoding: text, as: UTF8.self).split(separator: "\n").contains { tells($0, byte, inode) }
        }
    }

    /// Nothing where the file or the process is gone meanwhile, or this process may not look.
    private static func orNothing<Element>(_ body: () throws(StorageError) -> [Element]) -> [Element] {
        do throws(StorageError) { return try body() } catch { return [] }
    }

    /// Whether a line is `lock: 1: OFDLCK ADVISORY WRITE -1 08:01:2342 4294967297 4294967297` of the inode and the byte.
    private static func tells(_ line: Substring, _ byte: Int, _ inode: UInt64) -> Bool {
        guard line.hasPrefix("lock:"), line.contains("OFDLCK") else { return false }
        let place = line.split(separator: " ").suffix(3).map(String.init)
        return place.count == 3 && place[0].hasSuffix(":\(inode)") && place[1] == "\(byte)"
    }
}
