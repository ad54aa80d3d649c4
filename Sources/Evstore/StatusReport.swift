internal import Bytes
internal import EventLog
internal import EventModel
public import LogKeeping
internal import Migration
internal import Platform
internal import Projections

/// How many events there are of a type and birth version.
public struct TypeCount: Hashable, Sendable {
    public var type: String
    public var born: SchemaVersion
    public var count: UInt64
}

/// The process whose transaction keeps the oldest pages of the log from being used again.
public struct OldestReader: Hashable, Sendable {
    public var process: Int32
    /// Commits since the one that it reads.
    public var commitsBehind: UInt64

    /// From here on the file grows by what it would use again.
    static let commitsBehindMax: UInt64 = 10_000
}

/// The store's versions, counts, read models and health at one moment.
public struct StatusReport: Hashable, Sendable {
    public var versions: StoreVersions
    /// The last event's.
    public var position: Position
    public var types: [TypeCount]
    /// The read models of the live version.
    public var projections: [ProjectionStatus]
    public var snapshots: [String]
    public var lastDrill: DrillMark?
    public var oldestReader: OldestReader?
    /// What new events are sealed under; nil where events are not sealed.
    public var writingKey: StoreKey?
    /// What is free on the store's disk.
    public var freeBytes: UInt64
    /// What the store keeps there for the commands that lead out of a full disk.
    public var ballastBytes: UInt64
    /// Of a store whose files are gone with the machine or its container: on what they lie (tmpfs, overlayfs), and when they go; nil where they
    /// stay.
    public var passingPlace: String?
    /// As which node the store belongs to a cluster log; nil where it belongs to none.
    public var cluster: ClusterPlace?
    /// Of which backups the store is a replica; nil where it is one of its own.
    public var replica: ReplicaPlace?
    /// Events that live read models have in quarantine, each counted once however many of them lack it.
    public var quarantined: UInt64
    /// What an operator should attend to, the gravest first; none where the store is well.
    public var complaints: [Complaint]

    /// Events per birth version, oldest first.
    public var births: [(version: SchemaVersion, count: UInt64)] {
        Dictionary(grouping: types, by: \.born).map { ($0, $1.sum(\.count)) }.sorted { $0.0 < $1.0 }
    }

    /// Whether other versions than the live one are promised: a rollback leads to those below it, a replay to those above.
    public var window: Bool { versions.floor < versions.top }

    public var healthy: Bool { complaints.isEmpty }
}

/// What a replica holds.
public struct ReplicaPlace: Hashable, Sendable {
    /// The directory of the backups; empty where they come through a pipe.
    public var source: String
    /// When the backup was made that it is as new as.
    public var backupTime: Timestamp
}

/// A store's place in a cluster log.
public struct ClusterPlace: Hashable, Sendable {
    public var log: String
    public var node: String
    /// How many of its frames the store has.
    public var frames: UInt64
    /// For how long the cluster log could not be followed; 0 while it can.
    public var troubleSeconds: Double
}

/// The newest drill that the journal knows.
public struct DrillMark: Hashable, Sendable {
    public var time: Timestamp
    public var passed: Bool
}

/// The newest drill, and how far the journal was read to find it: each time only the rows are read that are new.
final class DrillMemory: Sendable {
    private let known = Monitor<(row: UInt64, drill: DrillMark?)>((0, nil))

    func newest(in log: EventLog) throws(EvstoreError) -> DrillMark? {
        let before = known.withLock { $0 }
        var found = (row: UInt64(0), drill: before.drill)
        try Journal.readBackwards(log, after: before.row) { row in
            found.row = max(found.row, row.number)
            guard row.kind == .drill else { return true }
            found.drill = DrillMark(time: row.time, passed: row.outcome.hasPrefix("passed"))
            return false
        }
        // Another thread may have read further meanwhile.
        known.withLock { known in if found.row > known.row { known = found } }
        return found.drill
    }
}

/// How many events a set of generations has in quarantine: their rows are read again only where one of them has others than before.
final class QuarantineCount: Sendable {
    private struct Seen: Hashable {
        var generation: String
        var epoch: Epoch
        var rows: UInt64
    }

