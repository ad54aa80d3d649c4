internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform
internal import Projections
internal import SchemaEvolution

/// What must hold of the steps, tried on events of the log and on events that are made.
package enum Laws {
    /// T, L1 and L4 on a sample of the log, seen at a version, with the account of what its events lose.
    static func check(
        _ site: MigrationSite, _ history: History, _ windows: SampleWindows, at target: SchemaVersion
    ) throws(EvstoreError) -> LawTally {
        let last = try site.last().position
        let done = Monitor<UInt64>(0)
        return try inJobs(site, Int(clamping: windows.count / 1_000)) { (part, jobs) throws(EvstoreError) in
            var trial = LawTrial(history, isFull: false)
            let names = StreamNames(site.log, history)
            var end: Position?
            for range in windows.part(part, of: jobs) {
                var count: UInt64 = 0
                try Sample.visit(range, site) { () throws(EvstoreError) in
                    try site.job.check()
                    let now = done.withLock { done in
                        done += count
                        return done
                    }
                    count = 0
                    site.job.report("laws", done: now)
                } _: { record, reader in
                    if let version = windows.bornAbove, record.born <= version { return }
                    (count, end) = (count + 1, record.position)
                    try trial.check(next: record, at: target, names, site, reader)
                }
            }
            if part == jobs - 1, end == last { trial.finishAppend(at: [target]) }
            return trial.tally
        }
    }

    /// T, L1 and L4 on single events, given in order; those that are merged with others of their append are not tried.
    static func check(
        _ site: MigrationSite, _ history: History, events: [Position], at target: SchemaVersion
    ) throws(EvstoreError) -> LawTally {
        var trial = LawTrial(history, isFull: false)
        let names = StreamNames(site.log, history)
        var rest = events[...]
        while let first = rest.first {
            try site.job.check()
            site.job.report("laws", done: UInt64(events.count - rest.count), total: UInt64(events.count))
            // Those that lie close to each other are of few blocks.
            let near = rest.prefix { $0 < first.plus(512) }
            rest = rest.dropFirst(near.count)
            try Sample.visit(first.through(near.last ?? first), site) {
            } _: { record, reader in
                if near.contains(record.position) { try trial.check(next: record, at: target, names, site, reader) }
            }
        }
        return trial.tally
    }

    /// The laws of events on the whole log, on events made from the shapes of every version, and on changed events of the log.
    static func checkEvents(_ site: MigrationSite, _ history: History, _ state: StoreState, seed: UInt64) throws(EvstoreError) -> LawTally {
        var tally = try checkLog(site, history, state)
        tally.add(try checkGenerated(site, history, seed))
        tally.add(try checkMutated(site, history, seed))
        return tally
    }

    private static func checkLog(_ site: MigrationSite, _ history: History, _ state: StoreState) throws(EvstoreError) -> LawTally {
        let targets = state.floor == state.live ? [state.live] : [state.live, state.floor]
        let last = try site.last().position.rawValue
        let done = Monitor<UInt64>(0)
        return try inJobs(site, Int(last / 10_000)) { (part, jobs) throws(EvstoreError) in
            var trial = LawTrial(history, isFull: true)
            let (part, jobs) = (UInt64(part), UInt64(jobs))
            let start = try site.beginOfAppend(from: 1 + part * last / jobs)
            let end = try site.beginOfAppend(from: 1 + (part + 1) * last / jobs) - 1
            try Sample.read(from: start, through: end, history, site) { (events) throws(EvstoreError) in
                try site.job.check()
                for event in events {
                    trial.check(next: event, at: targets)
                    trial.check(accepted: event, from: state.floor)
                }
                let now = done.withLock { done in
                    done += UInt64(events.count)
                    return done
                }
                site.job.report("laws", done: now, total: last)
            }
            trial.finishAppend(at: targets)
            return trial.tally
        }
    }

    private static let generatedEach = 100

    private static func checkGenerated(_ site: MigrationSite, _ history: History, _ seed: UInt64) throws(EvstoreError) -> LawTally {
        let kinds = history.versions.flatMap { file in file.types.map { TypeAtVersion(type: $0, version: file.number) } }
        return try inJobs(site, kinds.count / 4) { (part, jobs) throws(EvstoreError) in
            var trial = LawTrial(history, isFull: true)
            for index in kinds.indices where index % jobs == part {
                try site.job.check()
                site.job.report("laws generated", done: UInt64(index), total: UInt64(kinds.count))
                trial.check(kinds[index], generated: generatedEach, seed: seed &+ UInt64(index))
            }
            for number in 2 ..< max(history.head.number + 1, 2) where number % jobs == part {
                trial.check(mergesTo: SchemaVersion(number), generated: generatedEach, seed: seed &+ UInt64(number))
            }
            return trial.tally
        }
    }

    private static let mutatedMax = 5_000

    private static func checkMutated(_ site: MigrationSite, _ history: History, _ seed: UInt64) throws(EvstoreError) -> LawTally {
        let events = try Sample(site, SampleWindows(site, eventsMax: mutatedMax)).events
        return try inJobs(site, events.count / 1_000) { (part, jobs) throws(EvstoreError) in
            var trial = LawTrial(history, isFull: true)
            for index in events.indices where index % jobs == part {
                if index % 100 == 0 {
                    try site.job.check()
                    site.job.report("laws mutated", done: UInt64(index), total: UInt64(events.count))
                }
                trial.check(mutationsOf: events[index], seed: seed &+ UInt64(index))
            }
            return trial.tally
        }
    }

    private static func inJobs(
        _ site: MigrationSite, _ most: Int, _ work: @escaping @Sendable (Int, Int) throws(EvstoreError) -> LawTally
    ) throws(EvstoreError) -> LawTally {
        let jobs = max(1, min(site.options.replayJobs ?? Processors.count, 1 + most))
        let parts = Monitor<[Int: LawTally]>([:])
        try converting {
            try inParallel(jobs) { part in
                let tally = try work(part, jobs)
                parts.withLock { $0[part] = tally }
            }
        }
        return parts.withLock { parts in
            (0 ..< jobs).compactMap { parts[$0] }.reduce(into: LawTally()) { $0.add($1) }
        }
    }
}

