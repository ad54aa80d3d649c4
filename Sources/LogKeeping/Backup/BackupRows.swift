internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Migration
internal import Platform

/// The rows that a backup holds in addition to the blocks, because they can't be made from blocks.
enum BackupRows {
    /// The tables that a backup holds; `only` is the key of the only row that it holds, nil for all rows.
    private static func tables(_ tables: Tables) -> [(table: RowTable, only: [UInt8]?)] {
        TableDescriptor.log.compactMap { table in
            guard let kept = table.kept, let rows = tables[table] else { return nil }
            return (rows, kept.backedUp)
        }
    }

    /// Returns the bodies of the frames that hold the rows.
    static func bodies(_ transaction: borrowing ReadTransaction, _ all: Tables) throws -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        var body = ByteBuffer()
        for (table, only) in tables(all) {
            try table.forEach(transaction) { key, value in
                if only.map({ key.equals($0.lent) }) ?? true {
                    append(table.name, key, value, to: &body)
                    if body.count >= BackupFrame.bytesWanted {
                        bodies.append(body.array())
                        body.removeAll()
                    }
                }
                return true
            }
        }
        if body.count > 0 { bodies.append(body.array()) }
        return bodies
    }

    private static func append(_ table: String, _ key: RawSpan, _ value: RawSpan, to body: inout ByteBuffer) {
        body.append(UInt8(table.utf8.count))
        body.append(table)
        body.append(littleEndian: UInt16(key.byteCount))
        body.append(key)
        body.append(littleEndian: UInt32(value.byteCount))
        body.append(value)
    }

    /// Writes the rows of a frame's body to their tables.
    /// - Throws: `BackupDamage`.
    static func put(_ body: [UInt8], _ transaction: inout WriteTransaction, _ all: Tables) throws {
        try forEach(body, all) { table, key, value in try table.put(key, value, &transaction) }
    }

    /// Lends the rows of a frame's body, each with its table.
    /// - Throws: `BackupDamage`.
    static func forEach(_ body: [UInt8], _ all: Tables, _ each: (RowTable, _ key: RawSpan, _ value: RawSpan) throws -> Void) throws {
        let bytes = body.lent
        let known = tables(all)
        var offset = 0
        func take(_ count: Int) throws -> Int {
            guard count <= bytes.byteCount - offset else { throw BackupDamage("a row ends outside its frame") }
            defer { offset += count }
            return offset
        }
        while offset < bytes.byteCount {
            let nameBytes = Int(bytes.byte(at: try take(1)))
            let name = String(utf8: bytes.slice(try take(nameBytes), nameBytes))
            let keyBytes = Int(bytes.load(UInt16.self, at: try take(2)))
            let key = bytes.slice(try take(keyBytes), keyBytes)
            let valueBytes = Int(bytes.load(UInt32.self, at: try take(4)))
            let value = bytes.slice(try take(valueBytes), valueBytes)
            guard let entry = known.first(where: { $0.table.name == name }), entry.only.map({ key.equals($0.lent) }) ?? true,
                (1 ... 511).contains(keyBytes)
            else { throw BackupDamage("it has a row for a table that no backup holds") }
            if let complaint = complaint(entry.table.name, [UInt8](copying: key), [UInt8](copying: value)) { throw BackupDamage(complaint) }
            try each(entry.table, key, value)
        }
    }

    // MARK: Checking rows

    /// Why no store can have written a row, although its checksums are right; nil for a possible row.
    private static func complaint(_ table: String, _ key: [UInt8], _ value: [UInt8]) -> String? {
        switch table {
        case TableDescriptor.types.name:
            let isType = String(utf8: key.lent) != nil && value.count == 4 && value.lent.load(TypeID.self, at: 0) > 0
            return isType ? nil : "a row of the table types is invalid"
        case TableDescriptor.epochs.name: return Epochs.cut(key.lent, value.lent) == nil ? "a row of the table epochs is invalid" : nil
        case TableDescriptor.state.name:
            return StateRows.numbers(of: value) == nil ? "its numbers are invalid" : nil
        default:
            guard let catalogue = Catalogue(rawValue: table) else { return "no store has a table \(table)" }
            do throws(EvstoreError) { try CatalogueRows.check(catalogue, key, value, in: table) } catch {
                return "a row of the table \(table): \(error.message)"
            }
            return nil
        }
    }

    /// The id of the finding for a row that no store has written.
    static let foreignRow = "STORE022"

    /// The findings about the rows of a log that can't be made from its events: the first ones of each table, up to `most`.
    static func findings(_ log: EventLog, most: Int = 10) throws -> [Finding] {
        var findings: [Finding] = []
        try log.read { reader in
            for (table, only) in tables(log.access.tables) {
                var left = most
                try table.forEach(reader.transaction) { key, value in
                    guard only.map({ key.equals($0.lent) }) ?? true else { return true }
                    guard let complaint = complaint(table.name, [UInt8](copying: key), [UInt8](copying: value)) else { return true }
                    findings.append(Finding(id: foreignRow, message: complaint))
                    left -= 1
                    return left > 0
                }
            }
            let (numbers, versions) = (try reader.state.numbers, try reader.count(.schemas))
            if !numbers.fit(versions) {
                findings.append(
                    Finding(id: foreignRow, message: "the store's numbers are \(numbers), and it has \(versions) registered versions"))
            }
        }
        return findings
    }

    /// Makes a log's rows equal to `wanted`, by table and key: removes other rows, and does not write equal ones again.
    static func replace(with wanted: [String: [[UInt8]: [UInt8]]], _ transaction: inout WriteTransaction, _ all: Tables) throws {
        for (table, only) in tables(all) {
            var missing = wanted[table.name] ?? [:]
            var gone: [[UInt8]] = []
            try table.forEach(transaction.reads) { key, value in
                if let only, !key.equals(only.lent) { return true }
                let name = [UInt8](copying: key)
                if let new = missing[name] {
                    if value.equals(new.lent) { missing[name] = nil }
                } else {
                    gone.append(name)
                }
                return true
            }
            for key in gone { try table.delete(key.lent, &transaction) }
            for (key, value) in missing { try table.put(key.lent, value.lent, &transaction) }
        }
    }
}
