internal import EventModel
internal import FoundationEssentials
internal import LMDB
internal import Platform

/// `evstore.json`: says that a directory is a store, which one, and in which format.
package struct Manifest: Codable {
    var format: Int
    var storeId: String
    var created: String
    /// Whether its events are sealed; absent where they are not.
    var sealed: Bool?

    package static let name = "evstore.json"
    /// The format of the stores that this program makes: 2 brought `log/ahead`, 3 blocks of format 2, 4 checksums of
    /// rows. A sealed store had 5, then 6 with codes, and has 8 with blocks that are sealed as a whole, the newest that is read. What has its
    /// order from elsewhere, a node of a cluster log and a replica, has 7: an older program would append to it as to a store that is alone.
    static let format = 4
    private static let formatSealed = 5
    static let formatWithCodes = 6
    private static let formatOrderedElsewhere = 7
    static let formatWithSealedBlocks = 8
    private static let formatNewest = 8
    /// What a store of an older format becomes with the first commit, so that a program that does not know this one's blocks
    /// never opens it. Its rows stay without checksums.
    private static let formatRaised = 3

    /// - Parameter keys: of a store whose events are sealed.
    static func write(_ storeID: StoreID, _ keys: StoreKeys?, at store: String) throws -> StoreIdentity {
        let isSealed = keys != nil
        let manifest = Manifest(
            format: keys?.codes != nil ? formatWithSealedBlocks : isSealed ? formatSealed : format, storeId: storeID.description,
            created: Timestamp.now.description,
            sealed: isSealed ? true : nil)
        try manifest.write(to: store + "/" + name)
        return StoreIdentity(id: storeID, format: manifest.format, isSealed: isSealed)
    }

    /// Writes this program's format where a lower one stands, durably, whole or not at all.
    static func raise(at store: String) throws {
        var manifest = try whole(at: store)
        if manifest.format > formatRaised { return }
        if manifest.format < formatRaised {
            manifest.format = formatRaised
            try manifest.replace(at: store)
        }
        // Order: also where another process has raised it, since it may have been killed before its sync.
        try Directory.sync(store)
    }

    /// Says that the store has its order from elsewhere, as a node and a replica have, or has it no more; durably.
    /// - Throws: `EvstoreError.usage` where it has an older format.
    package static func set(isOrderedElsewhere: Bool, at store: String) throws {
        var manifest = try whole(at: store)
        let wanted = isOrderedElsewhere ? formatOrderedElsewhere : format
        if manifest.format == wanted { return }
        guard manifest.format == (isOrderedElsewhere ? format : formatOrderedElsewhere) else {
            throw EvstoreError.usage(
                "\(store) has format \(manifest.format), and what has its order from elsewhere has rows with checksums",
                fix: "make a backup of it and restore that: the restored store has the newest format")
        }
        manifest.format = wanted
        try manifest.replace(at: store)
        try Directory.sync(store)
    }

    private func replace(at store: String) throws {
        let made = store + "/" + Self.name + ".new"
        try Directory.remove(made)
        try write(to: made)
        try Directory.rename(made, to: store + "/" + Self.name)
    }

    private func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let file = try File(path, .createNew)
        try file.write([UInt8](encoder.encode(self)) + [10])
        try file.sync()
    }

    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer.
    static func read(at store: String) throws -> StoreID { try identity(at: store).id }

    /// The same, with the format.
    package static func identity(at store: String) throws -> StoreIdentity {
        let manifest = try whole(at: store)
        guard manifest.format <= formatNewest else {
            throw EvstoreError.storeNewer(path: store, format: manifest.format, known: formatNewest)
        }
        guard manifest.format > 0, let storeID = StoreID(hex: manifest.storeId) else {
            throw EvstoreError.notAStore(path: store, reason: "\(name) names no store id")
        }
        return StoreIdentity(id: storeID, format: manifest.format, isSealed: manifest.sealed ?? false)
    }

    private static func whole(at store: String) throws -> Manifest {
        guard try Directory.status(store) != nil else { throw EvstoreError.storeNotFound(path: store) }
        guard try Directory.status(store + "/" + name) != nil else {
            if try StorePlace.isFree(store) { throw EvstoreError.storeNotFound(path: store) }
            throw EvstoreError.notAStore(path: store, reason: "it has no \(name)")
        }
        let bytes = try StoreFiles.contents(name, of: store, bytesMax: 65_536)
        do { return try JSONDecoder().decode(Manifest.self, from: Data(bytes)) } catch {
            throw EvstoreError.notAStore(path: store, reason: "\(name) can't be read as a manifest")
        }
    }
}
