internal import EventLog
internal import EventModel
internal import Logging
internal import Projections
internal import SchemaEvolution

/// The read models of the live version: from their rows those of a later version are made, where it is proved that events would give the same.
struct LiveRows {
    /// From what a read model is made.
    enum Way {
        case rows(RowMap, of: Generation, older: Definition)
        /// Why not from rows, as a clause; nil where there are none.
        case events(because: String?)
    }

    private let live: GenerationSet
    private let census: [CensusRow]
    private let windows: SampleWindows

    /// A row costs about what an event does.
    private static let eventsOfARow: UInt64 = 2
    /// Events that a proved function is tried on.
    private static let eventsTried = 2_000

    init(_ site: MigrationSite, _ state: StoreState) throws(EvstoreError) {
        live = try GenerationSet.registered(site, at: state.live, state)
        census = try site.log.reading { reader in try reader.census() }
        windows = try SampleWindows(site, eventsMax: Self.eventsTried)
    }

    func way(to entry: GenerationSet.Entry, of generationSet: GenerationSet, _ site: MigrationSite) throws(EvstoreError) -> Way {
        guard let model = live.present.first(where: { $0.name == entry.name }), let name = model.directory else {
            return .events(because: nil)
        }
        let (older, newer, generation) = (model.definition, entry.definition, try live.open(name, site))
        let header = try generation.header
        guard header.isReady else { return .events(because: "its rows at \(older.version) are not whole") }
        guard header.quarantined == 0 else { return .events(because: "its quarantine at \(older.version) is not empty") }
        let history = try generationSet.evolving.current().history
        switch try RowMapProof.prove(older, newer, history, census) {
        case .events(let reason): return .events(because: reason)
        case .rows(let map):
            guard map.events / Self.eventsOfARow >= header.rows else { return .events(because: "it has more rows than half of its events") }
            let ranges = windows.ranges.map { Position($0.lowerBound) ... Position($0.upperBound) }
            guard try map.holds(from: older, to: newer, on: ranges, site.log, history) else {
                site.logger.error("a proof about rows does not hold: report it", metadata: ["projection": "\(entry.name)"])
                return .events(because: "what is proved of its rows does not hold for some events, which is a fault of evstore: report it")
            }
            return .rows(map, of: generation, older: older)
        }
    }

    /// Whether the log still has no events of a type and birth version that it had none of when its events were counted.
    func haveAll(_ site: MigrationSite) throws(EvstoreError) -> Bool {
        let now = try site.log.reading { reader in try reader.census() }
        return now.allSatisfy { row in row.count == 0 || census.contains { $0.born == row.born && $0.type == row.type && $0.count > 0 } }
    }

    /// Brings a read model to the log's end, so that few events are left to follow from its rows.
    func follow(_ generation: Generation, _ definition: Definition, _ site: MigrationSite) throws(EvstoreError) {
        try Follower(site.evolving).catchUp(generation, definition, site.job)
    }
}

/// Read models that were made from rows.
struct MappedModels {
    var entries: [GenerationSet.Entry] = []
    /// How many rows they were made of.
    var rows: UInt64 = 0
}

extension GenerationSet {
    /// Builds those of the missing ones that are a function of rows of the live version; they are missing no longer.
    mutating func map(_ rows: LiveRows, _ site: MigrationSite) throws(EvstoreError) -> MappedModels {
        var mapped = MappedModels()
        for index in entries.indices where entries[index].directory == nil {
            try site.job.check()
            do throws(EvstoreError) {
                guard case .rows(let map, let source, let older) = try rows.way(to: entries[index], of: self, site) else { continue }
                try rows.follow(source, older, site)
                let count = try source.header.rows
                guard let name = try self.map(index, map, source, site) else { continue }
                // Order: counted after the rows were read, which hold what was appended meanwhile.
                guard try rows.haveAll(site) else {
                    try Generation.remove(named: name, in: root)
                    continue
                }
                entries[index].directory = name
                mapped.entries.append(entries[index])
                mapped.rows += count
            } catch {
                // Events need no rows.
                if case .interrupted = error { throw error }
                site.logger.info(
                    "a read model is built from events, not from its rows",
                    metadata: ["projection": "\(entries[index].name)", "error": "\(error.message)"])
            }
        }
        return mapped
    }

    /// Maps rows into a new generation, and returns its name; nil where the rows are not what their events give.
    /// - Parameter rowsMax: maps only so many of the first.
    private func map(
        _ index: Int, _ map: RowMap, _ source: Generation, rowsMax: UInt64 = .max, _ site: MigrationSite
    ) throws(EvstoreError) -> String? {
        var made: [String] = []
        func remove() throws(EvstoreError) { for name in made { try Generation.remove(named: name, in: root) } }
        do {
            let build = MappedBuild(evolving, map, of: source, into: try create([index], &made, site)[0])
            if try build.run(rowsMax: rowsMax, site.job) { return made.first }
        } catch {
            try remove()
            throw error
        }
        try remove()
        return nil
    }

    /// Notes of each missing one from what it is made, and how long that takes from rows; leaves those that are made from events.
    mutating func measureMapped(_ rows: LiveRows, _ report: inout PlanReport, _ site: MigrationSite) throws(EvstoreError) {
        let scratch = try Scratch.make(site)
        defer { scratch.remove() }
        var measured = self
        measured.root = scratch.path
        var mapped: Set<String> = []
        for index in entries.indices where entries[index].directory == nil {
            try site.job.check()
            let (name, began) = (entries[index].name, ContinuousClock.now)
            do throws(EvstoreError) {
                switch try rows.way(to: entries[index], of: self, site) {
                case .events(let reason): report.ways.append(PlannedWay(projection: name, rows: nil, because: reason))
                case .rows(let map, let source, _):
                    let all = try source.header.rows
                    guard let made = try measured.map(index, map, source, rowsMax: Plan.eventsMeasured, site) else {
                        report.ways.append(
                            PlannedWay(projection: name, rows: nil, because: "its rows do not have the digest that is noted"))
                        continue
                    }
                    measured.entries[index].directory = made
                    let scale = Double(all) / Double(max(1, min(all, Plan.eventsMeasured)))
                    report.seconds += began.duration(to: .now).inSeconds * scale
                    report.bytes += UInt64(clamping: nearest(Double(try measured.bytesOnDisk(of: index)) * scale))
                    report.ways.append(PlannedWay(projection: name, rows: all, because: nil))
                    mapped.insert(name)
                }
            } catch {
                if case .interrupted = error { throw error }
                report.ways.append(PlannedWay(projection: name, rows: nil, because: error.message))
            }
        }
        entries.removeAll { mapped.contains($0.name) }
    }
}
