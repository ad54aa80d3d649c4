internal import EventModel
package import LMDB

/// The declaration of a table of the log. Each table is declared once, in the list `log`, and everything that handles tables uses that
/// list: which tables a file may have and how their keys sort, checksums and codes of rows, cuts, backups, salvage.
///
/// To add one: give it a number that no other table has had, say what its rows are, and add a line to the format at the top of `Tables`.
package struct TableDescriptor: Sendable {
    enum Key: Sendable {
        /// Sorted by their bytes.
        case bytes
        /// Native unsigned 64-bit integers.
        case integer
    }

    /// Where the rows come from, which decides what a cut, `verify`, a backup and a salvage do with them.
    enum Content: Sendable {
        /// The events. A cut takes blocks off the end; `verify` walks them; backups hold them in frames of their own.
        case blocks
        /// Derived from the events. A cut removes the entries of the removed events; `verify` compares the rows; no backup holds them.
        case index
        /// Can't be rebuilt from the events. `verify` checks its checksums and codes; backups hold the rows, and a salvage looks for them.
        case kept(Retention)
    }

    /// How rows that can't be rebuilt from the events are kept.
    package struct Retention: Sendable {
        /// Whether values begin with a u64 position: a cut removes the rows whose position lies beyond it.
        var hasPositions = false
        /// The only row that a backup holds; nil where it holds all rows.
        package var backedUp: [UInt8]?
        /// Whether a salvage has to report that the newest rows may be missing.
        package var isMissed = true
    }

    package let name: String
    let key: Key
    /// Part of the checksums and codes of its rows (`RowChecksum`, `RowCode`); nil where values have checksums and codes of their own.
    let number: UInt8?
    let content: Content
    /// Whether a store without this table is damaged. Otherwise older programs do not make it, and the first opening for writing does.
    let isInEveryStore: Bool

    init(_ name: String, key: Key = .bytes, number: UInt8?, _ content: Content, isInEveryStore: Bool = true) {
        (self.name, self.key, self.number, self.content, self.isInEveryStore) = (name, key, number, content, isInEveryStore)
    }

    /// Whether the rows are derived from the events.
    var isIndex: Bool { if case .index = content { true } else { false } }

    /// How rows that no event contains are kept; nil for other tables.
    package var kept: Retention? { if case .kept(let kept) = content { kept } else { nil } }

    // MARK: The list

    static let blocks = TableDescriptor("blocks", key: .integer, number: nil, .blocks)
    /// Not missed by a salvage, since blocks name the types of their events too.
    package static let types = TableDescriptor("types", number: 1, .kept(Retention(isMissed: false)))
    package static let streams = TableDescriptor("streams", number: 2, .index)
    static let heads = TableDescriptor("heads", key: .integer, number: 3, .index)
    static let ids = TableDescriptor("ids", number: 4, .index)
    static let census = TableDescriptor("census", number: 5, .index)
    package static let epochs = TableDescriptor("epochs", number: 7, .kept(Retention()))
    /// The other rows say how far indexes are and which generations exist: a restored store has neither.
    package static let state = TableDescriptor("state", number: 6, .kept(Retention(backedUp: StateRows.numbersKey)))

    /// All tables of the log.
    package static let log = [blocks, types, streams, heads, ids, census, epochs, state] + Catalogue.allCases.map(\.table)
}

extension Catalogue {
    /// The table that holds the catalogue's rows.
    var table: TableDescriptor {
        switch self {
        case .imports: kept(8, .init(hasPositions: true))
        case .journal: kept(9)
        case .schemas: kept(10)
        case .definitions: kept(11)
        case .snapshots: kept(12)
        case .notes: kept(13, .init(isMissed: false))
        }
    }

    private func kept(_ number: UInt8, _ kept: TableDescriptor.Retention = .init()) -> TableDescriptor {
        TableDescriptor(rawValue, number: number, .kept(kept), isInEveryStore: false)
    }
}

extension [TableDescriptor] {
    package subscript(named name: String) -> TableDescriptor? { first { $0.name == name } }

    /// The name of every table, and whether its keys are integers: the tables that may be in the file.
    package var kinds: [String: Bool] { Dictionary(uniqueKeysWithValues: map { ($0.name, $0.key == .integer) }) }

    /// The checks of rows for the walk over all pages, by table.
    /// - Parameter codes: nil without the store's keys: then damage is found, and forgery is not.
    package func rowChecks(of storeTag: UInt64, _ codes: StoreCodes? = nil) -> [String: StructuralCheck.RowCheck] {
        var checks: [String: StructuralCheck.RowCheck] = [:]
        for table in self {
            guard let checksum = RowChecksum(table, storeTag: storeTag) else { continue }
            checks[table.name] = { key, row in
                guard let value = checksum.value(key, row) else { return false }
                return codes.map { RowCode(checksum, $0).value(key, value) != nil } ?? true
            }
        }
        return checks
    }

    /// The configuration for an environment with these tables.
    func configuration(_ options: Options, readOnly: Bool, creating: Bool = false) -> Environment.Configuration {
        var configuration = Environment.Configuration(
            tables: map(\.name), integerKeyTables: Set(filter { $0.key == .integer }.map(\.name)), mapBytes: options.mapBytes,
            readersMax: options.readersMax, readOnly: readOnly, creating: creating)
        configuration.leasesTurns = true
        configuration.required = Set(filter(\.isInEveryStore).map(\.name))
        return configuration
    }
}
