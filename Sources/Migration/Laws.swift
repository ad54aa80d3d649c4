internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws of steps and folds, tried on events of the log and on generated events.
package enum Laws {
    /// Tries T, L1 and L4 on a sample of the log, seen at a version, counts its losses, and measures its conversion, in one pass.
    static func sample(
        _ context: MigrationContext, _ history: History, _ windows: SampleWindows, at target: SchemaVersion, measuring: Bool = true
    ) throws(EvstoreError) -> (laws: LawTally, conversion: ConversionMeasure) {
        let last = try context.last().position
        let progress = LawProgress(context, "laws")
        let parts = try inJobs(context, Int(clamping: windows.count / 1_000)) { (part, jobs) throws(EvstoreError) in
            var trial = LawTrial(history, isFull: false)
            let names = StreamNames(context.log, history)
            var conversion = ConversionTrial(context.log, history, at: target, names)
            var end: Position?
            for range in windows.part(part, of: jobs) {
                var count: UInt64 = 0
                try Sample.visit(range, context) { () throws(EvstoreError) in
                    try progress.add(count)
                    count = 0
                } _: { record, reader in
                    if let version = windows.bornAbove, record.born <= version { return }
                    (count, end) = (count + 1, record.position)
                    try trial.check(next: record, at: target, names, context, reader)
                    if measuring { try conversion.take(record, reader) }
                }
            }
            if part == jobs - 1, end == last { trial.finishAppend(at: [target]) }
            return (laws: trial.tally, conversion: conversion.measure)
        }
        var conversion = ConversionMeasure(history, at: target)
        for part in parts { conversion.add(part.conversion) }
        return (together(parts.map(\.laws)), conversion)
    }

    /// Tries T, L1 and L4 on single events, which must be in order; skips those that are merged with others of their append.
    static func check(
        _ context: MigrationContext, _ history: History, events: [Position], at target: SchemaVersion
    ) throws(EvstoreError) -> LawTally {
        var trial = LawTrial(history, isFull: false)
        let names = StreamNames(context.log, history)
        var rest = events[...]
        while let first = rest.first {
            try context.job.advance("laws", done: UInt64(events.count - rest.count), total: UInt64(events.count))
            // Events that are close to each other are in few blocks, so they are read together.
            let near = rest.prefix { $0 < first.plus(512) }
            rest = rest.dropFirst(near.count)
            try Sample.visit(first.through(near.last ?? first), context) {
            } _: { record, reader in
                if near.contains(record.position) { try trial.check(next: record, at: target, names, context, reader) }
            }
        }
        return trial.tally
    }

    /// Tries the laws of events on the whole log.
    /// - Parameter quarantines: see `LawTrial.init`.
    private static func checkLog(
        _ context: MigrationContext, _ history: History, _ state: StoreState, _ quarantines: [AcceptedQuarantine]
    ) throws(EvstoreError) -> LawTally {
        let targets = [state.live] + Set([state.floor, state.top, state.head]).subtracting([state.live]).sorted()
        let last = try context.last().position.rawValue
        let progress = LawProgress(context, "laws", total: last)
        return together(
            try inJobs(context, Int(last / 10_000)) { (part, jobs) throws(EvstoreError) in
                var trial = LawTrial(history, isFull: true, quarantines: quarantines)
                let (part, jobs) = (UInt64(part), UInt64(jobs))
                let start = try context.beginOfAppend(from: 1 + part * last / jobs)
                let end = try context.beginOfAppend(from: 1 + (part + 1) * last / jobs) - 1
                try Sample.read(from: start, through: end, history, context) { (events) throws(EvstoreError) in
                    for event in events {
                        trial.check(next: event, at: targets)
                        trial.check(accepted: event, from: state.floor)
                    }
                    try progress.add(UInt64(events.count))
                }
                trial.finishAppend(at: targets)
                return trial.tally
            })
    }

    private static let generatedEach = 100

    private static func checkGenerated(_ context: MigrationContext, _ history: History, _ seed: UInt64) throws(EvstoreError) -> LawTally {
        let kinds = history.versions.flatMap { file in file.types.map { TypeAtVersion(type: $0, version: file.number) } }
        let progress = LawProgress(context, "laws generated", total: UInt64(kinds.count))
        return together(
            try inJobs(context, kinds.count / 4) { (part, jobs) throws(EvstoreError) in
                var trial = LawTrial(history, isFull: true)
                for index in kinds.indices where index % jobs == part {
                    trial.check(kinds[index], generated: generatedEach, seed: seed &+ UInt64(index))
                    try progress.add(1)
                }
                for number in 2 ..< max(history.head.number + 1, 2) where number % jobs == part {
                    trial.check(mergesTo: SchemaVersion(number), generated: generatedEach, seed: seed &+ UInt64(number))
                }
                return trial.tally
            })
    }

    /// How many events of the log are mutated at most.
    private static let mutatedMax = 5_000

    private static func checkMutated(_ context: MigrationContext, _ history: History, _ seed: UInt64) throws(EvstoreError) -> LawTally {
        let windows = try SampleWindows(context, eventsMax: mutatedMax)
        let progress = LawProgress(context, "laws mutated", total: windows.count)
        return together(
            try inJobs(context, Int(clamping: windows.count / 1_000)) { (part, jobs) throws(EvstoreError) in
                var trial = LawTrial(history, isFull: true)
                for range in windows.part(part, of: jobs) {
                    try Sample.read(from: range.lowerBound, through: range.upperBound, history, context) { (events) throws(EvstoreError) in
                        for (index, event) in events.enumerated() {
                            trial.check(mutationsOf: event, seed: seed &+ (event.position ?? Position(1)).previous.rawValue)
                            if index % 100 == 99 { try progress.add(100) }
                        }
                        try progress.add(UInt64(events.count % 100))
                    }
                }
                return trial.tally
            })
    }

    private static func together(_ tallies: [LawTally]) -> LawTally { tallies.reduce(into: LawTally()) { $0.add($1) } }

    /// The results of several threads, in the order of their parts.
    private static func inJobs<R: Sendable>(
        _ context: MigrationContext, _ most: Int, _ work: @escaping @Sendable (Int, Int) throws(EvstoreError) -> R
    ) throws(EvstoreError) -> [R] {
        let jobs = min(Processors.threads(context.options.replayJobs), 1 + max(0, most))
        let parts = Monitor<[Int: R]>([:])
        try converting {
            try inParallel(jobs) { part in
                let result = try work(part, jobs)
                parts.withLock { $0[part] = result }
            }
        }
        return parts.withLock { parts in (0 ..< jobs).compactMap { parts[$0] } }
    }
}

