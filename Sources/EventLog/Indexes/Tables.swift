internal import Bytes
internal import EventModel
internal import LMDB
internal import System

/// Every table of the log environment.
///
///     table        key                               value
///     blocks       u64 first position (integer key)  block (BlockLayout)
///     types        type name                         u32 id: 1, 2, 3 …
///     streams      stream name                       u64 position of its first event: its id
///     heads        u64 stream id (integer key)       u64 revision, u64 position, u64 jump position
///     ids          IDKey, 17 bytes                   u64 position
///     census       u32 BE type, u32 BE birth         u64 count
///     state        "numbers", "indexed",             see StateRows
///                  "generations"
///     epochs       u32 BE epoch                      u64 position of the cut, 32 bytes link at the cut
///     imports      the room above's                  u64 position of the batch's last event, then the room above's
///     journal      u64 BE number: 1, 2, 3 …          the room above's
///     schemas, definitions, snapshots, notes         the room above's
///
/// From format 4 of a store on, a `RowSeal` stands behind each value but a block; in a sealed one of format 6 a `RowCode` before it.
///
/// Integers are little-endian unless they are keys that sort (BE). `streams`, `heads`, `ids` and
/// `census` say what is true up to `indexed`, or later where a sweep is under way.
struct Tables: Sendable {
    let blocks: Table
    let types, streams, heads, ids, census, state, epochs: RowTable
    private let catalogues: [Catalogue: RowTable]
    /// What the walk over all pages asks of each row.
    let checks: [String: @Sendable (RawSpan, RawSpan) -> Bool]

    /// - Parameter codes: of a store that has them; nil for who has none of its keys and can only read.
    init(_ environment: Environment, of store: StoreIdentity, _ codes: StoreCodes? = nil) throws(StorageError) {
        func rows(_ name: String) throws(StorageError) -> RowTable {
            RowTable(try environment.table(name), store, codes)
        }
        blocks = try environment.table("blocks")
        types = try rows("types")
        streams = try rows("streams")
        heads = try rows("heads")
        ids = try rows("ids")
        census = try rows("census")
        state = try rows("state")
        epochs = try rows("epochs")
        var catalogues: [Catalogue: RowTable] = [:]
        for catalogue in Catalogue.allCases { catalogues[catalogue] = try rows(catalogue.rawValue) }
        self.catalogues = catalogues
        checks = store.sealsRows ? RowSeal.checks(of: store.id.tag, codes) : [:]
    }

    subscript(catalogue: Catalogue) -> RowTable {
        guard let table = catalogues[catalogue] else {
            preconditionFailure("every catalogue has its table")
        }
        return table
    }

    private static let names =
        ["blocks", "types", "streams", "heads", "ids", "census", "state", "epochs"] + Catalogue.allCases.map(\.rawValue)
    private static let integerKeys: Set<String> = ["blocks", "heads"]

    /// Every table's name, and whether its keys are integers.
    static var kinds: [String: Bool] { Dictionary(uniqueKeysWithValues: names.map { ($0, integerKeys.contains($0)) }) }

    static func configuration(_ options: Options, readOnly: Bool, creating: Bool = false) -> Environment.Configuration {
        Environment.Configuration(
            tables: names, integerKeyTables: integerKeys, mapBytes: options.mapBytes, readersMax: options.readersMax, readOnly: readOnly,
            creating: creating)
    }
}

/// The bytes of an integer as a key or value.
func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    (0 ..< T.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> T(8 * $0)) }
}

/// The bytes of an integer as a key that sorts by its value.
func sortable<T: FixedWidthInteger>(_ value: T) -> [UInt8] { bytes(value.byteSwapped) }

/// Where a caller's id is looked up: a UUID itself, or a hash of any other text, which is compared
/// with the record's own id before it is believed.
struct IDKey: Hashable, Comparable, Sendable {
    let kind: UInt8
    let high: UInt64
    let low: UInt64

    static let uuid: UInt8 = 1
    static let text: UInt8 = 2

    var bytes: [UInt8] { [kind] + sortable(high) + sortable(low) }

    static func < (a: IDKey, b: IDKey) -> Bool { (a.kind, a.high, a.low) < (b.kind, b.high, b.low) }
}
