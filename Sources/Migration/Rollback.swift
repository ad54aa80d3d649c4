internal import EventLog
package import EventModel
internal import Logging
internal import Projections

/// Going back to the read models of an older version, with every event kept: those born later are seen through `down`.
package enum Rollback {
    /// To the version from which the last replay reached the live one where `version` is nil.
    package static func run(
        _ site: MigrationSite, to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> RollbackReport {
        let began = ContinuousClock.now
        try site.log.requireOwn()
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        try await site.takeInFrames()
        let state = try site.state()
        let flips = try Journal.list(site.log).filter { $0.what == "flip" }
        let target = try target(version, state, flips)
        var report = RollbackReport(from: state.live, to: target, position: try site.last().position)
        if target != state.live {
            site.logger.info("a rollback begins", metadata: ["from": "\(state.live)", "to": "\(target)", "store": "\(site.store)"])
            var generationSet = try GenerationSet.registered(site, at: target, state)
            report.without = try generationSet.leaveBehind(without)
            report.rebuilt = try generationSet.build(site, onError: .quarantine).map(\.name)
            let flip = try await move(site, Flip.Order(cause: .rollback, planned: state, generationSet: generationSet, began: began))
            report.position = flip.position
            (report.flipBegan, report.flipPauseMilliseconds) = (flip.began, flip.pauseMilliseconds)
            report.tail = flip.position.rawValue - min(flip.position.rawValue, reached(target, state, flips).rawValue)
            site.logger.info(
                "a rollback ended",
                metadata: [
                    "live": "\(target)", "position": "\(report.position)", "tail": "\(report.tail)",
                    "milliseconds": "\(flip.pauseMilliseconds)",
                ])
        }
        report.seconds = began.duration(to: .now).inSeconds
        return report
    }

    /// Follows to the end of the log, checks, and flips; again where appends were faster.
    private static func move(_ site: MigrationSite, _ order: Flip.Order) async throws(EvstoreError) -> Flip.Outcome {
        while true {
            try site.checkCancellation()
            try order.generationSet.follow(site)
            MigrationPhase.reached(.rollbackFollowed)
            try order.generationSet.verify(site, rowsMax: site.options.rollbackVerifyRowsMax)
            MigrationPhase.reached(.rollbackVerified)
            if let outcome = try await Flip.run(order, site) { return outcome }
        }
    }

    private static func target(
        _ version: SchemaVersion?, _ state: StoreState, _ flips: [JournalRow]
    ) throws(EvstoreError) -> SchemaVersion {
        guard let version else {
            let came = flips.last { $0.to == state.live && ($0.from ?? state.live) < state.live }?.from
            guard let came, came >= state.floor else { throw .nothingToRollBackTo(live: state.live) }
            return came
        }
        guard version <= state.head else {
            throw .unknownVersion(version.description, known: (1 ... state.head.number).map { "v\($0)" })
        }
        guard version >= state.floor else { throw .belowFloor(version, floor: state.floor) }
        guard version <= state.live else {
            throw .usage(
                "\(version) is above the live version \(state.live): a rollback goes down",
                fix: "go up by a replay: \(.replay(to: version))")
        }
        return version
    }

    /// The last position when the version above the target became live.
    private static func reached(_ target: SchemaVersion, _ state: StoreState, _ flips: [JournalRow]) -> Position {
        let flip = flips.last { row in
            guard let from = row.from, let to = row.to else { return false }
            return from <= target && to > target && to <= state.top
        }
        return flip?.position ?? Position(.max)
    }
}
