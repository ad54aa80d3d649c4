internal import Bytes
package import EventModel
internal import LMDB

extension LogReader {
    /// Where the event with an id that the store has made lies: no index has these, but a UUIDv7 tells the millisecond of its commit, and
    /// blocks lie in the order of their commits. An event that was committed before the clock was set back may not be found.
    ///
    /// Looks at the headers of O(log n) blocks where the id is of a time in which the log was written, and at two where it is not.
    package func position(ofMade id: EventID) throws -> Position? {
        guard let uuid = id.uuid, uuid.0 >> 12 & 0xf == 7, uuid.1 >> 62 == 2 else { return nil }
        let made = Int64(uuid.0 >> 16)
        var cursor = try transaction.cursor(access.tables.blocks)
        guard try cursor.first(), try milliseconds(cursor) <= made else { return nil }
        var low = try Blocks.position(cursor.key)
        guard try cursor.last(), try milliseconds(cursor) >= made else { return nil }
        var high = try Blocks.position(cursor.key)
        // Both are where blocks begin; the first block that is not older lies between them.
        while low < high {
            guard try Blocks.seek(&cursor, holding: Position((low.rawValue + high.rawValue) / 2)) else { return nil }
            let begin = try Blocks.position(cursor.key)
            if try milliseconds(cursor) >= made {
                high = begin
            } else {
                guard try cursor.next() else { return nil }
                low = try Blocks.position(cursor.key)
            }
        }
        guard try Blocks.seek(&cursor, holding: low) else { return nil }
        while try milliseconds(cursor) == made {
            let block = try Blocks.view(cursor, access)
            for index in 0 ..< block.count {
                let record = block.record(index)
                if !record.idGiven, record.id == id { return Position(block.first.rawValue + UInt64(index)) }
            }
            if try !cursor.next() { break }
        }
        return nil
    }

    /// When the block's commit was made, in milliseconds since 1970.
    private func milliseconds(_ cursor: borrowing Cursor) throws -> Int64 {
        guard cursor.value.byteCount >= BlockLayout.headerBytes else {
            throw EvstoreError.corruptBlock(position: try Blocks.position(cursor.key), reason: "the block is shorter than its header")
        }
        return cursor.value.load(Int64.self, at: BlockLayout.Header.time) / 1_000
    }
}
