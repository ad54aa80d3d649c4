internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// Moves into LMDB what a power cut, or the kill of the last process that had the log open, has left in `log/ahead`. After an interruption
/// the recovery begins again from the start.
enum AheadRecovery {
    /// Whether there may be entries that LMDB lacks, so that the log must be recovered unless another process has it open.
    static func isDue(at store: String, _ storeID: StoreID) throws -> Bool {
        guard let file = try file(store, .read) else { return false }
        // An older program continues its rounds after a recovery by this one, which removes their headers.
        if let older = try OlderRound.header(of: file, storeID, at: store) {
            return try older.base != nil || WriteAhead.Header(file.read(WriteAhead.Header.bytes))?.isOpen == true
        }
        return try isOpen(file)
    }

    /// Whether the header says that entries may follow, in a store that no older program has open.
    static func isOpen(at store: String) throws(StorageError) -> Bool {
        guard let file = try file(store, .read) else { return false }
        return try isOpen(file)
    }

    private static func isOpen(_ file: File) throws(StorageError) -> Bool {
        let bytes = try file.read(WriteAhead.Header.bytes)
        // A header that was torn by a power cut counts as open.
        return WriteAhead.Header(bytes)?.isOpen ?? bytes.contains { $0 != 0 }
    }

    /// Whether the entries were left on this machine since its last boot: then the page cache still has everything that LMDB has written,
    /// and the shared page says what is acknowledged.
    static func isOfThisBoot(at store: String, _ storeID: StoreID) throws -> Bool {
        guard let file = try file(store, .read) else { return false }
        let older = try OlderRound.header(of: file, storeID, at: store)
        let boot = try older?.base != nil ? older?.boot : WriteAhead.Header(file.read(WriteAhead.Header.bytes))?.boot
        return boot == WriteAhead.Header.bootDigest
    }

    private static func file(_ store: String, _ access: File.Access) throws(StorageError) -> File? {
        let path = store + WriteAhead.fileName
        return try Directory.status(path) == nil ? nil : File(path, access)
    }

