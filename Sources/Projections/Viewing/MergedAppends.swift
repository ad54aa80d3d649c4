internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

/// Makes the images of events that a step merges with others of their append.
///
/// It reads the append around a position, so that it does not matter where a page, a batch or a chunk of the log ends, and
/// keeps the last one, until a cut. Used by one thread.
package final class MergedAppends {
    private struct Seen {
        var type: String
        var typeIndex: Int
        var payload: [UInt8]
    }

    /// Events are merged with those of their stream and birth version.
    private struct Key: Hashable {
        var stream: UInt64
        var born: SchemaVersion
    }

    private struct Member {
        var position: Position
        var event: AppendedEvent
    }

    private let log: EventLog
    private let viewer: Viewer
    private let names: StreamNames
    private let target: SchemaVersion
    private var held: (epoch: Epoch, positions: ClosedRange<UInt64>)?
    private var images: [Position: [Seen]] = [:]
    private var failures: [Position: ImageFailure] = [:]

    package init(_ log: EventLog, _ viewer: Viewer, _ names: StreamNames, at target: SchemaVersion) {
        (self.log, self.viewer, self.names, self.target) = (log, viewer, names, target)
    }

    /// Calls the body with the images that the event at a position stands for: none where a later one of its append does.
    /// - Throws: `EvstoreError.noImage`, or what the body throws.
    package func view(_ position: Position, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void) throws {
        let epoch = reader.last.epoch
        if held?.epoch != epoch || held?.positions.contains(position.rawValue) != true {
            held = nil
            held = (epoch, try read(around: position, reader))
        }
        if let failure = failures[position] { throw EvstoreError.noImage(failure) }
        for (part, seen) in (images[position] ?? []).enumerated() {
            try body(Image(type: seen.type, typeIndex: seen.typeIndex, payload: seen.payload.lent, part: part))
        }
    }

    /// Removes the append that is kept.
    func removeAll() { (held, images, failures) = (nil, [:], [:]) }

    private func read(around position: Position, _ reader: borrowing LogReader) throws -> ClosedRange<UInt64> {
        var (first, last) = (position.rawValue, position.rawValue)
        var groups: [Key: [Member]] = [:]
        while first > 1, try reader.closedRecord(at: Position(first), { $0.continuesAppend }) == true { first -= 1 }
        try reader.blocks(from: Position(first)) { block in
            for index in block.indices {
                let record = block.record(index)
                if record.position.rawValue > first, !record.continuesAppend { return false }
                last = record.position.rawValue
                let type = log.name(ofType: record.type)
                guard try viewer.path(type: type, born: record.born, to: target).merges else { continue }
                let event = AppendedEvent(
                    type: type, payload: [UInt8](copying: record.payload), metadata: [UInt8](copying: record.metadata),
                    time: record.time, stream: try names.name(of: record, at: record.born, reader).text)
                groups[Key(stream: record.streamID, born: record.born), default: []].append(
                    Member(position: record.position, event: event))
            }
            return true
        }
        (images, failures) = ([:], [:])
        for (key, members) in groups {
            try viewer.view(
                appended: members.map(\.event), born: key.born, at: target,
                failed: { index, failure in
                    failures[members[index].position] = failure
                    failures[members[index].position]?.position = members[index].position
                }
            ) { index, image in
                images[members[index].position, default: []].append(
                    Seen(type: image.type, typeIndex: image.typeIndex, payload: [UInt8](copying: image.payload)))
            }
        }
        return first ... last
    }
}