/// Reports how many events several threads have tried together.
private struct LawProgress: Sendable {
    private let context: MigrationContext
    private let step: String
    private let total: UInt64
    private let done = Monitor<UInt64>(0)

    init(_ context: MigrationContext, _ step: String, total: UInt64 = 0) { (self.context, self.step, self.total) = (context, step, total) }

    /// - Throws: `EvstoreError.interrupted`.
    func add(_ count: UInt64) throws(EvstoreError) {
        try context.job.check()
        let now = done.withLock { done in
            done += count
            return done
        }
        context.job.report(step, done: now, total: total)
    }
}

extension LawTrial {
    /// Counts an event that takes the path of earlier ones, or tries the laws on it.
    fileprivate mutating func check(
        next record: borrowing RecordView, at target: SchemaVersion, _ names: StreamNames, _ context: MigrationContext,
        _ reader: borrowing LogReader
    ) throws {
        let source = SourceEvent(payload: record.payload, time: record.time, metadata: record.metadata)
        let kind = TypeAtVersion(type: context.log.name(ofType: record.type), version: record.born)
        let place = LogLocation(position: record.position, continuesAppend: record.continuesAppend)
        let isLike = isLikeOthers(next: source, kind, at: place, target) { try names.name(of: record, at: $0, reader).text }
        if !isLike { check(next: try Sample.event(record, names, context, reader), at: [target]) }
    }
}

