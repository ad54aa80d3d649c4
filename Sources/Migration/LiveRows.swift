internal import EventLog
internal import EventModel
internal import Logging
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The read models of the live version: those of a later one are made from their rows where that provably gives the events' result.
struct LiveRows {
    enum BuildSource {
        case rows(RowMap, of: Generation, older: Definition)
        /// The reason why rows are not used, as a clause; nil where there are none.
        case events(because: String?)
    }

    private let live: GenerationSet
    private let census: [CensusRow]
    private let windows: SampleWindows

    /// Mapping a row costs about as much as folding an event.
    private static let eventsOfARow: UInt64 = 2
    private static let eventsTried = 2_000

    init(_ context: MigrationContext, _ state: StoreState) throws(EvstoreError) {
        live = try GenerationSet.registered(context, at: state.live, state)
        census = try context.census()
        windows = try SampleWindows(context, eventsMax: Self.eventsTried)
    }

    func way(to entry: GenerationSet.Entry, of generationSet: GenerationSet) throws(EvstoreError) -> BuildSource {
        guard let model = live.present.first(where: { $0.name == entry.name }), let name = model.directory else {
            return .events(because: nil)
        }
        let (older, newer, generation) = (model.definition, entry.definition, try live.open(name))
        let header = try generation.header
        guard header.isReady else { return .events(because: "its rows at \(older.version) are not whole") }
        guard header.quarantined == 0 else { return .events(because: "its quarantine at \(older.version) is not empty") }
        let history = try generationSet.evolving.current().history
        switch try RowMapProof.prove(older, newer, history, census) {
        case .events(let reason): return .events(because: reason)
        case .rows(let map):
            guard map.events / Self.eventsOfARow >= header.rows else { return .events(because: "it has more rows than half of its events") }
            let ranges = windows.ranges.map { Position($0.lowerBound) ... Position($0.upperBound) }
            guard try map.holds(from: older, to: newer, on: ranges, live.context.log, history) else {
                live.context.logger.error("a proof about rows does not hold: report it", metadata: ["projection": "\(entry.name)"])
                return .events(because: "what is proved of its rows does not hold for some events, which is a fault of evstore: report it")
            }
            return .rows(map, of: generation, older: older)
        }
    }

    /// Whether the log still has no event of a type and birth version that it had none of when the census was read.
    func haveAll(_ context: MigrationContext) throws(EvstoreError) -> Bool {
        try context.census().allSatisfy { row in census.contains { $0.born == row.born && $0.type == row.type } }
    }
}

extension GenerationSet {
    /// Makes those of the missing read models that are a function of the live version's rows; they are no longer missing.
    /// - Returns: their entries, and the number of rows that they were made from.
    mutating func map(_ rows: LiveRows) throws(EvstoreError) -> (entries: [Entry], rows: UInt64) {
        var mapped: (entries: [Entry], rows: UInt64) = ([], 0)
        for index in entries.indices where entries[index].directory == nil {
            try context.job.check()
            do throws(EvstoreError) {
                guard case .rows(let map, let source, let older) = try rows.way(to: entries[index], of: self) else { continue }
                // The source is brought to the log's end, so that few events are left to fold after its rows are mapped.
                try Follower(context.evolving).catchUp(source, older, context.job)
                let count = try source.header.rows
                guard let name = try self.map(index, map, source) else { continue }
                // Order: the census is read after the rows, which include events that were appended meanwhile.
                guard try rows.haveAll(context) else {
                    try Generation.remove(named: name, in: root)
                    continue
                }
                entries[index].directory = name
                mapped.entries.append(entries[index])
                mapped.rows += count
            } catch {
                // After a failure the read model is built from events, which need no rows.
                if case .interrupted = error { throw error }
                context.logger.info(
                    "a read model is built from events, not from its rows",
                    metadata: ["projection": "\(entries[index].name)", "error": .stringConvertible(error.advised)])
            }
        }
        return mapped
    }

    /// Maps rows into a new generation, and returns its name; nil where the rows do not match their recorded digest.
    /// - Parameter rowsMax: maps only this many rows.
    private func map(_ index: Int, _ map: RowMap, _ source: Generation, rowsMax: UInt64 = .max) throws(EvstoreError) -> String? {
        var made: [String] = []
        func remove() throws(EvstoreError) { for name in made { try Generation.remove(named: name, in: root) } }
        do {
            let target = try create([index], &made)[0]
            if try map.build(target, of: source, rowsMax: rowsMax, evolving, context.job) { return made.first }
        } catch {
            try remove()
            throw error
        }
        try remove()
        return nil
    }

    /// Reports for each missing read model its source, and the time for those made from rows. Then `entries` holds those made from events.
    mutating func measureMapped(_ rows: LiveRows, _ report: inout PlanReport) throws(EvstoreError) {
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        var measured = self
        measured.root = scratch.path
        var mapped: Set<String> = []
        for index in entries.indices where entries[index].directory == nil {
            try context.job.check()
            let (name, began) = (entries[index].name, Instant.now)
            do throws(EvstoreError) {
                switch try rows.way(to: entries[index], of: self) {
                case .events(let reason): report.ways.append(PlannedWay(projection: name, rows: nil, because: reason))
                case .rows(let map, let source, _):
                    let all = try source.header.rows
                    guard let made = try measured.map(index, map, source, rowsMax: Plan.eventsMeasured) else {
                        report.ways.append(
                            PlannedWay(projection: name, rows: nil, because: "its rows do not have the digest that is noted"))
                        continue
                    }
                    measured.entries[index].directory = made
                    let scale = Double(all) / Double(max(1, min(all, Plan.eventsMeasured)))
                    report.duration += began.duration(to: .now).scaled(by: scale)
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