    /// Recovers the log; no other process may have it open.
    /// - Throws: `EvstoreError`: keysRefused where rows of the store have codes and no key opens it.
    static func run(at store: String, _ storeID: StoreID, _ options: Options) throws {
        guard let file = try file(store, .write) else { return }
        let identity = try Manifest.identity(at: store)
        // Order: the keys are opened before anything is changed, since rows with codes can't be written without them.
        let keys = identity.hasCodes ? try StoreKeys.open(at: store, identity, options) : nil
        if try !OlderRound.apply(file, store, identity, keys, options) {
            if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store) }
            let bytes = try file.read(WriteAhead.fileBytes)
            try change(store, identity, keys, options) { transaction, access in try apply(bytes, &transaction, access, store) }
        }
        // Order: LMDB holds everything durably by now.
        try file.write([UInt8](repeating: 0, count: WriteAhead.pageBytes), at: WriteAhead.pageBytes)
        try WriteAhead.Header(storeID, isOpen: false).write(to: file)
        // The pages were checked where that was needed, but the recovery has changed the file.
        try LogFile.markChecked(at: store)
    }

    /// Changes the log in one durable transaction. In a node it then notes the log's end: the anchor may have become durable before the
    /// entries did.
    /// - Parameter keys: nil where rows have no codes.
    static func change(
        _ store: String, _ identity: StoreIdentity, _ keys: StoreKeys?, _ options: Options,
        _ body: (inout WriteTransaction, LogAccess) throws -> Void
    ) throws {
        let environment = try EventLog.openEnvironment(store, options, readOnly: false)
        defer { environment.close() }
        var identity = identity
        // No other process has the log open: entries ahead are read by the recovery itself, and not through the view of readers.
        identity.goesAhead = false
        let access = try LogAccess(environment, of: identity, keys)
        try environment.write { transaction in
            try body(&transaction, access)
            // Order: written even if it changes nothing, so that there is a commit: the newest one may not be durable.
            let numbers = try StateRows.numbers(transaction.reads, access.tables)
            try StateRows.put(indexed: numbers.indexed, &transaction, access.tables)
        }
        // Order: the page is cleared only after LMDB has what the page was needed for.
        if let page = environment.turnPage?.page {
            try AheadPage(page, access.storeID, at: store).begin()
        } else if try environment.sharedPage() != nil {
            throw EvstoreError.ioFailure(doing: "recovering \(store)", reason: "log/turn can't be written")
        }
        try environment.read { transaction in
            guard try StateRows.node(transaction, access.tables) != nil else { return }
            let last = try Blocks.end(transaction, access)
            try LogFile.writeAnchor(at: store, access.storeID, last, Blocks.endLink(transaction, access), isClosed: false)
        }
    }

    private static func apply(_ bytes: [UInt8], _ transaction: inout WriteTransaction, _ access: LogAccess, _ store: String) throws {
        let epoch = try StateRows.numbers(transaction.reads, access.tables).epoch
        var node = try StateRows.node(transaction.reads, access.tables)
        var recovered = RecoveredBlocks(
            try BlockIntake(transaction.reads, access, isOfThisEpoch: true), isNode: node != nil, store)
        var walk = WriteAhead.Walk(access.storeID.tag, epoch)
        func whole(at offset: Int) -> WriteAhead.Entry? {
            offset < bytes.count ? WriteAhead.Entry(whole: bytes.lent.slice(offset, bytes.count - offset)) : nil
        }
        reading: while let entry = whole(at: walk.offset) {
            let step = walk.step(entry, after: recovered.last)
            switch step {
            case .known: break
            case .new:
                let rest = bytes.lent.slice(walk.offset, bytes.count - walk.offset)
                let blocks = rest.slice(WriteAhead.Entry.headerBytes, entry.blocksBytes)
                if try !recovered.add(blocks, through: entry.last, &transaction) { break reading }
                if entry.isOfNode, let found = AheadBlocks.node(AheadBlocks.note(rest)) {
                    node?.end = found.end
                    node?.last = found.last
                }
            case .end: break reading
            }
            walk.go(past: entry, step)
        }
        if let node { return try StateRows.put(node, &transaction, access.tables) }
        // An unfinished commit is the last one: nothing was written after it.
        for offset in stride(from: walk.offset, to: bytes.count, by: WriteAhead.pageBytes) {
            if let entry = whole(at: offset), walk.isOfThis(entry) { try recovered.requireNothing(from: entry.first) }
        }
    }
}

/// Takes in the blocks of entries, one after the other.
struct RecoveredBlocks {
    private var blocks: BlockIntake
    /// A node gets unsynced entries that it has lost again from the cluster log: if an entry does not follow, the log ends there.
    private let isNode: Bool
    private let store: String

    init(_ blocks: BlockIntake, isNode: Bool, _ store: String) { (self.blocks, self.isNode, self.store) = (blocks, isNode, store) }

    var last: Position { blocks.last }

    /// Takes in the blocks of an entry; false where a node's log ends before it.
    mutating func add(_ bytes: RawSpan, through last: Position, _ transaction: inout WriteTransaction) throws -> Bool {
        let gap: Position?
        do { gap = try blocks.add(bytes, &transaction) } catch EvstoreError.corruptBlock where isNode { return false }
        if let gap {
            if isNode { return false }
            throw damaged("the block at position \(gap) does not follow the one before it")
        }
        if blocks.last == last { return true }
        if isNode { return false }
        throw damaged("an entry that ends at position \(last) ends at \(blocks.last)")
    }

    /// - Throws: `EvstoreError.storeDamaged` where events from a position on exist and those before them don't.
    func requireNothing(from first: Position) throws {
        if first <= blocks.last { return }
        throw damaged("what was appended from position \(blocks.last.next) to \(first.previous) is lost")
    }

    private func damaged(_ reason: String) -> EvstoreError { .storeDamaged(path: store, reason: "log/ahead: " + reason) }
}
