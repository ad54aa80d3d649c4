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
    private(set) var log: FoundLog
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

    /// The bytes of a found block.
    func read(_ block: FoundBlock) throws -> [UInt8] { try Self.read(block, source) }

    private static func read(_ block: FoundBlock, _ source: SalvageSource) throws -> [UInt8] {
        let file = block.file == .data ? source.data : source.ahead
        let bytes = try file?.read(block.bytes, at: block.offset) ?? []
        guard bytes.count == block.bytes else {
            throw EvstoreError.ioFailure(doing: "reading \(source.path)", reason: "it has become shorter while it was read")
        }
        return bytes
    }

    /// Removes blocks that no key opens.
    mutating func leaveOut(_ unopenable: Set<FoundBlock>) { log.leaveOut(unopenable) }

    /// How many events the blocks hold.
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
