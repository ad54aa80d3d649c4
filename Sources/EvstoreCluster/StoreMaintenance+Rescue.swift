internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import Hashing
internal import Platform
internal import Projections

/// The events that a node has and its cluster log lacks.
public struct RescueReport: Sendable {
    /// The last position that both have.
    public var common: Position
    /// The last position of this node.
    public var last: Position
    /// The number of events behind the common ones, which were exported.
    public var events: UInt64 { last.events(after: common) }
}

extension StoreMaintenance {
    /// Calls `body` with the lines of the events that this node has and the cluster log lacks, after the cluster log was set back by a
    /// failover to a standby that was behind. Changes nothing. An import of the lines into the cluster appends each of them once.
    ///
    /// Waits for PostgreSQL and for reading the events; `body` is called on one of the store's threads.
    /// - Throws: `EvstoreError`: usage where the store belongs to no cluster log, logUnavailable; or what `body` throws, unconverted.
    public func rescue(_ body: (_ lines: [UInt8]) throws -> Bool) async throws -> RescueReport {
        guard let membership = log.membership else { throw EvstoreError.usage("\(path) belongs to no cluster log") }
        let report = try await working("rescue") { (job) throws(EvstoreError) in
            try converting(at: path) {
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                let (row, last) = (try database.readyRow(), try log.read { $0.last.position })
                return RescueReport(common: try commonEnd(database, row, job), last: last)
            }
        }
        if report.common < report.last { try await store.export(from: report.common.next, body) }
        return report
    }

    /// The last position at which a frame ends whose block this node has, too: in the newest epoch that has such a frame.
    private func commonEnd(_ database: ClusterDatabase, _ row: ClusterRow, _ job: Job) throws -> Position {
        var epoch = try log.read { $0.last.epoch }
        while let frames = try database.frames(upTo: epoch, of: row) {
            let common = try commonEnd(database, frames.numbers, job)
            if common > .start || frames.epoch == .first { return common }
            epoch = frames.epoch.previous
        }
        return .start
    }

    /// The last common position within the frames of one epoch, by binary search: what is common in an epoch is its beginning.
    private func commonEnd(_ database: ClusterDatabase, _ numbers: ClosedRange<UInt64>, _ job: Job) throws -> Position {
        var (low, high) = (numbers.lowerBound - 1, numbers.upperBound)
        var common = Position.start
        while low < high {
            try job.check()
            let middle = (low + high + 1) / 2
            if let end = try ownedEnd(database, middle, from: numbers.lowerBound) {
                (low, common) = (middle, end)
            } else {
                high = middle - 1
            }
        }
        return common
    }

    /// The last position of a frame if this node has the same block there; nil if it has another. A frame without blocks is judged by the
    /// newest one before it that has some, or by the cut that began its epoch.
    private func ownedEnd(_ database: ClusterDatabase, _ number: UInt64, from first: UInt64) throws -> Position? {
        var number = number
        while true {
            guard let frame = try database.blockEnd(ofFrame: number) else { return nil }
            if let link = frame.link { return try log.read { try $0.blockEnd(at: frame.last) } == link ? frame.last : nil }
            if number > first {
                number -= 1
                continue
            }
            let isOwn = try frame.last == .start || isOwnCut(at: frame.last)
            return isOwn ? frame.last : nil
        }
    }

    /// Whether this node has a cut at a position, and none below it since.
    private func isOwnCut(at position: Position) throws -> Bool {
        let cuts = try log.read { try $0.cuts() }
        guard let own = cuts.last(where: { $0.position == position }) else { return false }
        return !cuts.contains { $0.epoch > own.epoch && $0.position < position }
    }
}
