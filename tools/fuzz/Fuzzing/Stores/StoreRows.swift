internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import SchemaEvolution

/// The rows of a closed store's log and read models, changed as somebody changes them who makes every checksum right again.
struct StoreRows {
    private let store: String

    init(_ store: String) { self.store = store }

    /// Changes a row of the log; returns what was changed.
    func changeLog(_ random: inout SeededRandom) throws -> String {
        let tag = try Manifest.identity(at: store).id.tag
        // The few rows of `state` decide most.
        let tables = TableDescriptor.log.filter { $0.name != "blocks" } + [TableDescriptor](repeating: .state, count: 4)
        return try change("log", TableDescriptor.log.kinds, random.pick(tables).name, &random) { table, key, row in
            guard let checksum = TableDescriptor.log[named: table].flatMap({ RowChecksum($0, storeTag: tag) }) else { return row }
            var whole = ByteBuffer(capacity: row.count + RowChecksum.bytes)
            whole.append(row)
            whole.append(littleEndian: checksum.sum(key.lent, row.lent))
            return whole.array()
        }
    }

    /// Changes a record of the last block, or its header, with the checksums of both.
    func changeLastBlock(_ random: inout SeededRandom) throws -> String {
        let tag = try Manifest.identity(at: store).id.tag
        return try within("log", TableDescriptor.log.kinds) { transaction, environment in
            let table = try environment.table("blocks")
            var cursor = transaction.cursor(table)
            guard try cursor.last() else { return "no block" }
            let key = [UInt8](copying: cursor.key)
            var block = [UInt8](copying: cursor.value)
            let what = Self.change(&block, &random, storeTag: tag)
            try transaction.put(table, key.lent, block.lent)
            return what
        }
    }

    /// Changes a number of the header or of a record, then makes the checksums right (`BlockLayout` has the format).
    private static func change(_ block: inout [UInt8], _ random: inout SeededRandom, storeTag: UInt64) -> String {
        let before = block
        let header = before.lent
        let (count, offsets) = (
            Int(header.load(UInt32.self, at: BlockLayout.Header.count)), Int(header.load(UInt32.self, at: BlockLayout.Header.offsets))
        )
        let epoch = Epoch(header.load(UInt32.self, at: BlockLayout.Header.epoch))
        let first = Position(header.load(UInt64.self, at: BlockLayout.Header.first))
        let extreme = random.pick(Extremes.integers)
        let index = Int.random(in: 0 ..< count, using: &random)
        let entry = offsets + 8 * index
        let start = Int(header.load(UInt32.self, at: entry))
        let end = index + 1 < count ? Int(header.load(UInt32.self, at: entry + 8)) : BlockLayout.bodyEnd(header)
        let what: String
        if random.once(in: 4) {
            let (place, width) = random.pick([(4, 4), (24, 8), (24, 8), (32, 8), (40, 4), (80, 4), (84, 4)])
            Extremes.put(extreme, width, at: place, &block)
            what = "\(extreme) at \(place) of the last block's header"
        } else {
            // Stream, revision, previous, jump, time, type, birth version, lengths.
            let (place, width) = random.pick([
                (0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (32, 8), (40, 4), (44, 4), (44, 4), (48, 4), (52, 4),
            ])
            Extremes.put(extreme, width, at: start + place, &block)
            what = "\(extreme) at \(place) of record \(index) of the last block"
        }
        let place = BlockLayout.place(storeTag, epoch, first.plus(UInt64(index)))
        let record = Array(block[start ..< end])
        let sum = UInt32(truncatingIfNeeded: checksum(record.lent)) ^ place
        Extremes.put(UInt64(sum), 4, at: entry + 4, &block)
        let body = Array(block.dropLast(BlockLayout.checksumBytes))
        Extremes.put(checksum(body.lent), 8, at: body.count, &block)
        return what
    }

    /// Changes a row of a read model: mostly what it says of itself.
    func changeReadModel(_ name: String, _ random: inout SeededRandom) throws -> String {
        let kinds = ["rows": false, "meta": false, "quarantine": false]
        return try change("generations/\(name)", kinds, random.pick(["meta", "meta", "rows", "quarantine"]), &random) { _, key, row in
            let sum = UInt32(truncatingIfNeeded: seededHash(row.lent, seededHash(key.lent, 0)))
            var whole = ByteBuffer(capacity: row.count + 5)
            whole.append(0 as UInt8)
            whole.append(row)
            whole.append(littleEndian: sum)
            return whole.array()
        }
    }

    /// - Parameter whole: a row as it lies in the table, with its checksum.
    private func change(
        _ place: String, _ kinds: [String: Bool], _ name: String, _ random: inout SeededRandom,
        _ whole: (_ table: String, _ key: [UInt8], _ row: [UInt8]) -> [UInt8]
    ) throws -> String {
        try within(place, kinds) { transaction, environment in
            let table = try environment.table(name)
            var rows: [(key: [UInt8], value: [UInt8])] = []
            var cursor = transaction.cursor(table)
            var isThere = try cursor.first()
            while isThere {
                rows.append(([UInt8](copying: cursor.key), [UInt8](copying: cursor.value)))
                isThere = try cursor.next()
            }
            guard !rows.isEmpty else { return "no row in \(place)" }
            let row = random.pick(rows)
            let isModel = place != "log"
            let value = isModel ? Array(row.value.dropFirst().dropLast(4)) : Array(row.value.dropLast(RowChecksum.bytes))
            var (key, new) = (row.key, value)
            if random.once(in: 5), key.count >= 4 {
                let width = key.count >= 8 && !random.once(in: 3) ? 8 : 4
                let isBigEndian = kinds[name] == false
                Extremes.put(random.pick(Extremes.integers), width, at: key.count - width, isBigEndian: isBigEndian, &key)
                if random.once(in: 2) { try transaction.delete(table, row.key.lent) }
            } else {
                new = Extremes.changed(value, &random)
            }
            try transaction.put(table, key.lent, whole(name, key, new).lent)
            return "\(place), \(name), \(key.isEmpty ? "" : shown(key)): \(shown(new))"
        }
    }

    private func within<R>(
        _ place: String, _ kinds: [String: Bool], _ body: (inout WriteTransaction, Environment) throws -> R
    ) throws -> R {
        var configuration = Environment.Configuration(
            tables: Array(kinds.keys), integerKeyTables: Set(kinds.filter(\.value).keys), mapBytes: 1 << 26)
        configuration.required = Set(kinds.keys)
        let environment = try Environment.open(directory: "\(store)/\(place)", configuration)
        defer { environment.close() }
        return try environment.write { transaction in try body(&transaction, environment) }
    }

    private func shown(_ bytes: [UInt8]) -> String {
        let isText = bytes.allSatisfy { (0x20 ..< 0x7f).contains($0) }
        return isText ? String(decoding: bytes, as: UTF8.self) : hex(bytes)
    }
}
