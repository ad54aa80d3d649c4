internal import Bytes
internal import EventModel
package import LMDB
internal import Platform
internal import Synchronization

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

    func configuration(_ options: Options, readOnly: Bool, creating: Bool = false) -> Environment.Configuration {
        var configuration = Environment.Configuration(
            tables: map(\.name), integerKeyTables: Set(filter { $0.key == .integer }.map(\.name)), mapBytes: options.mapBytes,
            readersMax: options.readersMax, readOnly: readOnly, creating: creating)
        configuration.leasesTurns = true
        configuration.required = Set(filter(\.isInEveryStore).map(\.name))
        return configuration
    }
}

/// All tables of the log environment; `TableDescriptor.log` declares them.
///
///     table        key                               value
///     blocks       u64 first position (integer key)  block (BlockLayout)
///     types        type name                         u32 id: 1, 2, 3 …
///     streams      stream name                       u64 position of its first event: its id
///     heads        u64 stream id (integer key)       u64 revision, u64 position, u64 jump position
///     ids          IDKey, 17 bytes                   u64 position
///     census       u32 BE type, u32 BE birth         u64 count
///     state        "numbers", "indexed",             see StateRows
///                  "generations"; "node"             see NodeRow.swift
///                  "replica"                         see ReplicaMark
///     epochs       u32 BE epoch                      u64 position of the cut, 32 bytes link at the cut
///     imports      the room above's                  u64 position of the batch's last event, then the room above's
///     journal      u64 BE number: 1, 2, 3 …          the room above's
///     schemas, definitions, snapshots, notes         the room above's
///
/// From format 4 of a store on, a `RowChecksum` follows each value except blocks; in a sealed store of format 6 a `RowCode` comes before
/// it.
///
/// Integers are little-endian unless they are keys that sort (BE). `streams`, `heads`, `ids` and
/// `census` cover the events up to `indexed`, or further where a sweep is under way.
package final class Tables: Sendable {
    package let blocks: Table
    package let types, streams, heads, ids, census, state, epochs: RowTable
    private let rows: [String: RowTable]
    /// The checks of rows for the walk over all pages.
    let checks: [String: StructuralCheck.RowCheck]

    /// - Parameter codes: for a store that has codes; nil without its keys, which allows only reading.
    init(_ environment: Environment, of store: StoreIdentity, _ codes: StoreCodes? = nil) throws(StorageError) {
        var rows: [String: RowTable] = [:]
        func opened(_ table: TableDescriptor) throws(StorageError) -> RowTable {
            let opened = RowTable(try environment.table(table.name), table, store, codes)
            rows[table.name] = opened
            return opened
        }
        blocks = try environment.table(TableDescriptor.blocks.name)
        types = try opened(.types)
        streams = try opened(.streams)
        heads = try opened(.heads)
        ids = try opened(.ids)
        census = try opened(.census)
        state = try opened(.state)
        epochs = try opened(.epochs)
        for catalogue in Catalogue.allCases { _ = try opened(catalogue.table) }
        self.rows = rows
        checks = store.hasRowChecksums ? TableDescriptor.log.rowChecks(of: store.id.tag, codes) : [:]
    }

    package subscript(catalogue: Catalogue) -> RowTable {
        guard let table = rows[catalogue.rawValue] else { preconditionFailure("every catalogue has its table") }
        return table
    }

    /// The rows of a table; nil for `blocks`.
    package subscript(table: TableDescriptor) -> RowTable? { rows[table.name] }
}

/// The bytes of an integer as a key or value.
package func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    (0 ..< T.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> T(8 * $0)) }
}

/// The bytes of an integer as a key that sorts by its value.
func sortable<T: FixedWidthInteger>(_ value: T) -> [UInt8] { bytes(value.byteSwapped) }

/// A type's number in this store; the same for as long as the store exists, whatever is cut.
package typealias TypeID = UInt32

/// The names of the types that this process has met, by id. An id never changes its name.
package final class TypeNames: Sendable {
    private struct State {
        var names: [TypeID: String] = [:]
        var ids: [Name: TypeID] = [:]
    }

    private let state = Monitor(State())
    /// All ids from 1 to this one are known, which is nearly always all of them: asking takes no lock.
    private let through = Atomic<TypeID>(0)

    package subscript(id: TypeID) -> String? { state.withLock { $0.names[id] } }

    func knows(_ id: TypeID) -> Bool {
        id > 0 && id <= through.load(ordering: .acquiring) || state.withLock { $0.names[id] != nil }
    }

    func id(of name: String) -> TypeID? { state.withLock { $0.ids[name] } }

    package func learn(_ id: TypeID, _ name: String) {
        state.withLock { state in
            state.names[id] = name
            state.ids[name] = id
            var last = through.load(ordering: .relaxed)
            while state.names[last + 1] != nil { last += 1 }
            through.store(last, ordering: .releasing)
        }
    }
}
