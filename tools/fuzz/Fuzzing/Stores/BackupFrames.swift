internal import Bytes
internal import EventModel
internal import Hashing
internal import SchemaEvolution

/// The bytes of a backup, frame by frame (`LogKeeping.BackupFrame` has the format): a row or the end changed, and every link right again.
enum BackupFrames {
    private static let (headerBytes, linkedBytes) = (56, 24)
    private static let rows: UInt32 = 3
    private static let blocks: UInt32 = 2

    /// - Returns: the changed backup, and what was changed.
    static func changed(_ backup: [UInt8], _ random: inout SeededRandom) -> (bytes: [UInt8], what: String) {
        var frames: [(kind: UInt32, body: [UInt8])] = []
        var offset = 0
        while offset + headerBytes <= backup.count {
            let header = backup.lent.slice(offset, headerBytes)
            let size = Int(clamping: header.load(UInt64.self, at: 8))
            guard size <= backup.count - offset - headerBytes else { break }
            let body = Array(backup[offset + headerBytes ..< offset + headerBytes + size])
            frames.append((header.load(UInt32.self, at: 4), body))
            offset += headerBytes + size
        }
        let changeable = frames.indices.filter { frames[$0].kind != blocks }
        let rowFrames = changeable.filter { frames[$0].kind == rows }
        let index = random.once(in: 8) ? random.pick(changeable) : random.pick(rowFrames.isEmpty ? changeable : rowFrames)
        var what = "frame \(index)"
        if frames[index].kind == rows {
            what += changeRow(&frames[index].body, &random)
        } else {
            frames[index].body = Extremes.changedBytes(frames[index].body, &random)
        }
        return (joined(frames), what)
    }

    private static func joined(_ frames: [(kind: UInt32, body: [UInt8])]) -> [UInt8] {
        var whole = ByteBuffer(capacity: 1 << 16)
        var link = [UInt8](repeating: 0, count: 32)
        for (number, frame) in frames.enumerated() {
            var header = ByteBuffer(capacity: headerBytes)
            header.append(littleEndian: 0x01_66_76_65 as UInt32)
            header.append(littleEndian: frame.kind)
            header.append(littleEndian: UInt64(frame.body.count))
            header.append(littleEndian: UInt64(number))
            var hasher = SHA256Hasher()
            hasher.update(link)
            hasher.update(header.bytes.slice(0, linkedBytes))
            hasher.update(frame.body)
            link = hasher.finalize().bytes
            whole.append(header.bytes)
            whole.append(link)
            whole.append(frame.body)
        }
        return whole.array()
    }

    /// Changes one row of a body.
    private static func changeRow(_ body: inout [UInt8], _ random: inout SeededRandom) -> String {
        var rows: [(table: [UInt8], key: [UInt8], value: [UInt8])] = []
        var offset = 0
        func take(_ count: Int) -> [UInt8] {
            defer { offset += count }
            return Array(body[min(offset, body.count) ..< min(offset + count, body.count)])
        }
        while offset < body.count {
            let table = take(Int(take(1)[0]))
            let key = take(Int(number(take(2))))
            rows.append((table, key, take(Int(number(take(4))))))
        }
        // A backup has many rows of one table, and one of the numbers.
        let names = Set(rows.map(\.table)).sorted { $0.lexicographicallyPrecedes($1) }
        let name = random.pick(names)
        let index = random.pick(rows.indices.filter { rows[$0].table == name })
        if random.once(in: 4), rows[index].key.count >= 4 {
            let width = rows[index].key.count >= 8 ? 8 : 4
            Extremes.put(random.pick(Extremes.integers), width, at: rows[index].key.count - width, isBigEndian: true, &rows[index].key)
        } else {
            rows[index].value = Extremes.changed(rows[index].value, &random)
        }
        var new = ByteBuffer(capacity: body.count)
        for row in rows {
            new.append(UInt8(row.table.count))
            new.append(row.table)
            new.append(littleEndian: UInt16(row.key.count))
            new.append(row.key)
            new.append(littleEndian: UInt32(row.value.count))
            new.append(row.value)
        }
        body = new.array()
        return ", \(String(decoding: name, as: UTF8.self)) \(hex(rows[index].key)): \(String(decoding: rows[index].value, as: UTF8.self))"
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
