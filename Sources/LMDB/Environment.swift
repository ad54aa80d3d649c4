internal import CLMDB
internal import Glibc
package import Platform
internal import Synchronization

/// One LMDB environment: a directory with `data.mdb` and `lock.mdb`, open once in this process.
@safe
package final class Environment: @unchecked Sendable {
    // Sound to share: LMDB's environment handle may be used from any thread, and `gate` keeps transactions away from operations that must
    // run without any.
    package struct Configuration: Sendable {
        package var tables: [String]
        /// Tables whose keys are native unsigned 64-bit integers.
        package var integerKeyTables: Set<String>
        /// Tables that only `creating` makes: a file that lacks one is damaged. Other missing tables are made.
        package var required: Set<String> = []
        /// Tables that are opened where they exist, and made by `creating` alone.
        package var optional: Set<String> = []
        /// Address space to reserve; the map grows by itself when it is full.
        package var mapBytes: Int
        package var readersMax: Int
        package var readOnly: Bool
        /// Makes `data.mdb` where it is missing; otherwise a missing file is an error.
        package var creating: Bool
        /// Whether a writer that takes turn after turn keeps its lock in between. Whoever sets this must end the lease (`endLease`).
        package var leasesTurns = false
        /// Called with a sentence where something could not be done as requested.
        package var notice: @Sendable (String) -> Void = { _ in }

        package init(
            tables: [String], integerKeyTables: Set<String> = [], mapBytes: Int, readersMax: Int = 512, readOnly: Bool = false,
            creating: Bool = false
        ) {
            (self.tables, self.integerKeyTables, self.mapBytes) = (tables, integerKeyTables, mapBytes)
            (self.readersMax, self.readOnly, self.creating) = (readersMax, readOnly, creating)
        }
    }

    package let directory: String
    package let isReadOnly: Bool
    let pageBytes: Int
    let handle: OpaquePointer
    private let process = ProcessIdentity.id
    let gate = TransactionGate()
    let idleReaders = IdleReaders()
    /// The thread that has the turn to write, and whether the lock is leased.
    let turns = Monitor(Turns())
    /// Nil where turns are not leased, or the file system can't be written.
    package let turnPage: TurnPage?
    /// The length of the file when it was last asked for; the file never gets shorter.
    let fileBytes = Atomic(0)
    let tables = Monitor<[String: Table]>([:])
    let places: [FileIdentity]
    private let sources = Monitor<(any AheadSource)?>(nil)
    /// Nil where LMDB uses no lock file.
    let lockFile: Monitor<LockFile?>
    /// Nil where LMDB has no such mutex, or where in the file it lies is unknown.
    private let readerMutex: ReaderMutex?
    let notice: @Sendable (String) -> Void

    /// Owns the handle unless it throws.
    init(
        _ directory: String, _ configuration: Configuration, _ handle: OpaquePointer, _ lockFile: LockFile?, pageBytes: Int
    ) throws(StorageError) {
        places = try FileIdentity.all(in: directory)
        self.lockFile = Monitor(lockFile)
        turnPage = Self.turnPage(directory, configuration)
        readerMutex = try lockFile.flatMap { lockFile throws(StorageError) in try ReaderMutex(lockFile) }
        notice = configuration.notice
        self.directory = directory
        isReadOnly = configuration.readOnly
        self.pageBytes = pageBytes
        unsafe self.handle = unsafe handle
    }

    /// Opens the environment, or returns the one that this process has open already.
    package static func open(directory: String, _ configuration: Configuration) throws(StorageError) -> Environment {
        try Registry.shared.open(directory, configuration)
    }

    /// Ends one `open`; the last one waits for running transactions and closes the files. Does nothing in the child of a fork: the files
    /// are its parent's. If the calling thread holds a transaction itself, the files stay open and `notice` says so: waiting would never
    /// end.
    package func close() { if isOfThisProcess { Registry.shared.close(self) } }

    /// False in the child of a fork, where LMDB forbids every use of the handle, even closing it.
    package var isOfThisProcess: Bool { process == ProcessIdentity.id || !Guard.fork.isOn }

    package func checkProcess() throws(StorageError) {
        if !isOfThisProcess { throw StorageError(misuse: "\(directory) was opened before a fork; open it again in the child") }
    }

    /// Begins a use of the handle; `gate.leave()` ends it.
    func enter() throws(StorageError) {
        // Order: the process is checked before the gate, whose lock a thread of the parent may have held at the fork.
        try checkProcess()
        try gate.enter()
    }

    /// Waits until LMDB's table of readers may be changed: before a read that has no slot yet, and before slots of dead processes are
    /// freed.
    /// - Throws: `StorageError` with `waited` where another process does not finish its change.
    func awaitReaderTable() throws(StorageError) {
        try readerMutex?.awaitFree { (process) throws(StorageError) in
            try lockFile.withLock { (file) throws(StorageError) in try file?.isOpen(in: process) ?? false }
        }
    }

    /// - Throws: where LMDB's own locks were lost.
    func checkLocks() throws(StorageError) { try lockFile.withLock { $0 }?.check() }

    /// - Throws: where this thread holds a transaction. Nothing is closed then.
    func closeFiles() throws(StorageError) {
        try gate.close()
        idleReaders.removeAll()
        lockFile.withLock { lockFile in
            // Order: this lock goes first, so that no other process finds it without LMDB's own.
            lockFile?.sayClosed()
            unsafe mdb_env_close(handle)
            // Order: this comes before the registry lets another environment open the file, since closing it drops every lock that this
            // process has on the file.
            lockFile = nil
        }
    }

    /// Knows which rows follow those of the file; nil where none do.
    package var aheadSource: (any AheadSource)? { sources.withLock { $0 } }

    /// Sets the source of such rows unless there is one already; returns the current one.
    package func joinAhead(_ make: () -> any AheadSource) -> any AheadSource {
        sources.withLock { source in
            let joined = source ?? make()
            source = joined
            return joined
        }
    }

    /// The page that the environment's processes share, also for a process that may only read it; nil where it does not exist.
    package func sharedPage() throws(StorageError) -> SharedPage? {
        if let turnPage { return turnPage.page }
        return try TurnPage.lookOnly(directory)
    }

    /// The number of the newest commit.
    package var lastTransaction: UInt64 { get throws(StorageError) { try UInt64(usage.transaction) } }

    /// A table that was named at `open`; nil where the file lacks it and was allowed to.
    package func find(_ name: String) -> Table? { tables.withLock { $0[name] } }

    /// A table that was named at `open`.
    package func table(_ name: String) throws(StorageError) -> Table {
        guard let table = find(name) else { throw StorageError(misuse: "\(directory) was opened without the table \(name)") }
        return table
    }

    /// Sets whether every commit is made durable, as after opening, or `sync()` does that. Only for the environment's sole writer, and for
    /// data that can be built again.
    package func setSyncing(_ isSyncing: Bool) throws(StorageError) {
        try enter()
        defer { gate.leave() }
        try check(unsafe mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), isSyncing ? 0 : 1), "setting the syncing of \(directory)")
    }

    /// Makes all commits durable, for an environment that does not sync them itself.
    package func sync() throws(StorageError) {
        try enter()
        defer { gate.leave() }
        if Guard.logSync.isOn { try check(unsafe mdb_env_sync(handle, 1), "syncing \(directory)") }
    }

    /// How much memory and disk the environment uses.
    package struct Usage: Hashable, Sendable {
        package var pageBytes: Int
        /// Pages used so far, which is the file's size in pages.
        package var pages: Int
        package var mapBytes: Int
        package var readers: Int
        package var readersMax: Int
        /// The newest committed transaction.
        package var transaction: UInt
    }

    package var usage: Usage {
        get throws(StorageError) {
            try enter()
            defer { gate.leave() }
            var info = unsafe MDB_envinfo()
            try check(unsafe mdb_env_info(handle, &info), "asking \(directory) for its size")
            return unsafe Usage(
                pageBytes: pageBytes, pages: Int(info.me_last_pgno) + 1, mapBytes: Int(info.me_mapsize),
                readers: Int(info.me_numreaders), readersMax: Int(info.me_maxreaders), transaction: UInt(info.me_last_txnid))
        }
    }
}

/// Turns LMDB's return code into an error unless it is success.
@inline(__always)
func check(_ code: Int32, _ doing: @autoclosure () -> String) throws(StorageError) {
    if code != MDB_SUCCESS { throw StorageError(lmdb: code, doing()) }
}

/// A named table of an environment, open for as long as the environment is.
package struct Table: Hashable, Sendable {
    package let name: String
    let handle: UInt32
}
