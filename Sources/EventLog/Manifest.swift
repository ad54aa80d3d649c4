internal import EventModel
internal import FoundationEssentials
internal import LMDB

/// `evstore.json`: says that a directory is a store, which one, and in which format.
struct Manifest: Codable {
    var format: Int
    var storeId: String
    var created: String

    static let name = "evstore.json"

    static func write(_ storeID: StoreID, at store: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let manifest = Manifest(format: StateRows.format, storeId: storeID.description, created: Timestamp.now.description)
        let file = try File(store + "/" + name, .createNew)
        try file.write([UInt8](encoder.encode(manifest)) + [10])
        try file.sync()
    }

    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer.
    static func read(at store: String) throws -> StoreID {
        guard try Directory.status(store) != nil else { throw EvstoreError.storeNotFound(path: store) }
        guard try Directory.status(store + "/" + name) != nil else {
            throw EvstoreError.notAStore(path: store, reason: "it has no \(name)")
        }
        let bytes = try File(store + "/" + name, .read).read(65_536)
        let manifest: Manifest
        do { manifest = try JSONDecoder().decode(Manifest.self, from: Data(bytes)) } catch {
            throw EvstoreError.notAStore(path: store, reason: "\(name) can't be read as a manifest")
        }
        guard manifest.format <= StateRows.format else {
            throw EvstoreError.storeNewer(path: store, format: manifest.format, known: StateRows.format)
        }
        guard manifest.format > 0, let storeID = StoreID(hex: manifest.storeId) else {
            throw EvstoreError.notAStore(path: store, reason: "\(name) names no store id")
        }
        return storeID
    }
}
