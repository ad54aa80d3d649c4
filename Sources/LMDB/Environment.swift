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
        /// Whether every commit is made durable; otherwise `sync()` does that. For a file that this call makes, in a directory that counts
        /// only after it is renamed.
        package var isSyncing = true
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

extension Environment {
    /// Opens the files. The registry has made sure that nothing in this process has them open.
    static func openNew(_ directory: String, _ configuration: Configuration) throws(StorageError) -> Environment {
        try LMDBLibrary.require()
        let data = directory + "/data.mdb"
        if try Directory.status(data) != nil {
            if configuration.readOnly { try copyUp(data) }
            if Guard.metaCheck.isOn { try MetaCheck.check(File(data, .read)) }
        } else if !configuration.creating {
            throw StorageError(ENOENT, "opening \(data)")
        }
        try makeLockFile(directory, readersMax: configuration.readersMax)
        // Order: nothing in this process has the file open, so no lock is lost if this fails and closes it again.
        let lockFile = try LockFile(directory)
        try lockFile?.fillHoles(readersMax: configuration.readersMax)
        let environment = try mapped(directory, configuration, lockFile)
        do {
            try environment.settle(creating: configuration.creating)
            _ = try environment.reapReaders()
            try environment.openTables(configuration)
            return environment
        } catch {
            try environment.closeFiles()
            throw error
        }
    }

    /// Makes an overlay file system copy a file of its lower layer up now, as it otherwise does when a process first opens the file for
    /// writing: a map that was made before shows nothing that is written afterwards. Opening the file is enough for that.
    private static func copyUp(_ path: String) throws(StorageError) {
        guard case .ephemeral("overlayfs", _) = try FileSystem.of(path) else { return }
        // What can't be copied can be read nevertheless; mostly nobody can write to it then.
        do throws(StorageError) { _ = try File(path, .write) } catch { if !error.isReadOnly && !error.isDiskFull { throw error } }
    }

    /// The most address space for a map: half of the 47-bit addresses that x86-64 and arm64 give a process.
    private static let addressesMax = 1 << 46
    /// The address space left to the rest of the program where the map is smaller than it should be.
    private static let addressesLeft = 64 << 20

    /// Opens with the map that was asked for, or with the largest that the address space allows.
    private static func mapped(
        _ directory: String, _ configuration: Configuration, _ lockFile: LockFile?
    ) throws(StorageError) -> Environment {
        let used = try Directory.status(directory + "/data.mdb")?.bytes ?? 0
        guard used <= addressesMax else { throw StorageError(ENOMEM, "mapping the \(used) bytes of \(directory)/data.mdb") }
        var flags = UInt32(MDB_NOTLS)
        if configuration.readOnly { flags |= UInt32(MDB_RDONLY) }
        if !configuration.isSyncing || !Guard.logSync.isOn { flags |= UInt32(MDB_NOSYNC) }
        var map = max(configuration.mapBytes, used + 1 << 16) / 65_536 * 65_536
        while true {
            try lockFile?.enter()
            var handle: OpaquePointer?
            try check(unsafe mdb_env_create(&handle), "opening \(directory)")
            guard let handle = unsafe handle else { throw StorageError(ENOMEM, "opening \(directory)") }
            var code = unsafe mdb_env_set_mapsize(handle, map)
            if code == 0 { code = unsafe mdb_env_set_maxdbs(handle, 64) }
            if code == 0 { code = unsafe mdb_env_set_maxreaders(handle, UInt32(configuration.readersMax)) }
            if code == 0 { code = unsafe mdb_env_open(handle, directory, flags, 0o600) }
            var stat = MDB_stat()
            if code == 0 { code = unsafe mdb_env_stat(handle, &stat) }
            let smaller = max(map / 2, used + used / 4 + 1 << 20) / 65_536 * 65_536
            let isTight = map < configuration.mapBytes && smaller < map && !ProcessMemory.hasAddresses(addressesLeft)
            if code == 0, isTight { code = ENOMEM }
            if code == 0 {
                do throws(StorageError) {
                    try lockFile?.sayOpen()
                    let environment = unsafe try Environment(directory, configuration, handle, lockFile, pageBytes: Int(stat.ms_psize))
                    if map < configuration.mapBytes {
                        configuration.notice(
                            "the address space has no room for a map of \(configuration.mapBytes) bytes: \(directory) has one of \(map)")
                    }
                    return environment
                } catch {
                    unsafe mdb_env_close(handle)
                    throw error
                }
            }
            // A handle that failed to open must be closed nevertheless; closing it drops the locks that this process has on the files.
            unsafe mdb_env_close(handle)
            if code != ENOMEM || smaller >= map { throw StorageError(lmdb: code, "opening \(directory)", at: directory) }
            map = smaller
        }
    }

