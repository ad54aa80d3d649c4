internal import Bytes
package import EventLog
package import EventModel

/// Checks rows of the catalogues by parsing them as their readers do: a restore refuses, and `verify` reports, a row that nobody could use.
package enum CatalogueRows {
    /// - Parameter store: the path that an error names.
    /// - Throws: `EvstoreError` where no store could have written the row.
    package static func check(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8], in store: String) throws(EvstoreError) {
        switch catalogue {
        case .journal: _ = try JournalRow(key: key, value: value)
        case .snapshots: _ = try SnapshotReport(name: String(decoding: key, as: UTF8.self), row: value)
        case .notes: try ConsumerRow.check(key, value)
        // Registered schemas are read as a whole, with a digest over them (`RegisteredRows`).
        case .schemas, .definitions: return
        case .imports:
            // The rest of the row belongs to the importer.
            guard value.count >= 8, Position(value.lent.load(UInt64.self, at: 0)) <= .largest else {
                throw .storeDamaged(path: store, reason: "a mark of an import names no position of a log")
            }
        }
    }
}
