package import EventLog
package import EventModel
internal import Hashing
internal import JSONText
internal import Projections

/// Named restore points: rows with a position, the version numbers, the link there and the live read models' digests. They copy nothing.
package enum Snapshot {
    /// Names the log's current end.
    /// - Throws: `EvstoreError.snapshotExists`.
    package static func take(_ context: MigrationContext, name: String) async throws(EvstoreError) -> SnapshotReport {
        try ConsumerRow.checkName(name, of: "snapshot")
        let generationSet = try followedGenerationSet(context)
        let report = try await context.log.changing { update in
            guard try update.get(.snapshots, Array(name.utf8)) == nil else { throw EvstoreError.snapshotExists(name) }
            return try put(name, generationSet, into: &update)
        }
        MigrationPhase.reached(.snapshotAfter)
        return report
    }

    /// The restore point before a replay: `before-vN`, with its position appended where that name stands for another moment.
    static func takeBefore(_ version: SchemaVersion, _ context: MigrationContext) async throws(EvstoreError) -> SnapshotReport {
        let generationSet = try followedGenerationSet(context)
        let report = try await context.log.changing { update in
            let plain = "before-\(version)"
            for name in [plain, "\(plain)@\(update.last.position)"] {
                guard let row = try update.get(.snapshots, Array(name.utf8)) else {
                    return try put(name, generationSet, into: &update)
                }
                let known = try SnapshotReport(name: name, row: row)
                let noted = VersionNumbers(floor: known.floor, live: known.live, top: known.top, head: known.head)
                if known.checkpoint == update.last, known.link == update.lastLink.hex, noted == update.state.numbers { return known }
            }
            // A snapshot of this position in an earlier epoch has that name.
            return try put("\(plain)@\(update.last)", generationSet, into: &update)
        }
        MigrationPhase.reached(.snapshotAfter)
        if let count = context.options.replaySnapshotsKept {
            _ = try await prune(context, keeping: count) { $0.name.hasPrefix("before-v") }
        }
        return report
    }

    package static func list(_ log: EventLog) throws(EvstoreError) -> [SnapshotReport] {
        let (rows, cuts) = try log.reading { reader in (try reader.rows(.snapshots), try reader.cuts()) }
        var reports: [SnapshotReport] = []
        for row in rows {
            var report = try SnapshotReport(name: String(decoding: row.key, as: UTF8.self), row: row.value)
            report.isCutOff = report.checkpoint.cutOff(by: cuts) != nil
            reports.append(report)
        }
        return reports.sorted { ($0.time, $0.name) < ($1.time, $1.name) }
    }

    /// - Throws: `EvstoreError.unknownSnapshot`.
    package static func named(_ name: String, _ log: EventLog) throws(EvstoreError) -> SnapshotReport {
        let all = try list(log)
        guard let found = all.first(where: { $0.name == name }) else {
            throw .unknownSnapshot(name, known: all.filter { !$0.isCutOff }.map(\.name))
        }
        return found
    }

    /// Removes the chosen snapshots that a cut took off, and of the others all but the newest `count`; returns the names of the removed ones.
    package static func prune(
        _ context: MigrationContext, keeping count: Int, among isChosen: (SnapshotReport) -> Bool = { _ in true }
    ) async throws(EvstoreError) -> [String] {
        guard count >= 0 else { throw .usage("the number of snapshots to keep is 0 or more") }
        let chosen = try list(context.log).filter(isChosen)
        let kept = Set(chosen.filter { !$0.isCutOff }.suffix(count).map(\.name))
        let forgotten = chosen.map(\.name).filter { !kept.contains($0) }
        if forgotten.isEmpty { return [] }
        try await context.log.changing { update in
            for name in forgotten { try update.delete(.snapshots, Array(name.utf8)) }
            let entry = JournalRow(
                .snapshot, position: update.last.position, outcome: "pruned \(forgotten.joined(separator: ", "))")
            try Journal.append(entry, to: &update)
        }
        return forgotten
    }

    /// The live read models, brought as near to the log's end as following can.
    private static func followedGenerationSet(_ context: MigrationContext) throws(EvstoreError) -> GenerationSet {
        let state = try context.state()
        let generationSet = try GenerationSet.registered(context, at: state.live, state)
        try generationSet.follow()
        return generationSet
    }

    private static func put(_ name: String, _ generationSet: GenerationSet, into update: inout LogUpdate) throws -> SnapshotReport {
        let state = update.state
        let report = SnapshotReport(
            name: name, position: update.last.position, epoch: update.last.epoch, floor: state.floor, live: state.live, top: state.top,
            head: state.head, time: .now, link: update.lastLink.hex, generations: try generationSet.noted(at: update.last))
        try update.put(.snapshots, Array(name.utf8), report.row)
        let entry = JournalRow(.snapshot, to: state.live, position: report.position, outcome: name, digest: report.link)
        try Journal.append(entry, to: &update)
        MigrationPhase.reached(.snapshotInside)
        return report
    }
}

