internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Recovers a log whose last round was not ended, because of a power cut or because the last process that had it open was killed. An
/// interrupted recovery begins again from the start.
enum AheadRecovery {
    /// Whether a round is running, so that the log has to be recovered unless another process has it open.
    static func isDue(at store: String, _ storeID: StoreID) throws -> Bool { try header(at: store, storeID)?.base != nil }

    /// Whether the round was begun on this machine since its last boot: then what LMDB has written without syncing is still in its page
    /// cache.
    static func isOfThisBoot(at store: String, _ storeID: StoreID) throws -> Bool {
        try header(at: store, storeID)?.boot == WriteAhead.Header.bootDigest
    }

    private static func header(at store: String, _ storeID: StoreID) throws -> WriteAhead.Header? {
        let path = store + WriteAhead.fileName
        guard try Directory.status(path) != nil else { return nil }
        return try WriteAhead.header(of: File(path, .read), storeID)
    }

    /// Goes back to the commit that the round began with and applies the round's blocks; nobody may have the log open.
    /// - Returns: the round, which `finish` has to end; until then the next opening recovers again.
    /// - Throws: `EvstoreError`: keysRefused where rows of the store have codes and no key opens it.
    static func run(
        at store: String, _ storeID: StoreID, _ options: Options, _ tables: [TableDescriptor]
    ) throws -> WriteAhead.Header? {
        let file = try File(store + WriteAhead.fileName, .write)
        guard let header = try WriteAhead.header(of: file, storeID), let base = header.base else { return nil }
        let identity = try Manifest.identity(at: store)
        // Order: the keys are opened before anything is changed, since rows with codes can't be written without them.
        let keys = identity.hasCodes ? try StoreKeys.open(at: store, identity, options) : nil
        // Pages that were not synced may be torn; those of the commit that the round began with must not be.
        if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, asOf: base, tables) }
        // Order: the header of this round is made durable, whatever failed before, and only then its base is restored.
        var running = header
        running.hasFailed = false
        try WriteAhead.write(running, to: file)
        if Guard.baseRestore.isOn { try base.restore(to: File(store + "/log/data.mdb", .write)) }
        let environment = try EventLog.openEnvironment(store, options, readOnly: false, tables)
        defer { environment.close() }
        let access = try LogAccess(environment, of: identity, keys, tables)
        let entries = try file.read(
            WriteAhead.fileBytes - WriteAhead.entriesStart, at: WriteAhead.entriesStart)
        try environment.writeOwned { transaction in
            var transaction = transaction
            transaction.setSyncing(true)
            try takeIn(entries, round: header.round, &transaction, access, store)
        }
        try noteLoss(access, at: store)
        return running
    }

    static func finish(_ running: WriteAhead.Header, at store: String) throws {
        try WriteAhead.end(running, in: File(store + WriteAhead.fileName, .write))
    }

    /// Notes where a node's log ends now: its anchor may have become durable before the entries did.
    private static func noteLoss(_ access: LogAccess, at store: String) throws {
        try access.environment.read { transaction in
            guard try StateRows.node(transaction, access.tables) != nil else { return }
            let epoch = try StateRows.numbers(transaction, access.tables).epoch
            let last = Checkpoint(epoch: epoch, position: try Blocks.last(transaction, access))
            try LogFile.leaveAnchor(at: store, access.storeID, last, Blocks.endLink(transaction, access), isClosed: false)
        }
    }

    private static func takeIn(
        _ entries: [UInt8], round: UInt64, _ transaction: inout WriteTransaction, _ access: LogAccess, _ store: String
    ) throws {
        // What a node has lost of its unsynced entries comes again from the cluster log: what does not follow there is the end.
        let isNode = try StateRows.node(transaction.reads, access.tables) != nil
        var blocks = try BlockIntake(transaction.reads, access, isOfThisEpoch: true)
        var offset = 0
        while let frame = whole(entries.lent, at: offset, round) {
            let end = offset + WriteAhead.Frame.headerBytes + frame.blocksBytes
            var next = offset + WriteAhead.Frame.headerBytes
            do {
                while next < end { next += try blocks.add(entries.lent.slice(next, end - next), &transaction) }
            } catch let gap as BlockGap {
                if isNode { return }
                throw damaged(store, "the block at position \(gap.position) does not follow the one before it")
            } catch let error as EvstoreError {
                if case .corruptBlock = error, isNode { return }
                throw error
            }
            guard blocks.last == frame.last else {
                if isNode { return }
                throw damaged(store, "an entry that ends at position \(frame.last) ends at \(blocks.last)")
            }
            offset += frame.pagesBytes
        }
        if isNode { return }
        // A commit that was not finished is the last: nothing was written behind it.
        while offset < entries.count {
            if let frame = whole(entries.lent, at: offset, round), frame.first > blocks.last {
                throw damaged(store, "what was appended from position \(blocks.last.next) to \(frame.first.previous) is lost")
            }
            offset += WriteAhead.pageBytes
        }
    }

    /// An entry of the round whose checksum is right.
    private static func whole(_ entries: RawSpan, at offset: Int, _ round: UInt64) -> WriteAhead.Frame? {
        guard offset < entries.byteCount else { return nil }
        let rest = entries.slice(offset, entries.byteCount - offset)
        guard let frame = WriteAhead.Frame(rest, round: round), frame.blocksBytes + WriteAhead.frameBytes <= rest.byteCount else {
            return nil
        }
        let sum = WriteAhead.Frame.headerBytes + frame.blocksBytes
        return checksum(rest.slice(0, sum)) == rest.load(UInt64.self, at: sum) ? frame : nil
    }

    private static func damaged(_ store: String, _ reason: String) -> EvstoreError {
        .storeDamaged(path: store, reason: "log/ahead: " + reason)
    }
}
