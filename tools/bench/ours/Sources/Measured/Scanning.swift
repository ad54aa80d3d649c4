import Bytes
import EventLog
import EventModel
public import Evstore

/// A store's log, read as a replay reads it: block by block, each checked against its checksum.
public struct BlockScan {
    private let log: EventLog

    public init(store: String, options: Options = Options()) throws {
        log = try EventLog.open(at: store, options: options, readOnly: true)
    }

    /// Walks every record; the sum of positions and of payload bytes, so that both were looked at.
    public func walk() throws -> (events: Int, bytes: Int) {
        var events = 0
        var bytes = 0
        var sum: UInt64 = 0
        try log.scan(after: .start) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                bytes += record.payload.byteCount
                sum &+= record.position.rawValue
            }
            events += block.indices.count
            return true
        }
        guard sum == UInt64(events) * UInt64(events + 1) / 2 else { throw Unexpected(what: "the positions of a scan") }
        return (events, bytes)
    }
}

extension EventStore {
    /// The same through the front door, which gives each event as a value of its own.
    public func readEverything(at version: SchemaVersion? = nil) throws -> (events: Int, bytes: Int) {
        var (events, bytes) = (0, 0)
        try readAll(at: version) { event in
            (events, bytes) = (events + 1, bytes + event.payload.count)
            return true
        }
        return (events, bytes)
    }
}

/// What was measured did not do its work.
public struct Unexpected: Error {
    public let what: String

    public init(what: String) { self.what = what }
}
