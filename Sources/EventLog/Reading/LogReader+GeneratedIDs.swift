internal import Bytes
package import EventModel
internal import LMDB

/// Finds events by ids that no index has: those that the store has made, and those of the parts into which a step splits an event. A
/// UUIDv7 contains the millisecond of its commit, and blocks are in the order of their commits. Keeps the ids of one millisecond, since exported lines come in that order too: at most those of the commits
/// that were made in it.
///
/// If the clock was set back between two commits, events around that time may not be found.
package struct GeneratedIDs {
    private var milliseconds: Int64?
    private var positions: [EventID: Position] = [:]

    package init() {}

    /// Whether an event may have the id without an index that has it.
    package static func mayHave(_ id: EventID) -> Bool { id.isUUIDv7 || id.whole != nil }

    /// Reads the headers of O(log n) blocks for each millisecond, of two if the log was not written then, and once the records of that
    /// millisecond's blocks.
    /// - Parameter reader: of the same state of the log at each call.
    /// - Returns: of a part's id, the position of the event that would have it if a step split it; nil where nothing has the id.
    package mutating func position(of id: EventID, _ reader: borrowing LogReader) throws -> Position? {
        if let whole = id.whole { return try reader.position(of: whole) ?? position(of: whole, reader) }
        guard id.isUUIDv7, let uuid = id.uuid else { return nil }
        let made = Int64(uuid.0 >> 16)
        if milliseconds != made {
            positions.removeAll(keepingCapacity: true)
            try reader.forEachMade(at: made) { positions[$0] = $1 }
            milliseconds = made
        }
        return positions[id]
    }
}

extension LogReader {
    /// Calls `body` with the ids that the store made in a millisecond since 1970, and the positions of their events.
    fileprivate func forEachMade(at made: Int64, _ body: (EventID, Position) -> Void) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        guard try cursor.first(), try milliseconds(cursor) <= made else { return }
        var low = try Blocks.position(cursor.key)
        guard try cursor.last(), try milliseconds(cursor) >= made else { return }
        var high = try Blocks.position(cursor.key)
        // Blocks begin at both; the first block that is not older lies between them.
        while low < high {
            guard try Blocks.seek(&cursor, holding: low.plus(high.events(after: low) / 2)) else { return }
            let begin = try Blocks.position(cursor.key)
            if try milliseconds(cursor) >= made {
                high = begin
            } else {
                guard try cursor.next() else { return }
                low = try Blocks.position(cursor.key)
            }
        }
        guard try Blocks.seek(&cursor, holding: low) else { return }
        while try milliseconds(cursor) == made {
            let block = try Blocks.view(cursor, access)
            for index in 0 ..< block.count {
                let record = block.record(index)
                if !record.idGiven { body(record.id, record.position) }
            }
            if try !cursor.next() { break }
        }
    }

    /// The time of the block's commit, in milliseconds since 1970.
    private func milliseconds(_ cursor: borrowing Cursor) throws -> Int64 {
        guard cursor.value.byteCount >= BlockLayout.headerBytes else {
            throw EvstoreError.corruptBlock(position: try Blocks.position(cursor.key), reason: "the block is shorter than its header")
        }
        return cursor.value.load(Int64.self, at: BlockLayout.Header.time) / 1_000
    }
}
