internal import Bytes
package import EventLog
package import EventModel

/// The rows of the catalogues, each read as those read it who use it: what a restore refuses and `verify` names is what nobody could use.
package enum KeptRows {
    /// - Parameter store: the path that an error names.
    /// - Throws: `EvstoreError` where no store has written such a row.
    package static func check(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8], in store: String) throws(EvstoreError) {
        switch catalogue {
        case .journal: _ = try JournalRow(key: key, value: value)
        case .snapshots: _ = try SnapshotReport(name: String(decoding: key, as: UTF8.self), row: value)
        case .notes: try ConsumerRow.check(key, value)
        // What is registered is read as a whole, with the digest over it (`RegisteredRows`).
        case .schemas, .definitions: return
        case .imports:
            // The rest of the row is the importer's, which passes over what it does not know.
            guard value.count >= 8, Position(value.lent.load(UInt64.self, at: 0)) <= .largest else {
                throw .storeDamaged(path: store, reason: "a mark of an import names no position of a log")
            }
        }
    }
}