extension MigrationContext {
    /// The first position at or after `start` at which an append begins, or the one after the last event.
    fileprivate func beginOfAppend(from start: UInt64) throws(EvstoreError) -> UInt64 {
        try log.reading { reader in
            var position = start
            while try reader.closedRecord(at: Position(position), { $0.continuesAppend }) == true { position += 1 }
            return position
        }
    }
}

extension LawTally {
    /// The first failure, for an event of the log, of a law without which the event can't be shown.
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

package struct LawReport: Sendable {
    /// The counts of the laws, in the order of their names.
    package let laws: [LawCount]
    package let exercised: [OpCount]
    /// Ops that no event went through.
    package let notExercised: [String]
    package let cases: LawCases
    package let seed: UInt64
    package let loss: [PlannedLoss]
    package let findings: [Finding]
}

extension Laws {
    /// Tries every law: first those of events, then those of read models.
    /// - Parameter quarantine: events of the log without an image at this version are not tried, but named as such; where nil, those that
    ///   a read model of the live version, or of one above it, has in its quarantine.
    package static func prove(
        _ context: MigrationContext, _ state: StoreState, seed: UInt64, quarantine: SchemaVersion? = nil
    ) throws(EvstoreError) -> LawReport {
        let history = try context.evolving.current().history
        try history.requireSwiftSteps(through: history.head)
        var quarantines = quarantine.map { [AcceptedQuarantine(at: $0)] } ?? []
        for version in Set([state.live, state.top, state.head]).sorted() where quarantine == nil {
            if let one = try GenerationSet.registered(context, at: version, state).acceptedQuarantine() { quarantines.append(one) }
        }
        var tally = try checkLog(context, history, state, quarantines)
        tally.add(try checkGenerated(context, history, seed))
        tally.add(try checkMutated(context, history, seed))
        var models = try ReplayLaws(context)
        for version in Set([state.live, state.floor]).sorted() { try models.check(state, at: version) }
        try models.checkShared(state)
        tally.add(models.tally)
        let laws = all.map { law in
            let count = tally.counts[law]
            return LawCount(law: law, tried: count?.tried ?? 0, failed: count?.failed ?? 0, lossy: count?.lossy ?? 0)
        }
        let stepCases = history.cases(tally.crossings)
        let cases = LawCases(
            log: tally.cases[.log] ?? 0, adopted: tally.cases[.adopted] ?? 0, generated: tally.cases[.generated] ?? 0,
            mutated: tally.cases[.mutated] ?? 0, refused: tally.refused, replayed: models.events)
        var notExercised = stepCases.filter { $0.count == 0 }.map(\.description)
        if tally.quarantined > 0 {
            let versions = quarantines.map(\.version.description).joined(separator: " or ")
            notExercised.append("the laws of \(counted(tally.quarantined, "event")) without an image at \(versions)")
        }
        return LawReport(
            laws: laws, exercised: exercised(stepCases), notExercised: notExercised, cases: cases,
            seed: seed, loss: tally.losses.planned(history, from: SchemaVersion(1), to: state.head),
            findings: tally.failures.map { finding($0, history) } + models.findings)
    }

    static let all = ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"]

    /// The cases of all types together, in the order of the version files.
    static func exercised(_ cases: [StepCase]) -> [OpCount] {
        var found: [OpCount] = []
        for one in cases {
            let index = found.firstIndex { $0.version == one.step && $0.op == one.op } ?? found.count
            if index == found.count { found.append(OpCount(version: one.step, op: one.op, up: 0, down: 0)) }
            if one.direction == .up { found[index].up += one.count } else { found[index].down += one.count }
        }
        return found
    }

