internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// `log/data.mdb` as a file, without LMDB.
enum LogFile {
    private static let name = "/log/data.mdb"

    static func status(at store: String) throws(StorageError) -> FileStatus { try File(store + name, .read).status() }

    /// Whether the file's pages must be checked: it was copied, restored or changed, or the machine stopped while it was in use.
    static func isDoubtful(at store: String) throws -> Bool {
        // A missing file is reported by the opening that follows.
        guard try Directory.status(store + name) != nil else { return false }
        return try Anchor.read(at: store)?.mark.matches(status(at: store)) != true
    }

    /// Notes that all pages were checked, if there is an anchor.
    static func markChecked(at store: String) throws {
        guard var anchor = try Anchor.read(at: store) else { return }
        // Order: synced first. The file may have been copied without a sync, and what was checked must be durable.
        try File(store + name, .read).sync()
        anchor.mark = FileMark(try status(at: store), isClosed: true)
        try AnchorFile(at: store).markChecked(anchor)
    }

    /// Writes the anchor with the log's end and the file's mark; the mark says closed if no other process has the file open.
    @discardableResult
    static func writeAnchor(
        at store: String, _ storeID: StoreID, _ last: Checkpoint, _ link: Digest, isClosed: Bool = true
    ) throws -> Anchor {
        let mark = FileMark(try status(at: store), isClosed: isClosed)
        let anchor = Anchor(epoch: last.epoch, storeID: storeID, last: last.position, link: link, mark: mark)
        try AnchorFile(at: store).leave(anchor)
        return anchor
    }

    /// Checks the pages of a commit, by default the newest, and every row's checksum.
    /// - Parameter isShared: whether other processes may be writing meanwhile.
    /// - Throws: `EvstoreError.storeDamaged`, with the page and the broken rule.
    static func check(at store: String, asOf meta: MetaPage? = nil, isShared: Bool = false) throws {
        guard Guard.structure.isOn else { return }
        let identity = try Manifest.identity(at: store)
        let tables = TableDescriptor.log
        let rows = identity.hasRowChecksums ? tables.rowChecks(of: identity.id.tag) : [:]
        do {
            let file = try File(store + name, .read)
            if isShared { return try StructuralCheck.runBeside(file, tables: tables.kinds, rows: rows) }
            _ = try StructuralCheck.run(file, asOf: meta, tables: tables.kinds, rows: rows)
        } catch let damage as StructureDamage {
            throw EvstoreError.storeDamaged(path: store, reason: "log/data.mdb, \(damage)")
        }
    }
}
