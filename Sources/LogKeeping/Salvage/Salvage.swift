internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import System

/// What a damaged log still holds: read, and not yet written anywhere.
struct Salvage {
    /// Of its steps: the bytes or events that are done, and all of them.
    typealias Progress = (_ step: String, _ done: UInt64, _ total: UInt64) throws -> Void

    let source: SalvageSource
    /// Nil where there are none, or nothing was given that opens them.
    let keys: StoreKeys?
    let remains: LogRemains
    /// Nil where nothing tells which store it was.
    let storeID: StoreID?
    private(set) var log: FoundLog
    let bytesScanned: UInt64
    /// Where blocks lie in `data.mdb`.
    let places: [Int: Position]

    init(_ source: SalvageSource, _ keys: StoreKeys? = nil, _ progress: Progress) throws {
        (self.source, self.keys, remains) = (source, keys, try LogRemains(of: source, keys))
        var found = remains.running + remains.ended
        var scanned: UInt64 = 0
        if let data = source.data {
            var hunt = try BlockHunt(data, .data, pageBytes: remains.pageBytes)
            let size = hunt.fileBytes
            try hunt.run { try progress("scan", $0, size) }
            found += hunt.blocks
            scanned += hunt.fileBytes
        }
        if let ahead = source.ahead {
            var hunt = try BlockHunt(ahead, .ahead, pageBytes: remains.pageBytes)
            // There blocks follow each other, at even and odd places.
            for range in remains.brokenEntries {
                for first in 0 ... 1 { try hunt.run(in: range.lowerBound + first ..< range.upperBound) { _ in } }
            }
            found += hunt.blocks
            scanned += hunt.fileBytes
        }
        bytesScanned = scanned
        places = Dictionary(found.filter { $0.file == .data }.map { ($0.offset, $0.first) }) { first, _ in first }
        var tags: [UInt64: Int] = [:]
        for block in found { tags[block.tag, default: 0] += block.bytes }
        storeID = remains.storeIDs.first { tags[$0.tag] != nil }
        // Blocks of another store may lie within events of this one.
        let tag = storeID?.tag ?? tags.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        log = FoundLog(found.filter { $0.tag == tag }, storeID, remains) { try Self.read($0, source) }
        try log.choose { try progress("chain", $0, $1) }
    }

    /// The bytes of a block that was found.
    func read(_ block: FoundBlock) throws -> [UInt8] { try Self.read(block, source) }

    private static func read(_ block: FoundBlock, _ source: SalvageSource) throws -> [UInt8] {
        let file = block.file == .data ? source.data : source.ahead
        let bytes = try file?.read(block.bytes, at: block.offset) ?? []
        guard bytes.count == block.bytes else {
            throw EvstoreError.ioFailure(doing: "reading \(source.path)", reason: "it has become shorter while it was read")
        }
        return bytes
    }

    /// Leaves out blocks that are of no use to anybody.
    mutating func leave(_ closed: Set<FoundBlock>) { log.leave(closed) }

    /// How many events the blocks hold.
    var events: UInt64 { log.blocks.reduce(0) { $0 + UInt64($1.count) } }

    /// Whether the log is whole from its first event on, up to wherever it ends: then it can go on as what it was.
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
