internal import Bytes
internal import EventModel
internal import FoundationEssentials
internal import LMDB
internal import Platform

/// `evstore.json`: says that a directory is a store, which one, and in which format.
package struct Manifest: Codable {
    var format: Int
    /// From format 9 on, the format of rows and blocks, which is counted separately; absent in lower formats.
    var layout: Int?
    var storeId: String
    var created: String
    /// Whether its events are sealed; absent where they are not.
    var sealed: Bool?

    package static let name = "evstore.json"
    /// The formats of rows and blocks: 2 added `log/ahead`, 3 blocks of format 2, 4 checksums of rows. A sealed store had 5, then 6 with
    /// codes, and has 8 with blocks that are sealed as a whole. A store whose order comes from elsewhere, as that of a node of a cluster
    /// log or a replica, has 7: an older program would append to it as to a store that is alone. Format 9 of the manifest allows events
    /// that are only in `log/ahead` (`AheadBlocks`); it gives the format of rows and blocks separately, as `layout`.
    private static let layout = 4
    private static let layoutSealed = 5
    static let formatWithCodes = 6
    static let layoutOrderedElsewhere = 7
    static let formatWithSealedBlocks = 8
    private static let format = 9
    /// The format of rows and blocks of an older store once this program writes it. Its rows stay without checksums.
    private static let layoutRaised = 3

    private var identity: StoreIdentity? {
        guard let id = StoreID(hex: storeId), format > 0, layout == nil || (1 ..< Self.format).contains(layout ?? 0) else { return nil }
        return StoreIdentity(id: id, format: layout ?? format, goesAhead: format >= Self.format, isSealed: sealed ?? false)
    }

    /// - Parameter keys: the keys of a store whose events are sealed.
    static func write(_ storeID: StoreID, _ keys: StoreKeys?, at store: String) throws -> StoreIdentity {
        let isSealed = keys != nil
        let layout = keys?.codes != nil ? formatWithSealedBlocks : isSealed ? layoutSealed : layout
        let manifest = Manifest(
            format: format, layout: layout, storeId: storeID.description, created: Timestamp.now.description,
            sealed: isSealed ? true : nil)
        try manifest.write(at: store)
        return StoreIdentity(id: storeID, format: layout, goesAhead: true, isSealed: isSealed)
    }

    static func isFormatCurrent(at store: String) throws -> Bool { try whole(at: store).format >= format }

    /// Replaces a lower format by this program's format, durably, completely or not at all; no other process may have the store open.
    static func upgradeFormat(at store: String) throws {
        var manifest = try whole(at: store)
        if manifest.format < format {
            (manifest.format, manifest.layout) = (format, max(manifest.format, layoutRaised))
            try manifest.write(at: store)
        }
        try Directory.sync(store)
    }

    /// Notes, durably, whether the order of the store's events comes from elsewhere, as for a node or a replica.
    /// - Throws: `EvstoreError.usage` where the store has an older format.
    package static func set(isOrderedElsewhere: Bool, at store: String) throws {
        var manifest = try whole(at: store)
        let wanted = isOrderedElsewhere ? layoutOrderedElsewhere : layout
        let now = manifest.layout ?? manifest.format
        // What is there may be of a process that was killed before its rename was durable.
        if now == wanted { return try Directory.sync(store) }
        guard now == (isOrderedElsewhere ? layout : layoutOrderedElsewhere) else {
            throw EvstoreError.usage(
                "\(store) has format \(now), and what has its order from elsewhere has rows with checksums",
                fix: "make a backup of it and restore that: the restored store has the newest format")
        }
        if manifest.layout == nil { manifest.format = wanted } else { manifest.layout = wanted }
        try manifest.write(at: store)
        try Directory.sync(store)
    }

    /// Writes the file, or replaces it. The caller makes its name durable.
    private func write(at store: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try WholeFile.write([UInt8](encoder.encode(self)) + [10], to: store + "/" + Self.name, .contents)
    }

    /// The identity of a store: its id, with its format.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer.
    package static func identity(at store: String) throws -> StoreIdentity {
        let manifest = try whole(at: store)
        guard manifest.format <= format else { throw EvstoreError.storeNewer(path: store, format: manifest.format, known: format) }
        guard let identity = manifest.identity else {
            throw EvstoreError.notAStore(path: store, reason: "\(name) names no store id, or formats that no store has")
        }
        return identity
    }

    private static func whole(at store: String) throws -> Manifest {
        guard try Directory.status(store) != nil else { throw EvstoreError.storeNotFound(path: store) }
        guard try Directory.status(store + "/" + name) != nil else {
            if try StoreLocation.isFree(store) { throw EvstoreError.storeNotFound(path: store) }
            throw EvstoreError.notAStore(path: store, reason: "it has no \(name)")
        }
        let bytes = try StoreFiles.contents(name, of: store, bytesMax: 65_536)
        do { return try JSONDecoder().decode(Manifest.self, from: Data(bytes)) } catch {
            throw EvstoreError.notAStore(path: store, reason: "\(name) can't be read as a manifest")
        }
    }
}

/// A store's id and format, according to its manifest.
package struct StoreIdentity: Hashable, Sendable {
    package let id: StoreID
    /// The format of its rows and blocks (`layout` in the manifest).
    let format: Int
    /// Whether events may be only in `log/ahead` (`AheadBlocks`), where an older program would not see them.
    var goesAhead: Bool
    /// Whether envelopes replace the payloads.
    let isSealed: Bool

    package var hasRowChecksums: Bool { format >= 4 }

    /// Whether the order of its events comes from elsewhere, as for a node or a replica.
    var isOrderedElsewhere: Bool { format == Manifest.layoutOrderedElsewhere }

    /// Whether new blocks are sealed as a whole, in place of each record by itself.
    var sealsBlocks: Bool { isSealed && format >= Manifest.formatWithSealedBlocks }

    var hasCodes: Bool { isSealed && format >= Manifest.formatWithCodes }
}

/// Identifies a store for as long as it exists: 16 random bytes, written as hexadecimal text.
package struct StoreID: Hashable, Sendable, CustomStringConvertible {
    /// The part of the id that is in every block, so that blocks of different stores are never mixed up: the first eight bytes.
    package let tag: UInt64
    private let rest: UInt64

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (tag, rest) = (bytes.lent.load(UInt64.self, at: 0), bytes.lent.load(UInt64.self, at: 8))
    }

    package init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text) else { return nil }
        self.init(bytes)
    }

    /// A new id, from the system's random numbers.
    package static func make() -> StoreID { StoreID(tag: .random(in: .min ... .max), rest: .random(in: .min ... .max)) }

    private init(tag: UInt64, rest: UInt64) { (self.tag, self.rest) = (tag, rest) }

    package var bytes: [UInt8] {
        var row = ByteBuffer(capacity: 16)
        append(to: &row)
        return row.array()
    }

    func append(to row: inout ByteBuffer) {
        row.append(littleEndian: tag)
        row.append(littleEndian: rest)
    }

    package var description: String { hex(bytes) }
}
