internal import Bytes
internal import EventLog
internal import EventModel
public import LogKeeping
internal import Migration
internal import Platform
internal import Projections

/// The number of events of a type and birth version.
public struct TypeCount: Hashable, Sendable {
    public var type: String
    public var born: SchemaVersion
    public var count: UInt64
}

/// The process whose transaction keeps the oldest pages of the log from being used again.
public struct OldestReader: Hashable, Sendable {
    public var process: Int32
    /// The number of commits since the one that it reads.
    public var commitsBehind: UInt64

    /// Whether the file grows because this reader keeps the pages of so many commits from being reused.
    var isLong: Bool { commitsBehind > 10_000 }
}

/// The store's versions, counts, read models and health at one moment.
public struct StatusReport: Hashable, Sendable {
    public var versions: StoreVersions
    /// The position of the last event.
    public var position: Position
    public var types: [TypeCount]
    /// The read models of the live version.
    public var projections: [ProjectionStatus]
    /// The names of the snapshots that can be gone back to, oldest first.
    public var snapshots: [String]
    public var lastDrill: DrillMark?
    public var oldestReader: OldestReader?
    /// The key that new events are sealed under; nil where events are not sealed.
    public var writingKey: StoreKey?
    /// The free bytes on the store's disk.
    public var freeBytes: UInt64
    /// The bytes that the store reserves there for the commands that lead out of a full disk.
    public var ballastBytes: UInt64
    /// Where the store's files are lost with the machine or its container: the file system (tmpfs, overlayfs) and when they are lost. Nil
    /// where they stay.
    public var passingPlace: String?
    /// The store's place in a cluster log; nil where it belongs to none.
    public var cluster: ClusterPlace?
    /// The backups that the store is a replica of; nil where it is not a replica.
    public var replica: ReplicaPlace?
    /// Events in the quarantine of live read models, each counted once, however many of them lack it.
    public var quarantined: UInt64
    /// What an operator should attend to, the gravest first; empty where the store is well.
    public var complaints: [Complaint]

    /// The number of events per birth version, oldest first.
    public var births: [(version: SchemaVersion, count: UInt64)] {
        Dictionary(grouping: types, by: \.born).map { ($0, $1.sum(\.count)) }.sorted { $0.0 < $1.0 }
    }

    /// Whether versions other than the live one are promised: a rollback can reach those below it, a replay those above.
    public var window: Bool { versions.floor < versions.top }

    public var healthy: Bool { complaints.isEmpty }
}

/// The state of a replica.
public struct ReplicaPlace: Hashable, Sendable {
    /// The directory of the backups; empty where they come through a pipe.
    public var source: String
    /// When the newest backup was made that the replica contains.
    public var backupTime: Timestamp
}

/// A store's place in a cluster log.
public struct ClusterPlace: Hashable, Sendable {
    public var log: String
    public var node: String
    /// The number of the cluster log's frames that the store has.
    public var frames: UInt64
    /// How long the cluster log has been unreachable; zero while it can be reached.
    public var trouble: Duration
}

/// The newest drill in the journal.
public struct DrillMark: Hashable, Sendable {
    public var time: Timestamp
    public var passed: Bool
}

/// The newest drill, and the last row of the journal that was read to find it: each call reads only newer rows.
final class DrillCache: Sendable {
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

/// The number of events that a set of generations has in quarantine; counted again only where the quarantine of one of them has changed.
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
    /// Reports the store as it is now, without catching anything up. Blocks the calling thread for short read transactions.
    public func status() throws(EvstoreError) -> StatusReport {
        // Order: read models first, so that none is beyond the events counted here.
        let projections = try projections(at: evolving.current().state.live)
        let evolution = try evolving.current()
        let (census, member, last) = try log.reading { reader in (try reader.census(), try reader.membership(), reader.last) }
        let usage = try converting(at: path) { try log.usage }
        let replica = try converting(at: path) { try log.replica() }
        let trouble = log.clusterTrouble
        let oldest = usage.oldestReader.map { OldestReader(process: $0.process, commitsBehind: $0.commitsBehind) }
        var report = StatusReport(
            versions: StoreVersions(evolution.state), position: last.position,
            types: census.filter { $0.count > 0 }.map { TypeCount(type: $0.type, born: $0.born, count: $0.count) },
            projections: projections, snapshots: try snapshots().filter { !$0.isCutOff }.map(\.name),
            lastDrill: try drills.newest(in: log),
            oldestReader: oldest, writingKey: Keys.list(log).first { $0.isWriting },
            freeBytes: usage.freeBytes, ballastBytes: usage.ballastBytes,
            passingPlace: usage.passingPlace,
            cluster: member.map {
                ClusterPlace(
                    log: $0.membership.log, node: $0.membership.node, frames: $0.end.number, trouble: trouble?.duration ?? .zero)
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
        if try converting(at: path, { try FileSystem.isReadOnly(path) }) { found.append(.readOnly(path: path)) }
        found += try nodeComplaints()
        if let drill = report.lastDrill, !drill.passed { found.append(.drillFailed(at: drill.time)) }
        if let reader = report.oldestReader, reader.isLong { found.append(.longReader(reader)) }
        for (row, parked) in try consumerRows().rows {
            if let position = row.failing?.position {
                found.append(.consumerFailing(row.name, at: position, reason: row.error ?? "it failed"))
            }
            if let cut = try cut(below: row.place) {
                found.append(.consumerCutOff(row.name, seen: row.place.position, cut: cut.position))
            }
            if parked > 0 { found.append(.parked(consumer: row.name, events: parked)) }
        }
        if report.quarantined > 0 {
            let names = report.projections.filter { $0.quarantined > 0 }.map(\.name)
            found.append(.quarantined(events: report.quarantined, readModels: names))
        }
        // Sorts by weight and keeps the order of complaints with the same weight.
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
