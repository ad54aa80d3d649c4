internal import EventLog
package import EventModel
package import Projections
package import SchemaEvolution

/// What a replay would do, from the census, the compiled steps and a measured sample; nothing is changed.
package enum Plan {
    package static func run(
        _ site: MigrationSite, to version: SchemaVersion, files: History? = nil, definitions: DefinitionSet? = nil
    ) async throws(EvstoreError) -> PlanReport {
        let intent = try Register(site, files: files, definitions: definitions, through: version)
        let (state, history) = (intent.state, intent.history)
        let live = try site.evolving.current().definitions(at: state.live)
        var target = try Lineup(site, intent.evolving(site), at: version)
        try target.find(site, state, acceptingQuarantine: false)
        let census = try migrating { try site.log.read { reader in try reader.census() } }.filter { $0.count > 0 }
        let sample = try Sample(site)
        let seen = try Measure(history, version, sample, site)

        var report = PlanReport(from: state.live, to: version)
        report.events = census.reduce(0) { $0 + $1.count }
        report.rebuild = target.missing.map(\.name)
        report.carry = target.entries.filter { $0.directory != nil }.map(\.name)
        report.new = report.rebuild.filter { name in !live.contains { $0.name == name } }
        report.opClass = history.opClass(from: state.live, to: version).description
        report.oneWay = history.oneWaySteps(from: state.live, to: version).map { "\($0)" }
        for row in census { report.types.append(try seen.outlook(of: row)) }
        report.loss = try seen.losses(from: state.live)
        report.adoption = seen.adoption
        report.sample = UInt64(sample.events.count)
        report.pending = !target.isLive(in: state) || intent.defersDefinitions
        report.needs = history.missingSwiftSteps(from: SchemaVersion(1), to: version)
        if !report.rebuild.isEmpty, report.needs.isEmpty {
            (report.seconds, report.bytes) = try await estimate(site, target, report.events)
        }
        return report
    }

    /// Builds what is to be rebuilt from the first events of the log in a scratch directory and scales that up.
    private static func estimate(
        _ site: MigrationSite, _ target: Lineup, _ events: UInt64
    ) async throws(EvstoreError) -> (seconds: Double, bytes: UInt64) {
        let measured = min(events, UInt64(Sample.eventsMax))
        guard measured > 0 else { return (0, 0) }
        let scratch = try Scratch.make(site)
        defer { scratch.remove() }
        var lineup = target
        (lineup.root, lineup.entries) = (scratch.path, target.missing)
        let began = ContinuousClock.now
        _ = try lineup.build(site, onError: .quarantine, through: Position(measured))
        let seconds = began.duration(to: .now).inSeconds
        let scale = Double(events) / Double(measured)
        return (seconds * scale, UInt64(Double(try lineup.bytesOnDisk()) * scale))
    }
}
