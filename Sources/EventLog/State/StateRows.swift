internal import Bytes
package import EventModel
package import Hashing
package import LMDB

/// The rows of the table `state`.
///
///     numbers      0 u32 format · 4 store id, 16 bytes · 20 u32 epoch · 24 u32 floor · 28 u32 live ·
///                  32 u32 top · 36 u32 head · 40 history digest, 32 bytes
///     indexed      u64 how far the indexes are written: a position
///     slots        u32 how many slots of the file `subjects` were handed out, at least; missing in logs that have used none
///     generations  for each, by rising fingerprint: u8 length, fingerprint in hex, u8 length, directory
package enum StateRows {
    /// The newest format that this program reads, which is also the one that it writes.
    package static let format = 1
    private static let numbersBytes = 72
    package static let numbersKey = Array("numbers".utf8)
    private static let indexed = Array("indexed".utf8)
    private static let generations = Array("generations".utf8)
    private static let slots = Array("slots".utf8)

    /// The fields of such a row, read without a log to compare it with; nil where the bytes are no such row.
    package static func numbers(of row: [UInt8]) -> (storeID: StoreID, epoch: Epoch, stamp: StateStamp)? {
        guard row.count >= numbersBytes, row.lent.load(UInt32.self, at: 0) == UInt32(format), let storeID = StoreID(Array(row[4 ..< 20])),
            let history = Digest(Array(row[40 ..< 72]))
        else { return nil }
        let stamp = StateStamp(numbers: versions(row.lent), history: history)
        let epoch = Epoch(row.lent.load(UInt32.self, at: 20))
        guard stamp.numbers.isInOrder, stamp.numbers.head <= .largest, epoch < Epoch(.max) else { return nil }
        return (storeID, epoch, stamp)
    }

    /// The row with an earlier epoch, if its own is later.
    package static func numbers(_ row: [UInt8], through epoch: Epoch) -> [UInt8] {
        guard let now = numbers(of: row), now.epoch > epoch else { return row }
        return Array(row[..<20]) + bytes(epoch.rawValue) + Array(row[24...])
    }

    private static func versions(_ row: RawSpan) -> VersionNumbers {
        func version(_ offset: Int) -> SchemaVersion { SchemaVersion(row.load(UInt32.self, at: offset)) }
        return VersionNumbers(floor: version(24), live: version(28), top: version(32), head: version(36))
    }

    /// The fields that every transaction needs; the rest of `StoreState` costs a little more.
    package struct Numbers: Hashable {
        var format: Int
        package var epoch: Epoch
        var indexed: Position
        package var stamp: StateStamp

        /// - Parameter last: the log's end.
        /// - Throws: `EvstoreError.corruptBlock` where no store, or no store whose log ends there, can have these numbers.
        func check(_ last: Position) throws {
            try StateRows.check(epoch, stamp.numbers)
            guard indexed <= last else {
                throw StateRows.foreign("indexed", "says that indexes hold events up to position \(indexed), and the log ends at \(last)")
            }
        }
    }

    package static func numbers(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Numbers {
        let row = try numbersRow(transaction, tables)
        let stamp = StateStamp(
            numbers: versions(row),
            history: Digest(row.slice(40, 32)) ?? .zero)
        return Numbers(
            format: Int(row.load(UInt32.self, at: 0)), epoch: Epoch(row.load(UInt32.self, at: 20)),
            indexed: try indexed(transaction, tables), stamp: stamp)
    }

    static func epoch(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Epoch {
        Epoch(try numbersRow(transaction, tables).load(UInt32.self, at: 20))
    }

    package static func state(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> StoreState {
        let numbers = try numbers(transaction, tables)
        let row = try numbersRow(transaction, tables)
        guard let storeID = StoreID([UInt8](copying: row.slice(4, 16))) else { throw damaged("the store id") }
        return StoreState(
            storeID: storeID, format: numbers.format, epoch: numbers.epoch, numbers: numbers.stamp.numbers, history: numbers.stamp.history,
            generations: try generations(transaction, tables), indexed: numbers.indexed)
    }

    package static func put(_ state: StoreState, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        var row = ByteBuffer(capacity: numbersBytes)
        row.append(littleEndian: UInt32(state.format))
        row.append(state.storeID.bytes)
        row.append(littleEndian: state.epoch.rawValue)
        for version in [state.floor, state.live, state.top, state.head] { row.append(littleEndian: version.rawValue) }
        row.append(state.history.bytes)
        try tables.state.put(numbersKey.lent, row.bytes, &transaction)
        row.removeAll()
        for (fingerprint, directory) in state.generations.sorted(by: { $0.key < $1.key }) {
            for text in [fingerprint, directory] {
                guard text.utf8.count < 256 else { throw EvstoreError.misuse("a generation's name is too long: \(text)") }
                row.append(UInt8(text.utf8.count))
                row.append(text)
            }
        }
        try tables.state.put(generations.lent, row.bytes, &transaction)
        try put(indexed: state.indexed, &transaction, tables)
    }

    static func put(indexed position: Position, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.state.put(indexed.lent, bytes(position.rawValue).lent, &transaction)
    }

    /// How many slots of the file `subjects` the log's events may name; 0 where the log has no note of it.
    package static func slots(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> UInt32 {
        guard let row = try tables.state.get(slots.lent, transaction) else { return 0 }
        guard row.byteCount == 4 else { throw damaged("slots") }
        return row.load(UInt32.self, at: 0)
    }

    /// Notes that so many slots were handed out, all of which are durable. Older programs have noted nothing.
    static func note(slots count: UInt32?, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        guard let count, try count > slots(transaction.reads, tables) else { return }
        try tables.state.put(slots.lent, bytes(count).lent, &transaction)
    }

    @_lifetime(borrow transaction)
    private static func numbersRow(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> RawSpan {
        guard let row = try tables.state.get(numbersKey.lent, transaction), row.byteCount == numbersBytes
        else { throw damaged("numbers") }
        return row
    }

    private static func indexed(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Position {
        guard let row = try tables.state.get(indexed.lent, transaction), row.byteCount == 8 else { throw damaged("indexed") }
        return Position(row.load(UInt64.self, at: 0))
    }

    private static func generations(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> [String: String] {
        guard let row = try tables.state.get(generations.lent, transaction) else { throw damaged("generations") }
        guard let texts = texts(row, from: 0), texts.count % 2 == 0 else { throw damaged("generations") }
        var result: [String: String] = [:]
        for index in stride(from: 0, to: texts.count, by: 2) { result[texts[index]] = texts[index + 1] }
        return result
    }

    /// Texts at the end of a row, each behind its length, u8; nil where the bytes are none.
    static func texts(_ row: RawSpan, from start: Int) -> [String]? {
        var texts: [String] = []
        var offset = start
        while offset < row.byteCount {
            let count = Int(row.byte(at: offset))
            guard offset + 1 + count <= row.byteCount, let text = String(utf8: row.slice(offset + 1, count)) else { return nil }
            texts.append(text)
            offset += 1 + count
        }
        return texts
    }

    /// - Throws: `EvstoreError.corruptBlock` where no store can have these numbers.
    static func check(_ epoch: Epoch, _ numbers: VersionNumbers) throws {
        guard epoch < Epoch(.max), numbers.isInOrder, numbers.head <= .largest else {
            throw foreign("numbers", "says epoch \(epoch), and \(numbers)")
        }
    }

    static func foreign(_ row: String, _ what: String) -> EvstoreError {
        .corruptBlock(position: .start, reason: "the row \"\(row)\" of the table state \(what)")
    }

    private static func damaged(_ row: String) -> EvstoreError {
        .corruptBlock(position: .start, reason: "the row \"\(row)\" of the table state is missing or has the wrong length")
    }
}

/// The four numbers of a store: `floor <= live <= top <= head`.
package struct VersionNumbers: Hashable, Sendable {
    /// The oldest version still promised.
    package var floor: SchemaVersion
    /// The version whose read models are the default.
    package var live: SchemaVersion
    /// The highest version that has been live since the floor moved.
    package var top: SchemaVersion
    /// The newest version the store knows.
    package var head: SchemaVersion

    package init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion) {
        (self.floor, self.live, self.top, self.head) = (floor, live, top, head)
    }

    static let none = VersionNumbers(floor: SchemaVersion(0), live: SchemaVersion(0), top: SchemaVersion(0), head: SchemaVersion(0))

    package var isInOrder: Bool { floor <= live && live <= top && top <= head }

    /// Whether a store with this many registered versions may have these numbers: all are registered versions, and 0 is none.
    package func fit(_ versions: Int) -> Bool {
        isInOrder && head.number <= versions && (floor > SchemaVersion(0) || versions == 0)
    }
}

extension VersionNumbers: CustomStringConvertible {
    package var description: String { "floor \(floor), live \(live), top \(top), head \(head)" }
}

/// A type with the numbers of a store, each under its own name.
package protocol VersionNumbered {
    var numbers: VersionNumbers { get set }
}

extension VersionNumbered {
    package var floor: SchemaVersion {
        get { numbers.floor }
        set { numbers.floor = newValue }
    }
    package var live: SchemaVersion {
        get { numbers.live }
        set { numbers.live = newValue }
    }
    package var top: SchemaVersion {
        get { numbers.top }
        set { numbers.top = newValue }
    }
    package var head: SchemaVersion {
        get { numbers.head }
        set { numbers.head = newValue }
    }
}

/// The state that an append was checked against: the check holds as long as none of it has changed.
package struct StateStamp: VersionNumbered, Hashable, Sendable {
    package var numbers: VersionNumbers
    package var history: Digest
}

/// The state of a store: its numbers, and what changes with them.
package struct StoreState: VersionNumbered, Hashable, Sendable {
    package internal(set) var storeID: StoreID
    package internal(set) var format: Int
    package var epoch: Epoch
    package var numbers: VersionNumbers
    /// The digest of all registered version files and projection definitions.
    package var history: Digest
    /// The name of the directory in use, by fingerprint in hexadecimal.
    package var generations: [String: String]
    /// How far the log's indexes are written to their tables.
    package var indexed: Position

    package var stamp: StateStamp { StateStamp(numbers: numbers, history: history) }
}

/// Tables that upper rooms keep in the log's environment: the log knows how their keys sort, and not what they mean.
package enum Catalogue: String, CaseIterable, Sendable {
    case schemas, definitions, imports, journal, snapshots, notes
}