    /// Opens the tables that are not open yet, making those that the file does not have.
    func openTables(_ configuration: Configuration) throws(StorageError) {
        let missing = configuration.tables.filter { name in tables.withLock { $0[name] == nil } }
        if missing.isEmpty { return }
        if try openTables(missing, configuration, making: false) { return }
        if isReadOnly { throw StorageError(lmdb: MDB_NOTFOUND, "opening the tables of \(directory)") }
        let turn = try takeTurn()
        defer { withExtendedLifetime(turn) {} }
        _ = try openTables(missing, configuration, making: true)
    }

    private func openTables(_ names: [String], _ configuration: Configuration, making: Bool) throws(StorageError) -> Bool {
        try enter()
        var isInside = true
        defer { if isInside { gate.leave() } }
        if !making { try awaitReaderTable() }
        var transaction: OpaquePointer?
        let begun = unsafe mdb_txn_begin(handle, nil, making ? 0 : UInt32(MDB_RDONLY), &transaction)
        if begun == MDB_MAP_RESIZED {
            gate.leave()
            isInside = false
            try adoptMap()
            return try openTables(names, configuration, making: making)
        }
        try check(begun, "opening the tables of \(directory)")
        var opened: [String: Table] = [:]
        for name in names {
            var table: UInt32 = 0
            let isOptional = configuration.optional.contains(name)
            let isMade = making && (configuration.creating || !configuration.required.contains(name) && !isOptional)
            let flags = (configuration.integerKeyTables.contains(name) ? MDB_INTEGERKEY : 0) | (isMade ? MDB_CREATE : 0)
            let code = unsafe mdb_dbi_open(transaction, name, UInt32(flags), &table)
            let mayLack = isOptional && !configuration.creating
            if code == MDB_NOTFOUND, mayLack { continue }
            if code != 0 {
                unsafe mdb_txn_abort(transaction)
                if code == MDB_NOTFOUND && !making { return false }
                throw StorageError(lmdb: code, "opening the table \(name) of \(directory)", at: directory)
            }
            opened[name] = Table(name: name, handle: table)
        }
        let code = unsafe mdb_txn_commit(transaction)
        if code != MDB_SUCCESS { throw failedCommit(code) }
        tables.withLock { $0.merge(opened) { $1 } }
        return true
    }

    /// Nil where turns are not leased, or where the page can't be made: then turns are only slower.
    static func turnPage(_ directory: String, _ configuration: Configuration) -> TurnPage? {
        guard configuration.leasesTurns else { return nil }
        do throws(StorageError) { return try TurnPage(directory) } catch {
            if !configuration.readOnly { configuration.notice("turns of writers take longer: \(error)") }
            return nil
        }
    }

    /// LMDB writes its lock file through a map: on a full disk that would raise a signal, so blocks are allocated for the file first.
    private static func makeLockFile(_ directory: String, readersMax: Int) throws(StorageError) {
        // False on a read-only file system, where LMDB reads without a lock file.
        _ = try makeOnce("lock.mdb", in: directory) { (file) throws(StorageError) in
            if Guard.lockRoom.isOn { try file.reserve((readersMax + 64) * 64) }
        }
    }

    /// Makes a missing file that processes share: it appears whole or not at all. False where the file system can't be written.
    static func makeOnce(_ name: String, in directory: String, _ fill: (File) throws(StorageError) -> Void) throws(StorageError) -> Bool {
        let path = directory + "/" + name
        if try Directory.status(path) != nil {
            try WholeFile.sweep(path)
            return true
        }
        // The name has no process id in it: a process in another container may have the same.
        do throws(StorageError) {
            let made = try WholeFile(amongOthers: path)
            do throws(StorageError) { try fill(made.file) } catch {
                made.discard()
                throw error
            }
            // False where another process has made the file first.
            _ = try made.add(.nothing)
            return true
        } catch {
            if error.isReadOnly { return false }
            throw error
        }
    }

    /// Sets close-on-exec, without which LMDB opens the data file, and the owner of a new file.
    private func settle(creating: Bool) throws(StorageError) {
        var descriptor: Int32 = -1
        try check(unsafe mdb_env_get_fd(handle, &descriptor), "opening \(directory)")
        if Guard.cloexec.isOn, fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 { throw .system("opening \(directory)") }
        if creating { try Directory.inheritOwner(descriptor, directory + "/data.mdb") }
    }
}

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
