internal import Bytes
internal import EventModel
package import Hashing
internal import LMDB

/// The rows of the registered versions and definitions after a frame: the log itself can't read them.
package struct RegisteredCatalogues: Sendable {
    package typealias Rows = [(key: [UInt8], value: [UInt8])]
    package var schemas, definitions: Rows
    /// The digest of the history that the numbers name.
    package var history: Digest
}

/// Refuses versions and definitions that no program could read, before a node takes them in.
/// - Throws: `EvstoreError`: schemaNewer where a newer program could.
package typealias CatalogueValidator = @Sendable (RegisteredCatalogues) throws -> Void

/// Checks of the rows of a frame before they are taken in. Anybody with PostgreSQL's password can write frames that follow, and a row that
/// can't be read would end every program of every node: so rows are read in the same way as later.
extension SharedRows {
    /// - Throws: `FrameDamage`.
    static func check(_ row: borrowing Row, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        if row.name == TableDescriptor.types.name { return try checkType(row, transaction, tables) }
        if row.name == TableDescriptor.epochs.name { return try checkEpoch(row, transaction, tables) }
        guard let catalogue = Catalogue(rawValue: row.name), !row.isRemoved else { return }
        let (key, value) = ([UInt8](copying: row.key), [UInt8](copying: row.value))
        switch catalogue {
        case .notes:
            guard let node = NodeRow(key, value), NodeRow.isName(node.name) else { throw FrameDamage("its row of a node is invalid") }
        case .imports:
            guard value.count >= 8, Position(row.value.load(UInt64.self, at: 0)) <= .largest else {
                throw FrameDamage("its mark of an import is invalid")
            }
        // Checked together, when all rows are there.
        case .schemas, .definitions: break
        case .journal, .snapshots: break
        }
    }

    /// A name keeps its number; `requireNumbered` checks the numbers of new names.
    private static func checkType(_ row: borrowing Row, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        guard !row.isRemoved, let name = String(utf8: row.key), row.value.byteCount == MemoryLayout<TypeID>.size else {
            throw FrameDamage("its row of a type is invalid")
        }
        if let known = try Indexes.type(name, transaction, tables), known != row.value.load(TypeID.self, at: 0) {
            throw FrameDamage("its type \(quoted(name)) has another number here")
        }
    }

    /// A new type gets the next number.
    static func requireNumbered(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        guard try Indexes.areTypesNumbered(transaction, tables) else {
            throw FrameDamage("the number of one of its types is another one's, or does not follow")
        }
    }

    private static func checkEpoch(_ row: borrowing Row, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        guard !row.isRemoved, let cut = Epochs.cut(row.key, row.value), cut.position <= .largest, cut.epoch.rawValue < .max else {
            throw FrameDamage("its row of an epoch is invalid")
        }
        if let known = try tables.epochs.get(row.key, transaction), !known.equals(row.value) {
            throw FrameDamage("epoch \(cut.epoch) began otherwise here")
        }
    }

    /// Whether a row is one of those that are checked together.
    static func isRegistered(_ row: borrowing Row) -> Bool {
        row.name == Catalogue.schemas.rawValue || row.name == Catalogue.definitions.rawValue || row.name == numbers
    }

    static func judge(_ judge: CatalogueValidator, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        let catalogues = RegisteredCatalogues(
            schemas: try Rows.all([], transaction, tables[.schemas]), definitions: try Rows.all([], transaction, tables[.definitions]),
            history: try StateRows.state(transaction, tables).history)
        do { try judge(catalogues) } catch let error as EvstoreError {
            // A newer program could read them.
            if case .schemaNewer = error { throw error }
            throw FrameDamage("the versions that it registers are invalid: \(error.message)")
        }
    }
}
