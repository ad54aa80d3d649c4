internal import Bytes
internal import EventModel
package import LMDB
internal import Platform
internal import Synchronization

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

    /// The declarations of the tables.
    package var descriptors: [TableDescriptor] { TableDescriptor.log }

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
