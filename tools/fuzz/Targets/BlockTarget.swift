import Bytes
import EventModel
import Foundation
import Hashing

@testable import EventLog

extension FuzzTarget {
    /// A block that is taken can be read in full, and made again of its records it is taken again, with the same records, each of
    /// which its own checksum then vouches for. Length and checksum are made right before it is tried: a disk's faults end there,
    /// and what is looked for lies behind them.
    static let block = FuzzTarget(
        name: "block",
        seeds: {
            try [1, 3, 20].map { count in
                let events = try (0 ..< count).map { number in
                    var event = StoredEvent(
                        stream: try StreamName("stream-\(number % 2)"), type: "type-\(number % 3)", born: SchemaVersion(1),
                        payload: Array(#"{"number":\#(number)}"#.utf8), metadata: number % 4 == 1 ? Array(#"{"by":1}"#.utf8) : [],
                        id: number % 3 == 2 ? try EventID("id-\(number)") : nil, time: Timestamp(microseconds: 1_767_225_600_000_000))
                    if number % 5 == 4 { event.shadow = [1, 2, 3] }
                    return event
                }
                return made(events)
            }
        },
        take: { input in
            var bytes = input
            guard bytes.count >= BlockLayout.headerBytes + BlockLayout.checksumBytes else { return }
            // Asked of bytes of which one record was checked.
            if let envelope = BlockLayout.envelope(bytes.lent) {
                try hold(envelope.upperBound <= bytes.count, "an envelope ends beyond its block")
            }
            bytes.put(UInt32(bytes.count), at: BlockLayout.Header.bytes)
            let end = bytes.count - BlockLayout.checksumBytes
            bytes.put(checksum(bytes.lent.slice(0, end)), at: end)
            let (first, tag) = (Position(bytes.number(UInt64.self, at: 16)), bytes.number(UInt64.self, at: 8))
            let names = TypeNames()
            let block = try BlockView(checking: bytes.lent, at: first, storeTag: tag)
            block.learn(names)
            // Without keys nobody makes such a block again.
            if block.isWhole {
                for index in 0 ..< block.count { try readAll(block.record(index)) }
                return
            }
            var draft = BlockDraft()
            let commit = BlockDraft.Commit(storeTag: tag, epoch: block.epoch, time: block.time.microseconds, isSealed: block.isSealed)
            draft.begin(at: first, commit)
            for index in 0 ..< block.count {
                try readAll(block.record(index))
                draft.add(copyOf: block.record(index), names)
            }
            _ = try draft.complete(commit, after: .zero)
            try again(draft.text, block, tag)
        })

    private static func again(_ text: RawSpan, _ block: borrowing BlockView, _ tag: UInt64) throws {
        let again: BlockView
        do { again = try BlockView(checking: text, at: block.first, storeTag: tag) } catch {
            throw Broken(description: "a block that is made again is refused: \(error)")
        }
        try hold(again.count == block.count && again.epoch == block.epoch && again.time == block.time, "it is another block")
        for index in 0 ..< block.count {
            let (one, two) = (block.record(index), again.record(index))
            try hold([UInt8](copying: one.bytes) == [UInt8](copying: two.bytes), "record \(index) is another one")
            let place = Position(block.first.rawValue + UInt64(index))
            let start = try BlockLayout.checkRecord(text, at: place, after: block.first, storeTag: tag)
            try hold(start != nil, "nothing vouches for record \(index)")
        }
    }

    private static func readAll(_ record: borrowing RecordView) throws {
        let parts = record.payload.byteCount + record.metadata.byteCount + record.shadow.byteCount + record.id.text.utf8.count
        try hold(parts < record.bytes.byteCount + 64 && (record.streamName?.text.isEmpty != true), "its parts are more than it")
    }

    private static func made(_ events: [StoredEvent]) -> [UInt8] {
        var draft = BlockDraft()
        let commit = BlockDraft.Commit(storeTag: 5, epoch: .first, time: 1_767_225_600_000_000)
        draft.begin(at: Position(7), commit)
        for index in events.indices {
            let place = BlockWriter.AssignedFields(
                type: TypeID(index % 3 + 1), isSameAppend: index % 2 == 1, madeID: events[index].id == nil ? (1, UInt64(index)) : nil,
                stream: UInt64(7 + index % 2), revision: UInt64(index / 2), previous: index < 2 ? 0 : UInt64(7 + index - 2),
                jump: index < 2 ? 0 : UInt64(7 + index % 2))
            _ = draft.add(events.span, index, place, RawSpan())
        }
        do { _ = try draft.complete(commit, after: .zero) } catch { return [] }
        return [UInt8](copying: draft.text)
    }
}