    /// A finding that shows why a law does not hold: it names the smallest payload that breaks it.
    static func finding(_ failure: LawFailure, _ history: History) -> Finding {
        let small = failure.shrunk(history)
        let event = small.event
        var what = "\(failure.verdict.law): \(event.type) born at \(event.born) "
        let origin = "\(event.origin.rawValue)\(small.events == failure.events ? "" : ", made smaller,")"
        what += "\(sentence(failure.verdict.law)) \(failure.target): \(origin) \(small.example(history))"
        if case .noImage(let image)? = failure.verdict.error {
            what += "; \(image.op) of \(image.step) at \(image.pointer.isEmpty ? "the payload" : image.pointer) takes \(image.expected)"
        }
        let isRequired = failure.verdict.weight == .required
        return Finding(
            id: failure.verdict.law == "L1" ? "LAW102" : "LAW101", severity: isRequired ? .error : .note, position: event.position,
            message: what,
            advice: isRequired ? "see what the steps do with: \(.explainSteps)" : nil)
    }

    private static func sentence(_ law: String) -> String {
        switch law {
        case "L1": "does not come back as it was from"
        case "L3": "is not the same again after going back and forth, at"
        case "L4": "is not the same when seen step by step, at"
        case "L5": "has its parts out of order, or a stream that is not led back to or that its template does not name, at"
        default: "has no image at"
        }
    }
}

/// Tries the laws of read models by comparing digests over the beginning of the log. L6: two replays give equal rows, whatever their
/// threads and batches. L7: following gives the rows of a replay, even if another follower continues, and so do the stored generations.
struct ReplayLaws {
    static let eventsMax: UInt64 = 10_000_000

    private let context: MigrationContext
    private let through: Checkpoint
    private let live: SchemaVersion
    private(set) var tally = LawTally()
    private(set) var findings: [Finding] = []

    init(_ context: MigrationContext) throws(EvstoreError) {
        self.context = context
        let last = try context.last()
        live = try context.state().live
        through = Checkpoint(epoch: last.epoch, position: min(last.position, Position(Self.eventsMax)))
    }

    var events: UInt64 { through.position.rawValue }

    /// Tries them on the read models of a version that this program can build.
    mutating func check(_ state: StoreState, at version: SchemaVersion) throws(EvstoreError) {
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        let definitions = try context.evolving.current().definitions(at: version).filter(\.isAvailable)
        guard !definitions.isEmpty else { return }
        context.job.report("laws of read models", total: events)
        let bench = ReplayBench(context: context, version: version, definitions: definitions, root: scratch.path)
        do {
            let one = try bench.replay(jobs: 1, chunkEvents: 61, through: through.position)
            let many = try bench.replay(jobs: 3, chunkEvents: 1_024, through: through.position)
            let followed = try bench.follow(after: Position(events / 2), to: through.position)
            let stored = try stored(state, at: version)
            for (index, definition) in definitions.enumerated() {
                count("L6", one[index], many[index], definition, "replayed by other threads in other chunks")
                count("L7", one[index], followed[index], definition, "followed")
                guard let here = stored[definition.name] else { continue }
                // A stored generation may lag behind the log: it is compared with a replay up to its own checkpoint.
                let replayed = here.checkpoint == through ? one[index] : try bench.replay(definition, through: here.checkpoint.position)
                count("L7", replayed, here, definition, "as the store has it")
            }
        } catch {
            try unbuilt(version, error)
        }
    }

    /// Tries the read models that promised versions share: building them at each of these versions must give equal rows.
    mutating func checkShared(_ state: StoreState) throws(EvstoreError) {
        let evolution = try context.evolving.current()
        var lists = try state.floor.through(state.top).map { (version) throws(EvstoreError) in
            try evolution.definitions(at: version).filter(\.isAvailable)
        }
        let uses = lists.joined().reduce(into: [:]) { $0[$1.fingerprint, default: 0] += 1 }
        lists = lists.map { $0.filter { uses[$0.fingerprint, default: 0] > 1 } }.filter { !$0.isEmpty }
        guard !lists.isEmpty else { return }
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        var first: [Digest: GenerationHeader] = [:]
        for definitions in lists {
            let bench = ReplayBench(context: context, version: definitions[0].version, definitions: definitions, root: scratch.path)
            let built: [GenerationHeader]
            do { built = try bench.replay(jobs: 1, chunkEvents: 1_024, through: through.position) } catch {
                try unbuilt(definitions[0].version, error)
                continue
            }
            for (definition, header) in zip(definitions, built) {
                if let other = first[definition.fingerprint] {
                    count("L7", header, other, definition, "shared with \(other.version) and built there")
                } else {
                    first[definition.fingerprint] = header
                }
            }
        }
    }

