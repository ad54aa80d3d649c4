internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import LMDB

/// One built copy of a projection: an LMDB environment of its own in `generations/<fingerprint16>-<serial>/`.
///
/// Tables: `rows`, key -> JSON text of the row; `meta` (`GenerationHeader`); `quarantine` (`QuarantineRow`); each a `CheckedTable`.
/// Rows, quarantine and header always change in one transaction.
package final class Generation: Sendable {
    /// The name of its directory.
    package let name: String
    package let directory: String
    package let fingerprint: Digest
    let environment: Environment
    let rows, meta, quarantine: CheckedTable
    /// 2 since rows carry checksums; one of format 1 stays as it is.
    let format: Int
    let note: DamageNote

    static let headerKey = Array("generation".utf8)
    static let tables = ["rows", "meta", "quarantine"]

    init(directory: String, fingerprint: Digest, format: Int, _ environment: Environment) throws(LMDBError) {
        (self.directory, self.fingerprint) = (directory, fingerprint)
        name = String(directory[(directory.lastIndex(of: "/").map(directory.index(after:)) ?? directory.startIndex)...])
        self.environment = environment
        (self.format, note) = (format, DamageNote(directory))
        rows = CheckedTable(try environment.table("rows"), isChecked: format > 1, note)
        meta = CheckedTable(try environment.table("meta"), isChecked: format > 1, note)
        quarantine = CheckedTable(try environment.table("quarantine"), isChecked: format > 1, note)
    }

    deinit { environment.close() }

    /// Where a store's generations are.
    package static func home(in store: String) -> String { store + "/generations" }

    /// The names of the directories there: whole generations, and leftovers of interrupted work.
    package static func names(in store: String) throws(EvstoreError) -> [String] {
        try converting("listing the generations of \(store)") {
            try Directory.status(home(in: store)) == nil ? [] : try Directory.names(home(in: store))
        }
    }

    /// Whether a directory's name is that of a generation; the others are leftovers.
    package static func isName(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        let isHex = { (text: Substring) in !text.isEmpty && text.utf8.allSatisfy { (48 ... 57).contains($0) || (97 ... 102).contains($0) } }
        return parts.count == 2 && parts[0].utf8.count == 16 && parts.allSatisfy(isHex)
    }

    /// Opens a generation of a store.
    /// - Throws: `EvstoreError.storeDamaged` where it is not there or belongs to another store.
    package static func open(
        named name: String, in store: String, storeID: StoreID, options: Options, readOnly: Bool = false
    )
        throws(EvstoreError) -> Generation
    {
        try converting("opening the generation \(name) of \(store)") {
            guard isName(name) else {
                throw EvstoreError.storeDamaged(path: store, reason: "\(quoted(name)) is not the name of a generation")
            }
            let directory = home(in: store) + "/" + name
            guard try Directory.status(directory + "/data.mdb") != nil else {
                throw EvstoreError.storeDamaged(path: directory, reason: "the generation has no data.mdb")
            }
            let environment = try Environment.open(directory: directory, configuration(options, readOnly: readOnly))
            do {
                try DamageNote(directory).check()
                let format = try format(of: environment, directory)
                let header = try header(environment, directory, format)
                guard header.storeID == storeID else {
                    throw EvstoreError.storeDamaged(path: directory, reason: "the generation belongs to another store")
                }
                return try Generation(directory: directory, fingerprint: header.fingerprint, format: format, environment)
            } catch {
                environment.close()
                throw error
            }
        }
    }

    static func configuration(
        _ options: Options, readOnly: Bool = false, creating: Bool = false
    )
        -> Environment.Configuration
    {
        .init(
            tables: tables, mapBytes: options.mapBytes, readersMax: options.readersMax, readOnly: readOnly, creating: creating)
    }

    package var isReadOnly: Bool { environment.isReadOnly }
}
