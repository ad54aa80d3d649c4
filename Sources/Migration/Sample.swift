internal import Bytes
internal import EventLog
internal import EventModel

/// Events taken from all over the log, to measure and to try the laws on.
struct Sample: Sendable {
    struct Event: Sendable {
        var position: Position
        var stream: String
        var type: String
        var born: SchemaVersion
        var time: Timestamp
        var payload: [UInt8]
        var metadata: [UInt8]
    }

    static let eventsMax = 20_000
    private static let windows: UInt64 = 40

    var events: [Event] = []

    /// The whole log where it has at most `eventsMax` events, else windows of consecutive events, evenly apart.
    init(_ site: MigrationSite, eventsMax: Int = Sample.eventsMax) throws(EvstoreError) {
        let last = try site.last().position.rawValue
        if last <= UInt64(eventsMax) {
            try read(from: 1, through: last, site)
        } else {
            let length = UInt64(eventsMax) / Self.windows
            for window in 0 ..< Self.windows {
                try site.checkCancellation()
                let start = 1 + window * (last - length) / (Self.windows - 1)
                try read(from: start, through: start + length - 1, site)
            }
        }
    }

    private mutating func read(from start: UInt64, through end: UInt64, _ site: MigrationSite) throws(EvstoreError) {
        var next = start
        while next <= end {
            let before = events.count
            var found: [Event] = []
            try migrating {
                try site.log.read { reader in
                    try reader.blocks(from: Position(next)) { block in
                        for index in 0 ..< block.count {
                            let record = block.record(index)
                            guard (next ... end).contains(record.position.rawValue) else { continue }
                            let stream = try reader.name(ofStream: record.streamID).text
                            found.append(
                                Event(
                                    position: record.position, stream: stream, type: record.typeName, born: record.born,
                                    time: record.time, payload: [UInt8](copying: record.payload),
                                    metadata: [UInt8](copying: record.metadata)))
                        }
                        // One transaction reads about a thousand events at most.
                        return found.count < 1_000 && block.first.rawValue + UInt64(block.count) <= end
                    }
                }
            }
            events += found
            guard events.count > before, let position = events.last?.position else { return }
            next = position.rawValue + 1
        }
    }
}
