internal import CLMDB
package import Platform

extension Environment {
    /// Frees the slots of readers whose process has ended; returns how many were freed.
    @discardableResult
    package func clearStaleReaders() throws(StorageError) -> Int {
        try enter()
        defer { gate.leave() }
        return try reapReaders()
    }

    func reapReaders() throws(StorageError) -> Int {
        guard Guard.readerCheck.isOn else { return 0 }
        try awaitReaderTable()
        var dead: Int32 = 0
        try check(unsafe mdb_reader_check(handle, &dead), "looking for dead readers of \(directory)")
        return Int(dead)
    }

    /// Frees such slots in every environment that this process has open. Skips one whose map is growing instead of waiting: the thread that
    /// grows it clears its readers itself, and may be waiting for this thread.
    package static func clearAllStaleReaders() throws(StorageError) {
        for environment in Registry.shared.environments where environment.gate.enterIfOpen() {
            defer { environment.gate.leave() }
            _ = try environment.reapReaders()
        }
    }

    /// A reader, of any process, and the commit that it reads: no page that belongs to that commit is reused.
    package struct Reader: Hashable, Sendable {
        package let process: Int32
        package let transaction: UInt
    }

    /// The reader of the oldest commit; nil where there is no reader.
    package var oldestReader: Reader? {
        get throws(StorageError) {
            try enter()
            defer { gate.leave() }
            let list = ReaderList()
            let code = unsafe mdb_reader_list(
                handle,
                { line, context in
                    guard let line = unsafe line, let context = unsafe context else { return 0 }
                    unsafe Unmanaged<ReaderList>.fromOpaque(context).takeUnretainedValue().add(String(cString: line))
                    return 0
                }, Unmanaged.passUnretained(list).toOpaque())
            // It returns what the last call of the closure returned, or a negative code.
            if code < 0 { throw StorageError(lmdb: code, "asking for the readers of \(directory)") }
            return list.oldest
        }
    }
}

/// Collects the readers that LMDB prints: after a title one line each, with process, thread and commit in decimal, or `-` where no commit
/// is being read.
private final class ReaderList {
    private(set) var oldest: Environment.Reader?

    func add(_ line: String) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let process = Int32(words[0]), let transaction = UInt(words[2]) else { return }
        if oldest.map({ transaction < $0.transaction }) ?? true { oldest = Environment.Reader(process: process, transaction: transaction) }
    }
}

/// Keeps the pages of one commit from being reused while this object lives. Unlike a read transaction it lends nothing, so that the map may
/// move meanwhile; it must be released before the environment is closed.
@safe
package final class CommitPin: @unchecked Sendable {
    // Sound to share: the transaction is only ended, once.
    private let environment: Environment
    private let pointer: OpaquePointer
    /// The commit whose pages are kept.
    package let transaction: UInt

    init(_ environment: Environment) throws(StorageError) {
        var pointer: OpaquePointer?
        let doing = "keeping the last commit of \(environment.directory)"
        try environment.enter()
        defer { environment.gate.leave() }
        try environment.awaitReaderTable()
        try check(unsafe mdb_txn_begin(environment.handle, nil, UInt32(MDB_RDONLY), &pointer), doing)
        guard let pointer = unsafe pointer else { throw StorageError(lmdb: MDB_BAD_TXN, doing) }
        self.environment = environment
        unsafe self.pointer = unsafe pointer
        transaction = unsafe UInt(mdb_txn_id(pointer))
    }

    deinit {
        // In the child of a fork, the slot that this would free belongs to the parent.
        if environment.isOfThisProcess { unsafe mdb_txn_abort(pointer) }
    }
}

extension Environment {
    /// Pins the newest commit; in a write transaction that is the one before it. Nil where no reader slot is free.
    package func pin() throws(StorageError) -> CommitPin? {
        do throws(StorageError) { return try CommitPin(self) } catch {
            guard error.code == MDB_READERS_FULL else { throw error }
            return try reapReaders() > 0 ? pin() : nil
        }
    }
}