extension SnapshotReport {
    package var row: [UInt8] {
        var fields = JSONRow()
        fields.set("position", position.rawValue)
        fields.set("epoch", UInt64(epoch.rawValue))
        for (key, version) in [("floor", floor), ("live", live), ("top", top), ("head", head)] {
            fields.set(key, UInt64(version.rawValue))
        }
        fields.set("time", time.description)
        fields.set("link", link)
        fields.set("generations", .array(generations.map(\.value)))
        return fields.bytes
    }

    package init(name: String, row: [UInt8]) throws(EvstoreError) {
        let fields = try JSONRow(row, of: "snapshots")
        guard let position = fields.number("position"), let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)),
            let floor = fields.version("floor"), let live = fields.version("live"), let top = fields.version("top"),
            let head = fields.version("head"), let time = fields.text("time").flatMap({ Timestamp($0) }), let link = fields.text("link"),
            case .array(let generations) = fields["generations"]
        else { throw .storeDamaged(path: "snapshots", reason: "\(quoted(name)) lacks a member") }
        self.name = name
        (self.position, self.epoch) = (Position(position), Epoch(epoch))
        (self.floor, self.live, self.top, self.head) = (floor, live, top, head)
        (self.time, self.link) = (time, link)
        self.generations = generations.compactMap(SnapshotGeneration.init)
    }
}

extension SnapshotGeneration {
    fileprivate var value: JSONValue {
        var fields = JSONRow()
        fields.set("projection", projection)
        fields.set("fingerprint", fingerprint)
        fields.set("directory", directory)
        fields.set("digest", digest)
        fields.set("rows", rows)
        return fields.value
    }

    fileprivate init?(_ value: JSONValue) {
        let fields = JSONRow(value)
        guard let projection = fields.text("projection"), let fingerprint = fields.text("fingerprint"),
            let directory = fields.text("directory"), let rows = fields.number("rows")
        else { return nil }
        (self.projection, self.fingerprint, self.directory) = (projection, fingerprint, directory)
        (digest, self.rows) = (fields.text("digest"), rows)
    }
}

extension SnapshotReport {
    /// Whether the log up to the snapshot's position is the one of which it was taken.
    /// - Throws: `EvstoreError.epochChanged` where a cut has taken off what it names.
    package func isOf(_ log: EventLog) throws(EvstoreError) -> Bool {
        let (cuts, found) = try log.reading { reader in (try reader.cuts(), try reader.link(at: position)) }
        if let cut = checkpoint.cutOff(by: cuts) { throw .epochChanged(seen: checkpoint, cut: cut) }
        // A snapshot that was taken right after a cut has the link that its epoch began with, which is in no block.
        return position == .start || cuts.contains(checkpoint) || found?.hex == link
    }

    fileprivate var checkpoint: Checkpoint { Checkpoint(epoch: epoch, position: position) }
}
