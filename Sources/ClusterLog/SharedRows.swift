internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// The rows of a log that, beside the events, are equal on every node of a cluster: registered versions and definitions, marks of imports,
/// epochs, the nodes, and all of the numbers except `live`. Other rows are a node's own: its journal, snapshots, consumers, generations.
enum SharedRows {
    /// The name of the numbers in a frame: floor, top, head and epoch, u32 each, and the digest of the history, 32 bytes.
    static let numbers = "numbers"
    static let numbersKey: [UInt8] = Array("shared".utf8)
    private static let numbersBytes = 48

    // MARK: Encoding

    /// The changes of a commit in the form of a frame.
    static func encoded(_ changes: [SharedChange]) -> [UInt8] {
        var rows = ByteBuffer(capacity: 16)
        for change in changes {
            switch change {
            case .cut(let cut): append(ClusterCut.name, ClusterCut.key, cut.value, to: &rows)
            case .numbers(let state): append(state, to: &rows)
            case .row(let catalogue, let key, let value): append(catalogue.rawValue, key, value, to: &rows)
            }
        }
        return rows.array()
    }

    /// Appends a row; one that is removed if the value is nil.
    static func append(_ table: String, _ key: [UInt8], _ value: [UInt8]?, to rows: inout ByteBuffer) {
        rows.append(UInt8(table.utf8.count))
        rows.append(table)
        rows.append(littleEndian: UInt16(key.count))
        rows.append(key)
        rows.append(littleEndian: UInt32(value.map { $0.count + 1 } ?? 0))
        if let value { rows.append(value) }
    }

    static func append(_ state: StoreState, to rows: inout ByteBuffer) {
        var value = ByteBuffer(capacity: numbersBytes)
        for version in [state.floor, state.top, state.head] { value.append(littleEndian: version.rawValue) }
        value.append(littleEndian: state.epoch.rawValue)
        value.append(state.history.bytes)
        append(numbers, numbersKey, value.array(), to: &rows)
    }

    /// Appends all shared rows of a store that becomes a cluster's first node.
    static func appendAll(_ transaction: borrowing ReadTransaction, _ tables: Tables, to rows: inout ByteBuffer) throws {
        append(try StateRows.state(transaction, tables), to: &rows)
        for catalogue in Catalogue.allCases {
            // Rows of nodes are left from a cluster log that the store once belonged to.
            for row in try Rows.all([], transaction, tables[catalogue])
            where catalogue.isShared(row.key) && !row.key.starts(with: NodeRow.prefix) {
                append(catalogue.rawValue, row.key, row.value, to: &rows)
            }
        }
        // Types too: a cut leaves types without events, and their numbers stay taken.
        for table in [tables.types, tables.epochs] {
            for row in try Rows.all([], transaction, table) { append(table.name, row.key, row.value, to: &rows) }
        }
    }

    // MARK: Taking in

    /// Writes the rows of a frame to their tables.
    /// - Parameter judge: nil where the registered versions are checked later, before they are used.
    /// - Throws: `FrameDamage`; `EvstoreError.schemaNewer`.
    static func put(
        _ rows: RawSpan, of node: String, _ judge: CatalogueValidator?, _ transaction: inout WriteTransaction, _ tables: Tables
    ) throws {
        var reading = Reading(rows)
        var hasRegistered = false
        let typesCount = try tables.types.count(transaction.reads)
        while let row = try reading.next() {
            try check(row, transaction.reads, tables)
            // These rows are checked together.
            if row.name == Catalogue.schemas.rawValue || row.name == Catalogue.definitions.rawValue { hasRegistered = true }
            switch row.name {
            case numbers:
                hasRegistered = true
                try putNumbers(row.value, &transaction, tables)
            // The cut was made before any row is written.
            case ClusterCut.name: break
            default:
                let table = try table(row.name, [UInt8](copying: row.key), tables)
                if row.isRemoved { try table.delete(row.key, &transaction) } else { try table.put(row.key, row.value, &transaction) }
            }
        }
        // A new type gets the next number.
        if try tables.types.count(transaction.reads) != typesCount, try !Indexes.areTypesNumbered(transaction.reads, tables) {
            throw FrameDamage("the number of one of its types is another one's, or does not follow")
        }
        if rows.byteCount > 0 { try settleNumbers(of: node, &transaction, tables) }
        if hasRegistered, let judge { try self.judge(judge, transaction.reads, tables) }
    }

