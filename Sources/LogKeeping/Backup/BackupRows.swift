internal import Bytes
internal import EventLog
internal import LMDB

/// The rows that a backup holds beside the blocks, because they can't be made from these.
enum BackupRows {
    /// The tables that a backup holds; `only` is the key of the one row that is wanted, nil where all are.
    private static func tables(_ tables: Tables) -> [(table: RowTable, only: [UInt8]?)] {
        tables.descriptors.compactMap { table in
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
                    if body.count >= Frame.bytesWanted {
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
            try each(entry.table, key, value)
        }
    }

    /// Makes a log's rows what `wanted` has, by table and key: others are removed, and what is the same is not written.
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