extension LawTrial {
    /// Counts an event like others of its way, or tries the laws on it.
    fileprivate mutating func check(
        next record: borrowing RecordView, at target: SchemaVersion, _ names: StreamNames, _ site: MigrationSite,
        _ reader: borrowing LogReader
    ) throws {
        let source = SourceEvent(payload: record.payload, time: record.time, metadata: record.metadata)
        let kind = TypeAtVersion(type: site.log.name(ofType: record.type), version: record.born)
        let place = LogLocation(position: record.position, continuesAppend: record.continuesAppend)
        let isLike = isLikeOthers(next: source, kind, at: place, target) { try names.name(of: record, at: $0, reader).text }
        if !isLike { check(next: try Sample.event(record, names, site, reader), at: [target]) }
    }
}

extension MigrationSite {
    /// The first position from one on at which an append begins, or the one after the last event.
    fileprivate func beginOfAppend(from start: UInt64) throws(EvstoreError) -> UInt64 {
        try log.reading { reader in
            var position = start
            while try reader.closedRecord(at: Position(position), { $0.continuesAppend }) == true { position += 1 }
            return position
        }
    }
}

extension LawTally {
    /// Of the laws without which no event can be shown, the first that did not hold for an event of the log.
    var firstFailure: EvstoreError? {
        let found = failures.first { $0.event.origin == .log && ["T-up", "T-down", "L4"].contains($0.verdict.law) }
        guard let found else { return nil }
        guard let error = found.verdict.error else {
            let (event, target) = (found.event, found.target)
            return .verificationFailed(
                reason:
                    "\(event.type) born at \(event.born), position \(event.position?.description ?? "?"), is not the same at \(target) when seen step by step"
            )
        }
        guard case .noImage(var failure) = error else { return error }
        failure.position = found.event.position
        return .noImage(failure)
    }
}
