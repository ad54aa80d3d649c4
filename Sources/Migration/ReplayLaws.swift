internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

/// Tries the laws of read models by comparing digests over the beginning of the log. L6: two replays give equal rows, whatever their
/// threads and batches. L7: following gives the rows of a replay, even if another follower continues, and so do the stored generations.
struct ReplayLaws {
    /// The most events that they are tried on.
    static let eventsMax: UInt64 = 10_000_000

    private let context: MigrationContext
    private let through: Checkpoint
    private let last: Checkpoint
    private let live: SchemaVersion
    private(set) var tally = LawTally()
    private(set) var findings: [Finding] = []

    init(_ context: MigrationContext) throws(EvstoreError) {
        self.context = context
        last = try context.last()
        live = try context.state().live
        through = Checkpoint(epoch: last.epoch, position: min(last.position, Position(Self.eventsMax)))
    }

    /// The number of events that the read models were built from.
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
        var lists: [[Definition]] = []
        for version in state.floor.through(state.top) {
            lists.append(try evolution.definitions(at: version).filter(\.isAvailable))
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
        for (entry, header) in try generationSet.headers(context)
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
        var headers: [GenerationHeader] = []
        for generation in try build(jobs: jobs, chunkEvents: chunkEvents, through: through) { headers.append(try generation.header) }
        return headers
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