    private mutating func unbuilt(_ version: SchemaVersion, _ error: EvstoreError) throws(EvstoreError) {
        if case .interrupted = error { throw error }
        findings.append(Finding(id: "LAW103", message: "L6: the read models of \(version) can't be built: \(error.message)"))
    }

    private mutating func count(
        _ law: String, _ replayed: GenerationHeader, _ other: GenerationHeader, _ definition: Definition, _ how: String
    ) {
        let isSame = replayed.digest == other.digest && replayed.rows == other.rows
        tally.count(law, holds: isSame)
        guard !isSame else { return }
        findings.append(
            Finding(
                id: "LAW103",
                message: """
                    \(law): \(definition.name) at \(definition.version), \(how), has \(other.rows) rows of digest \
                    \(other.digest.hex.prefix(8)), and \(replayed.rows) of \(replayed.digest.hex.prefix(8)) replayed up to \(replayed.checkpoint.position)
                    """,
                advice: definition.version == live
                    ? "a fold that depends on more than its events, or rows that were made of wrong rows? build it anew: \(.replayFromEvents(to: live))"
                    : nil))
    }

    /// The stored generations of a version that have consumed at most the events that were replayed.
    private func stored(_ state: StoreState, at version: SchemaVersion) throws(EvstoreError) -> [String: GenerationHeader] {
        let generationSet = try GenerationSet.registered(context, at: version, state)
        var found: [String: GenerationHeader] = [:]
        for (entry, header) in try generationSet.headers()
        where header.isReady && header.checkpoint.position > .start && header.checkpoint.position <= through.position {
            found[entry.name] = header
        }
        return found
    }
}

/// Builds read models in several ways, in a scratch directory.
private struct ReplayBench {
    let context: MigrationContext
    let version: SchemaVersion
    let definitions: [Definition]
    let root: String

    func replay(_ definition: Definition, through: Position) throws(EvstoreError) -> GenerationHeader {
        let bench = ReplayBench(context: context, version: version, definitions: [definition], root: root)
        return try bench.replay(jobs: 1, chunkEvents: 1_024, through: through)[0]
    }

    func replay(jobs: Int, chunkEvents: Int, through: Position) throws(EvstoreError) -> [GenerationHeader] {
        let generations = try build(jobs: jobs, chunkEvents: chunkEvents, through: through)
        return try generations.map { (generation) throws(EvstoreError) in try generation.header }
    }

    /// Replays up to a position, then follows from there, each half of the rest with a new follower.
    func follow(after start: Position, to end: Position) throws(EvstoreError) -> [GenerationHeader] {
        var headers: [GenerationHeader] = []
        let middle = start.plus(end.events(after: start) / 2)
        for (definition, generation) in zip(definitions, try build(jobs: 1, chunkEvents: 1_024, through: start)) {
            for position in [middle, end] {
                try Follower(context.evolving).catchUp(generation, definition, to: position, context.job.silent)
            }
            headers.append(try generation.header)
        }
        return headers
    }

    private func build(jobs: Int, chunkEvents: Int, through: Position) throws(EvstoreError) -> [Generation] {
        var targets: [(definition: Definition, generation: Generation)] = []
        for definition in definitions {
            try context.job.check()
            let made = try Generation.create(for: definition, in: root, of: context.log)
            targets.append((definition, made))
        }
        var build = BulkBuild(context.evolving, at: version, targets)
        (build.onError, build.jobs, build.chunkEvents, build.through) = (.quarantine, jobs, chunkEvents, through)
        _ = try build.run(context.job.silent)
        return targets.map(\.generation)
    }
}
