internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// Moves into LMDB what a power cut, or the kill of the last process that had the log open, has left in `log/ahead`. An interrupted recovery
/// begins again from the start.
enum AheadRecovery {
    /// Whether entries may be there that LMDB lacks, so that the log has to be recovered unless another process has it open.
    static func isDue(at store: String, _ storeID: StoreID) throws -> Bool {
        guard let file = try file(store, .read) else { return false }
        // An older program goes on with its rounds behind a recovery of this one, which takes their headers away.
        if let older = try OlderRound.header(of: file, storeID) {
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
        // One that was torn by a power cut says neither.
        return WriteAhead.Header(bytes)?.isOpen ?? bytes.contains { $0 != 0 }
    }

    /// Whether that was left on this machine since its last boot: then what LMDB has written is still in its page cache, and the page that
    /// processes share says what is acknowledged.
    static func isOfThisBoot(at store: String, _ storeID: StoreID) throws -> Bool {
        guard let file = try file(store, .read) else { return false }
        let older = try OlderRound.header(of: file, storeID)
        let boot = try older?.base != nil ? older?.boot : WriteAhead.Header(file.read(WriteAhead.Header.bytes))?.boot
        return boot == WriteAhead.Header.bootDigest
    }

    private static func file(_ store: String, _ access: File.Access) throws(StorageError) -> File? {
        let path = store + WriteAhead.fileName
        return try Directory.status(path) == nil ? nil : File(path, access)
    }

    /// Recovers the log; nobody may have it open.
    /// - Throws: `EvstoreError`: keysRefused where rows of the store have codes and no key opens it.
    static func run(at store: String, _ storeID: StoreID, _ options: Options, _ tables: [TableDescriptor]) throws {
        guard let file = try file(store, .write) else { return }
        let identity = try Manifest.identity(at: store)
        // Order: the keys are opened before anything is changed, since rows with codes can't be written without them.
        let keys = identity.hasCodes ? try StoreKeys.open(at: store, identity, options) : nil
        let scene = Scene(store: store, identity: identity, keys: keys, options: options, tables: tables)
        if try !OlderRound.apply(file, scene) {
            if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, tables) }
            let bytes = try file.read(WriteAhead.fileBytes)
            try change(scene) { transaction, access in
                try apply(bytes, &transaction, access, store)
            }
        }
        // Order: LMDB holds everything durably.
        try file.write([UInt8](repeating: 0, count: WriteAhead.pageBytes), at: WriteAhead.pageBytes)
        try WriteAhead.Header(storeID, isOpen: false).write(to: file)
        // Its pages were checked where nobody vouched for them, and the recovery has changed the file.
        try LogFile.vouch(at: store)
    }

    /// A store that is recovered.
    struct Scene {
        let store: String
        let identity: StoreIdentity
        /// Nil where rows have no codes.
        let keys: StoreKeys?
        let options: Options
        let tables: [TableDescriptor]
    }

    /// Changes the log in one durable transaction, and notes where a node's log ends then: its anchor may have become durable before the
    /// entries did.
    static func change(_ scene: Scene, _ body: (inout WriteTransaction, LogAccess) throws -> Void) throws {
        let store = scene.store
        let environment = try EventLog.openEnvironment(store, scene.options, readOnly: false, scene.tables)
        defer { environment.close() }
        var identity = scene.identity
        // Nobody else has it open: what is ahead is read here, and not as readers see it.
        identity.goesAhead = false
        let access = try LogAccess(environment, of: identity, scene.keys, scene.tables)
        try environment.writeOwned { transaction in
            var transaction = transaction
            try body(&transaction, access)
            // Order: also where nothing is changed, since the newest commit may not be durable.
            let numbers = try StateRows.numbers(transaction.reads, access.tables)
            try StateRows.put(indexed: numbers.indexed, &transaction, access.tables)
        }
        // Order: what the page says is needed until LMDB has it.
        if let page = environment.turnPage?.page {
            try AheadWords(page, access.storeID, at: store).begin()
        } else if try environment.sharedPage() != nil {
            throw EvstoreError.ioFailure(doing: "recovering \(store)", reason: "log/turn can't be written")
        }
        try environment.read { transaction in
            guard try StateRows.node(transaction, access.tables) != nil else { return }
            let last = try Blocks.end(transaction, access)
            try LogFile.leaveAnchor(at: store, access.storeID, last, Blocks.endLink(transaction, access), isClosed: false)
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
        // A commit that was not finished is the last: nothing was written behind it.
        for offset in stride(from: walk.offset, to: bytes.count, by: WriteAhead.pageBytes) {
            if let entry = whole(at: offset), walk.isOfThis(entry) { try recovered.requireNothing(from: entry.first) }
        }
    }
}

/// Takes in the blocks of entries, one after the other.
struct RecoveredBlocks {
    private var blocks: BlockIntake
    /// What a node has lost of its unsynced entries comes again from the cluster log: what does not follow there is the end.
    private let isNode: Bool
    private let store: String

    init(_ blocks: BlockIntake, isNode: Bool, _ store: String) { (self.blocks, self.isNode, self.store) = (blocks, isNode, store) }

    var last: Position { blocks.last }

    /// Takes in those of an entry; false where a node's log ends before it.
    mutating func add(_ bytes: RawSpan, through last: Position, _ transaction: inout WriteTransaction) throws -> Bool {
        var next = 0
        do {
            while next < bytes.byteCount { next += try blocks.add(bytes.slice(next, bytes.byteCount - next), &transaction) }
        } catch let gap as BlockGap {
            if isNode { return false }
            throw damaged("the block at position \(gap.position) does not follow the one before it")
        } catch let error as EvstoreError {
            if case .corruptBlock = error, isNode { return false }
            throw error
        }
        if blocks.last == last { return true }
        if isNode { return false }
        throw damaged("an entry that ends at position \(last) ends at \(blocks.last)")
    }

    /// - Throws: `EvstoreError.storeDamaged` where events from a position on are there and those before them are not.
    func requireNothing(from first: Position) throws {
        if first <= blocks.last { return }
        throw damaged("what was appended from position \(blocks.last.next) to \(first.previous) is lost")
    }

    private func damaged(_ reason: String) -> EvstoreError { .storeDamaged(path: store, reason: "log/ahead: " + reason) }
}
