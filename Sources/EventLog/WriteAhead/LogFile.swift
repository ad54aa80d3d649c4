internal import EventModel
internal import Hashing
internal import LMDB
internal import System

/// `log/data.mdb` as a file: what can be said of it without LMDB.
enum LogFile {
    private static let name = "/log/data.mdb"

    static func status(at store: String) throws -> FileStatus { try File(store + name, .read).status() }

    /// Whether nobody vouches for the file: it was copied, restored or changed, or the machine stopped while it was in use.
    static func isDoubtful(at store: String) throws -> Bool {
        // What is missing is told by who opens it.
        guard try Directory.status(store + name) != nil else { return false }
        return try Anchor.read(at: store)?.mark.vouches(for: status(at: store)) != true
    }

    /// Notes that all pages were looked at, where there is an anchor to note it in.
    static func vouch(at store: String) throws {
        guard var anchor = try Anchor.read(at: store) else { return }
        // Order: whoever put the file there may not have made durable what was looked at.
        try File(store + name, .read).sync()
        anchor.mark = FileMark(try status(at: store), isClosed: true)
        try AnchorFile(at: store).vouch(anchor)
    }

    /// Says what the log's end is, and that the file is as it is now where nobody has it open.
    static func leaveAnchor(
        at store: String, _ storeID: StoreID, _ last: Checkpoint, _ link: Digest, isClosed: Bool = true
    ) throws {
        let mark = FileMark(try status(at: store), isClosed: isClosed)
        try AnchorFile(at: store).leave(Anchor(epoch: last.epoch, storeID: storeID, last: last.position, link: link, mark: mark))
    }

    /// Walks the pages of a commit, the newest where none is named, with every row's seal.
    /// - Parameter isShared: others may be writing, whom this process can't keep out.
    /// - Throws: `EvstoreError.storeDamaged`, with the page and what is wrong with it.
    static func check(
        at store: String, asOf meta: MetaPage? = nil, isShared: Bool = false, _ tables: [TableDescriptor] = TableDescriptor.log
    ) throws {
        guard Guard.structure.isOn else { return }
        let identity = try Manifest.identity(at: store)
        let rows = identity.hasRowChecksums ? tables.rowChecks(of: identity.id.tag) : [:]
        do {
            let file = try File(store + name, .read)
            if isShared { return try StructuralCheck.runBeside(file, tables: tables.kinds, rows: rows) }
            _ = try StructuralCheck.run(file, asOf: meta, tables: tables.kinds, rows: rows)
        } catch let damage
            as StructureDamage
        {
            throw EvstoreError.storeDamaged(path: store, reason: "log/data.mdb, \(damage)")
        }
    }
}
