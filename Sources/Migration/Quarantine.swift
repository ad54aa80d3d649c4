internal import EventLog
package import EventModel
internal import Platform
internal import Projections

/// Lists the events that read models could not take in, and rebuilds those read models once they can.
package enum Quarantine {
    /// The events in quarantine of a version, by projection and position; of one projection or at one position where these are given.
    package static func list(
        _ context: MigrationContext, at version: SchemaVersion, projection: String? = nil, position: Position? = nil
    ) throws(EvstoreError) -> [QuarantineReport] {
        var reports: [QuarantineReport] = []
        try converting { try forEach(context, at: version, projection: projection, position: position) { reports.append($0) } }
        return reports
    }

    /// Hands these events over one by one: there may be as many as events of the log.
    package static func forEach(
        _ context: MigrationContext, at version: SchemaVersion, projection: String? = nil, position: Position? = nil,
        _ body: (QuarantineReport) throws -> Void
    ) throws {
        let generationSet = try GenerationSet.registered(context, at: version, try context.state())
        if let projection, !generationSet.entries.contains(where: { $0.name == projection }) {
            throw EvstoreError.unknownProjection(projection, known: generationSet.entries.map(\.name))
        }
        for (entry, name) in generationSet.named where projection == nil || entry.name == projection {
            let generation = try generationSet.open(name)
            func report(_ row: QuarantineRow) throws {
                try body(QuarantineReport(projection: entry.name, position: row.position, type: row.type, error: row.reason))
            }
            if let position {
                for row in try generation.quarantined(at: position) { try report(row) }
            } else {
                try generation.forEachQuarantined { row in
                    try report(row)
                    return true
                }
            }
        }
    }

    /// Rebuilds the live read models that have events in quarantine, beside the live ones, and flips to those that lack fewer.
    ///
    /// An event is never applied late, since later events were folded without it.
    package static func retry(_ context: MigrationContext) async throws(EvstoreError) -> QuarantineRetryReport {
        let began = Instant.now
        return try await context.locked(takingInFrames: false) { () async throws(EvstoreError) in
            let state = try context.state()
            try GenerationSweep.run(context)
            let current = try GenerationSet.registered(context, at: state.live, state)
            // The newest events may have no image either.
            try current.follow()
            let lacking = Set(try current.headers().filter { $0.header.quarantined > 0 }.map(\.entry.name))
            var better = current
            for index in better.entries.indices where lacking.contains(better.entries[index].name) { better.entries[index].directory = nil }
            let names = try better.build(onError: .quarantine).map(\.name)
            for both in [better, current] { try both.follow() }
            let (before, after) = (try current.quarantineRows(), try better.quarantineRows())
            var report = QuarantineRetryReport(rebuilt: [], before: before, after: before)
            guard after < before else {
                try GenerationSweep.run(context)
                return report
            }
            let outcome = "done, \(after) of \(before) rows still in quarantine"
            let order = Flip.Order(cause: .retry, planned: state, generationSet: better, outcome: outcome, began: began)
            repeat { try better.follow() } while try await Flip.run(order, context) == nil
            try GenerationSweep.run(context)
            (report.rebuilt, report.after) = (names, after)
            return report
        }
    }
}