    struct Row: ~Escapable {
        let name: String
        let key, value: RawSpan
        let isRemoved: Bool

        @_lifetime(copy key, copy value)
        init(_ name: String, _ key: RawSpan, _ value: RawSpan, isRemoved: Bool) {
            (self.name, self.key, self.value, self.isRemoved) = (name, key, value, isRemoved)
        }
    }

    struct Reading: ~Escapable {
        private let rows: RawSpan
        private var offset = 0

        @_lifetime(copy rows)
        init(_ rows: RawSpan) { self.rows = rows }

        /// - Throws: `FrameDamage`.
        @_lifetime(copy self)
        @_lifetime(self: copy self)
        mutating func next() throws -> Row? {
            if offset == rows.byteCount { return nil }
            let nameBytes = Int(rows.byte(at: try take(1)))
            let name = String(utf8: rows.slice(try take(nameBytes), nameBytes)) ?? ""
            let keyBytes = Int(rows.load(UInt16.self, at: try take(2)))
            let key = rows.slice(try take(keyBytes), keyBytes)
            let size = Int(rows.load(UInt32.self, at: try take(4)))
            let value = rows.slice(try take(max(size - 1, 0)), max(size - 1, 0))
            guard (1 ... 511).contains(keyBytes) else { throw FrameDamage("a row's key has \(keyBytes) bytes") }
            return Row(name, key, value, isRemoved: size == 0)
        }

        @_lifetime(self: copy self)
        private mutating func take(_ count: Int) throws -> Int {
            guard count <= rows.byteCount - offset else { throw FrameDamage("a row ends outside it") }
            defer { offset += count }
            return offset
        }
    }

    /// Sets the live version to that of the node's own row. They differ after a flip or rollback of this node if it was killed before it
    /// had made the change here, or if its files are an older copy. Then checks that every version up to the head has its row, and that a
    /// further epoch is possible.
    private static func settleNumbers(of node: String, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        var state = try StateRows.state(transaction.reads, tables)
        let row = try Rows.get(NodeRow.key(node), transaction.reads, tables[.notes])
        if let live = row.flatMap({ NodeRow(NodeRow.key(node), $0) })?.live {
            // A replica that becomes a node may have a row of a later frame: its version is reached with that.
            let reached = max(state.floor, min(live, state.top))
            if reached != state.live {
                state.live = reached
                try StateRows.put(state, &transaction, tables)
            }
        }
        let versions = try tables[.schemas].count(transaction.reads)
        guard state.numbers.isInOrder, state.head.number <= versions, state.epoch.rawValue < .max else {
            throw FrameDamage("its numbers are invalid")
        }
    }

    private static func table(_ name: String, _ key: [UInt8], _ tables: Tables) throws -> RowTable {
        if name == TableDescriptor.epochs.name { return tables.epochs }
        if name == TableDescriptor.types.name { return tables.types }
        guard let catalogue = Catalogue(rawValue: name), catalogue.isShared(key) else {
            throw FrameDamage("it has a row for a table that nodes do not share")
        }
        return tables[catalogue]
    }

    private static func putNumbers(_ value: RawSpan, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        guard value.byteCount == numbersBytes, let history = Digest(value.slice(16, 32)) else {
            throw FrameDamage("its numbers have the wrong length")
        }
        var state = try StateRows.state(transaction.reads, tables)
        func version(_ offset: Int) -> SchemaVersion { SchemaVersion(value.load(UInt32.self, at: offset)) }
        (state.floor, state.top, state.head, state.history) = (version(0), version(4), version(8), history)
        state.epoch = Epoch(value.load(UInt32.self, at: 12))
        // A node that has not followed begins with a version that all others can go back to; a replica that becomes a node may come from
        // one that is further.
        state.live = max(state.floor, min(state.live, state.top))
        try StateRows.put(state, &transaction, tables)
    }
}

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

    /// A name keeps its number; the numbers of new names are checked once all are there.
    private static func checkType(_ row: borrowing Row, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        guard !row.isRemoved, let name = String(utf8: row.key), row.value.byteCount == MemoryLayout<TypeID>.size else {
            throw FrameDamage("its row of a type is invalid")
        }
        if let known = try Indexes.type(name, transaction, tables), known != row.value.load(TypeID.self, at: 0) {
            throw FrameDamage("its type \(quoted(name)) has another number here")
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
