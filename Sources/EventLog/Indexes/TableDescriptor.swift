internal import EventModel
package import LMDB

/// The declaration of a table of the log. Each is declared once, in the list `log`, and everything that handles tables works by that
/// list: which tables a file may have and how their keys sort, checksums and codes of rows, cuts, `verify`, backups, salvage. So a table
/// that is added to the list is handled everywhere.
///
/// To add one: a number that no other has had, what its rows are, and a line in the format at the top of `Tables`. A `switch` over
/// `Content` or `Index` has no default, so that a new kind of table does not compile before each of them knows of it.
package struct TableDescriptor: Sendable {
    enum Key: Sendable {
        /// In the order of their bytes.
        case bytes
        /// Native unsigned 64-bit integers.
        case integer
    }

    /// Where its rows come from, which decides what a cut, `verify`, a backup and a salvage do with them.
    enum Content: Sendable {
        /// The events. A cut takes blocks off the end; `verify` walks them; backups hold them in frames of their own.
        case blocks
        /// Follows from the events. A cut takes out of it what goes; `verify` compares it; no backup holds it.
        case index(Index)
        /// Can't be rebuilt from the events. `verify` checks its checksums and codes; backups hold the rows, and a salvage looks for them.
        case kept(Kept)
    }

    /// How an index follows from the events.
    enum Index: Sendable {
        /// A stream's name to its id, the position of its first event.
        case streams
        /// A stream's id to its last event.
        case heads
        /// An id that a caller gave to the event's position.
        case ids
        /// A type and a birth version to the number of their events.
        case census
        /// A key to the position of the one event that has it; nil where an event has none. The record is lent as it lies in its
        /// block, sealed where that is.
        case positions(of: @Sendable (RecordView) -> [UInt8]?)
    }

    /// How rows that can't be rebuilt from the events are kept.
    package struct Kept: Sendable {
        /// Whether values begin with a u64 position: a cut removes the rows whose position lies beyond it.
        var hasPositions = false
        /// The row that a backup holds; nil where it holds all of them.
        package var backedUp: [UInt8]?
        /// Whether a salvage has to report that the newest rows may be missing.
        package var isMissed = true
    }

    package let name: String
    let key: Key
    /// Part of the checksums and codes of its rows (`RowChecksum`, `RowCode`); nil where values have checksums and codes of their own.
    let number: UInt8?
    let content: Content
    /// Whether a store without it is damaged. Else older programs do not make it, and the first opening for writing does.
    let isInEveryStore: Bool

    init(_ name: String, key: Key = .bytes, number: UInt8?, _ content: Content, isInEveryStore: Bool = true) {
        (self.name, self.key, self.number, self.content, self.isInEveryStore) = (name, key, number, content, isInEveryStore)
    }

    /// How an index follows from the events; nil for other tables.
    var index: Index? { if case .index(let index) = content { index } else { nil } }

    /// How its rows are kept where no event says them; nil for other tables.
    package var kept: Kept? { if case .kept(let kept) = content { kept } else { nil } }

    // MARK: The list

    static let blocks = TableDescriptor("blocks", key: .integer, number: nil, .blocks)
    /// Blocks name the types of their events too.
    package static let types = TableDescriptor("types", number: 1, .kept(Kept(isMissed: false)))
    package static let streams = TableDescriptor("streams", number: 2, .index(.streams))
    static let heads = TableDescriptor("heads", key: .integer, number: 3, .index(.heads))
    static let ids = TableDescriptor("ids", number: 4, .index(.ids))
    static let census = TableDescriptor("census", number: 5, .index(.census))
    package static let epochs = TableDescriptor("epochs", number: 7, .kept(Kept()))
    /// The other rows say how far indexes are and which generations there are: a restored store has none of either.
    package static let state = TableDescriptor("state", number: 6, .kept(Kept(backedUp: StateRows.numbersKey)))

    /// Every table of the log.
    package static let log = [blocks, types, streams, heads, ids, census, epochs, state] + Catalogue.allCases.map(\.table)
}

extension Catalogue {
    /// The table that holds its rows.
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

    private func kept(_ number: UInt8, _ kept: TableDescriptor.Kept = .init()) -> TableDescriptor {
        TableDescriptor(rawValue, number: number, .kept(kept), isInEveryStore: false)
    }
}

extension [TableDescriptor] {
    package subscript(named name: String) -> TableDescriptor? { first { $0.name == name } }

    /// Every table's name, and whether its keys are integers: what there may be in the file.
    package var kinds: [String: Bool] { Dictionary(uniqueKeysWithValues: map { ($0.name, $0.key == .integer) }) }

    /// The tables whose rows carry checksums, and codes where the store has them.
    var withRowChecks: [TableDescriptor] { filter { $0.number != nil } }

    /// The checks of rows that the walk over all pages makes, by table.
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

    /// How an environment with these tables is opened.
    func configuration(_ options: Options, readOnly: Bool, creating: Bool = false) -> Environment.Configuration {
        var configuration = Environment.Configuration(
            tables: map(\.name), integerKeyTables: Set(filter { $0.key == .integer }.map(\.name)), mapBytes: options.mapBytes,
            readersMax: options.readersMax, readOnly: readOnly, creating: creating)
        configuration.leasesTurns = true
        configuration.required = Set(filter(\.isInEveryStore).map(\.name))
        // A reader can do without an index that the store lacks, but not without rows that can't be rebuilt.
        configuration.dispensable = Set(filter { !$0.isInEveryStore && $0.index != nil }.map(\.name))
        return configuration
    }
}

extension EventLog {
    /// Every table of a log, and whether its keys are integers: for reading the file without a log.
    package static var tableKinds: [String: Bool] { TableDescriptor.log.kinds }
}