    private let known = Monitor<(seen: Set<Seen>, events: UInt64)>(([], 0))

    func events(of generations: [Generation]) throws(EvstoreError) -> UInt64 {
        var seen: Set<Seen> = []
        for generation in generations {
            let header = try generation.header
            seen.insert(Seen(generation: generation.name, epoch: header.checkpoint.epoch, rows: header.quarantined))
        }
        let before = known.withLock { $0 }
        if before.seen == seen { return before.events }
        let events = try Generation.countQuarantined(generations)
        known.withLock { [seen] known in known = (seen, events) }
        return events
    }
}

extension EventStore {
    /// The store as it is now, without catching anything up. Blocks the calling thread for short read transactions.
    public func status() throws(EvstoreError) -> StatusReport {
        let evolution = try evolving.current()
        let census = try log.reading { reader in try reader.census() }
        let projections = try projections(at: evolution.state.live)
        let usage = try converting(at: path) { try log.usage }
        let member = try log.reading { try $0.membership() }
        let replica = try converting(at: path) { try log.replica() }
        let trouble = log.clusterTrouble
        let oldest = usage.oldestReader.map { OldestReader(process: $0.process, commitsBehind: $0.commitsBehind) }
        var report = StatusReport(
            versions: StoreVersions(evolution.state), position: evolution.last.position,
            types: census.filter { $0.count > 0 }.map { TypeCount(type: $0.type, born: $0.born, count: $0.count) },
            projections: projections, snapshots: try snapshots().map(\.name),
            lastDrill: try drills.newest(in: log),
            oldestReader: oldest, writingKey: Keys.list(log).first { $0.isWriting },
            freeBytes: usage.freeBytes, ballastBytes: usage.ballastBytes,
            passingPlace: usage.passingPlace,
            cluster: member.map {
                ClusterPlace(
                    log: $0.membership.log, node: $0.membership.node, frames: $0.end.number, troubleSeconds: trouble?.seconds ?? 0)
            },
            replica: replica.map { ReplicaPlace(source: $0.source, backupTime: $0.time) },
            quarantined: try quarantinedEvents(projections, evolution.state), complaints: [])
        report.complaints = try complaints(report)
        return report
    }

    private func complaints(_ report: StatusReport) throws(EvstoreError) -> [Complaint] {
        var found: [Complaint] = []
        if !log.isInPlace { found.append(.replaced(path: path)) }
        if found.isEmpty, let reason = log.roomComplaint { found.append(.diskFull(reason: reason)) }
        found += try nodeComplaints()
        if let drill = report.lastDrill, !drill.passed { found.append(.drillFailed(at: drill.time)) }
        if let reader = report.oldestReader, reader.isLong { found.append(.longReader(reader)) }
        try converting(at: path) {
            let rows = try log.read { reader in try ConsumerRow.all(in: reader) }
            for row in try ConsumerRow.list(rows) {
                if let position = row.failing {
                    found.append(.consumerFailing(row.name, at: position, reason: row.error ?? "it failed"))
                }
                let parked = try ParkedEvent.list(of: row.name, rows).count
                if parked > 0 { found.append(.parked(consumer: row.name, events: UInt64(parked))) }
            }
        }
        if report.quarantined > 0 {
            let names = report.projections.filter { $0.quarantined > 0 }.map(\.name)
            found.append(.quarantined(events: report.quarantined, readModels: names))
        }
        // A sort that keeps the order of what weighs the same.
        return Complaint.Weight.allCases.flatMap { weight in found.filter { $0.weight == weight } }
    }

    private func quarantinedEvents(_ models: [ProjectionStatus], _ state: StoreState) throws(EvstoreError) -> UInt64 {
        var lacking: [Generation] = []
        for model in models where model.quarantined > 0 {
            if let name = state.generations[model.fingerprint] { lacking.append(try generations.generation(name, in: self, state)) }
        }
        return try quarantineCount.events(of: lacking)
    }
}

extension OldestReader {
    /// Whether the file grows by what it keeps from being used again.
    var isLong: Bool { commitsBehind > Self.commitsBehindMax }
}
