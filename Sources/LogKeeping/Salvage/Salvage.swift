internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform

/// The undamaged blocks and rows of a damaged log: read, and not written anywhere yet.
struct Salvage {
    /// Called with a step's name, and how many of its bytes or events are done, of how many.
    typealias Progress = (_ step: String, _ done: UInt64, _ total: UInt64) throws -> Void

    let source: SalvageSource
    /// Nil where there are no keys, or no secret was given that opens them.
    let keys: StoreKeys?
    let remains: LogRemains
    /// Nil where no file has the store's id.
    let storeID: StoreID?
    var log: FoundLog
    let bytesScanned: UInt64
    /// The first positions of the blocks in `data.mdb`, by offset.
    let places: [Int: Position]

    init(_ source: SalvageSource, _ keys: StoreKeys? = nil, _ progress: Progress) throws {
        (self.source, self.keys, remains) = (source, keys, try LogRemains(of: source, keys))
        var found = remains.running + remains.ended
        var scanned: UInt64 = 0
        if let data = source.data {
            var search = try BlockSearch(data, .data, pageBytes: remains.pageBytes)
            let size = search.fileBytes
            try search.run { try progress("scan", $0, size) }
            found += search.blocks
            scanned += search.fileBytes
        }
        if let ahead = source.ahead {
            var search = try BlockSearch(ahead, .ahead, pageBytes: remains.pageBytes)
            // In `log/ahead` blocks follow each other at even and odd offsets.
            for range in remains.brokenEntries {
                for first in 0 ... 1 { try search.run(in: range.lowerBound + first ..< range.upperBound) { _ in } }
            }
            found += search.blocks
            scanned += search.fileBytes
        }
        bytesScanned = scanned
        places = Dictionary(found.filter { $0.file == .data }.map { ($0.offset, $0.first) }) { first, _ in first }
        var tags: [UInt64: Int] = [:]
        for block in found { tags[block.tag, default: 0] += block.bytes }
        storeID = remains.storeIDs.first { tags[$0.tag] != nil }
        // The payload of an event may contain blocks of another store.
        let tag = storeID?.tag ?? tags.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        log = FoundLog(found.filter { $0.tag == tag }, storeID, remains) { try Self.read($0, source) }
        try log.choose { try progress("chain", $0, $1) }
    }

    func read(_ block: FoundBlock) throws -> [UInt8] { try Self.read(block, source) }

    private static func read(_ block: FoundBlock, _ source: SalvageSource) throws -> [UInt8] {
        let file = block.file == .data ? source.data : source.ahead
        let bytes = try file?.read(block.bytes, at: block.offset) ?? []
        guard bytes.count == block.bytes else {
            throw EvstoreError.ioFailure(doing: "reading \(source.path)", reason: "it has become shorter while it was read")
        }
        return bytes
    }

    var events: UInt64 { log.blocks.sum { UInt64($0.count) } }

    /// Whether no event is missing from the first to the last one, so that the blocks can be copied unchanged.
    var isWhole: Bool {
        guard storeID != nil, log.hasRoot || log.blocks.isEmpty, log.blocks.last?.epoch.rawValue != .max else { return false }
        var next = Position(1)
        for block in log.blocks {
            if block.first != next { return false }
            next = block.last.next
        }
        return true
    }
}

/// The files that a salvage reads: those of a store, or a `data.mdb` alone.
struct SalvageSource {
    let path: String
    /// The store's directory; nil where there is only a file.
    let store: String?
    let data: File?
    let ahead: File?

    /// - Throws: `EvstoreError`: storeNotFound, notAStore.
    init(_ path: String) throws {
        self.path = path
        guard let status = try Directory.status(path) else { throw EvstoreError.storeNotFound(path: path) }
        let isAlone = try !status.isDirectory || Self.isThere(path + "/data.mdb")
        store = isAlone ? try Self.store(around: status.isDirectory ? path : Directory.parent(of: path)) : path
        let name = store.map { $0 + "/log/data.mdb" } ?? (status.isDirectory ? path + "/data.mdb" : path)
        data = try Self.file(name)
        ahead = try store.flatMap { try Self.file($0 + WriteAhead.fileName) }
        if data == nil, ahead == nil {
            throw EvstoreError.notAStore(path: path, reason: "it has neither log/data.mdb nor log/ahead")
        }
    }

    /// Locks the store against other processes, which would open and recover it; nil where it has no lock file.
    /// - Throws: `EvstoreError.locked`.
    func lock() throws -> HeldLock? {
        guard let store, try Self.isThere(store + StoreLock.fileName) else { return nil }
        do { return try StoreLock.presence.acquire(at: store, what: "salvages it") } catch EvstoreError.readOnly {
            // On a disk that can't be written the lock is shared: no process can change the files there.
            return try StoreLock.presence.acquire(at: store, shared: true, what: "salvages it")
        }
    }

    private static func isThere(_ path: String) throws -> Bool { try Directory.status(path) != nil }

    private static func file(_ path: String) throws -> File? { try isThere(path) ? File(path, .read) : nil }

    /// The store whose `log` directory this is, even if it was named through a link.
    private static func store(around log: String) throws -> String? {
        let store = log + "/.."
        guard let own = try Directory.status(log + "/data.mdb"), let other = try Directory.status(store + "/log/data.mdb"),
            (own.device, own.inode) == (other.device, other.inode)
        else { return nil }
        return try isThere(store + StoreLock.fileName) || isThere(store + "/" + Manifest.name) ? store : nil
    }
}
