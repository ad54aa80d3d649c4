internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

/// The laws of read models, by digest, over the beginning of the log. L6: two replays are the same, whatever the threads
/// and batches. L7: following, also when it is taken up again by another, is the same as a replay, and so is what the store has.
struct ReplayLaws {
    /// How many events they are tried on at most.
    static let eventsMax: UInt64 = 10_000_000

    private let site: MigrationSite
    private let through: Checkpoint
    private let last: Checkpoint
    private(set) var tally = LawTally()
    private(set) var findings: [Finding] = []

    init(_ site: MigrationSite) throws(EvstoreError) {
        self.site = site
        last = try site.last()
        through = Checkpoint(epoch: last.epoch, position: Position(min(last.position.rawValue, Self.eventsMax)))
    }

    /// Events that the read models were built from.
    var events: UInt64 { through.position.rawValue }

    /// Tries them on the read models of a version, as far as this program has them.
    mutating func check(_ state: StoreState, at version: SchemaVersion) throws(EvstoreError) {
        let scratch = try Scratch.make(site)
        defer { scratch.remove() }
        let definitions = try site.evolving.current().definitions(at: version).filter(\.isAvailable)
        guard !definitions.isEmpty else { return }
        site.say("laws of read models", total: events)
        let bench = ReplayBench(site: site, version: version, definitions: definitions, root: scratch.path)
        do {
            let one = try bench.replay(jobs: 1, chunkEvents: 61, through: through.position)
            let many = try bench.replay(jobs: 3, chunkEvents: 1_024, through: through.position)
            let followed = try bench.follow(after: Position(events / 2), to: through.position)
            let stored = try stored(state, at: version)
            for (index, definition) in definitions.enumerated() {
                count("L6", one[index], many[index], definition, "replayed by other threads in other chunks")
                count("L7", one[index], followed[index], definition, "followed")
                if let here = stored[definition.name] { count("L7", one[index], here, definition, "as the store has it") }
            }
        } catch {
            if case .interrupted = error { throw .interrupted(again: site.again) }
            findings.append(Finding(id: "LAW103", message: "L6: the read models of \(version) can't be built: \(error.message)"))
        }
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
                    \(other.digest.hex.prefix(8)), and \(replayed.rows) of \(replayed.digest.hex.prefix(8)) replayed up to \(through.position)
                    """,
                fix: "a fold that depends on more than its events? build it anew: evstore replay --to \(definition.version)"))
    }

    /// What the store has of a version that has consumed just what was replayed.
    private func stored(_ state: StoreState, at version: SchemaVersion) throws(EvstoreError) -> [String: GenerationHeader] {
        guard through == last else { return [:] }
        let lineup = try Lineup.registered(site, at: version, state)
        var found: [String: GenerationHeader] = [:]
        for (entry, header) in try lineup.headers(site) where header.isReady && header.checkpoint == through { found[entry.name] = header }
        return found
    }
}

/// Builds the same read models in several ways, in a directory that is thrown away.
private struct ReplayBench {
    let site: MigrationSite
    let version: SchemaVersion
    let definitions: [Definition]
    let root: String

    func replay(jobs: Int, chunkEvents: Int, through: Position) throws(EvstoreError) -> [GenerationHeader] {
        var headers: [GenerationHeader] = []
        for generation in try build(jobs: jobs, chunkEvents: chunkEvents, through: through) { headers.append(try generation.header) }
        return headers
    }

    /// Replays up to a position and follows from there on, each half of the rest with a follower of its own.
    func follow(after start: Position, to end: Position) throws(EvstoreError) -> [GenerationHeader] {
        var headers: [GenerationHeader] = []
        let middle = Position((start.rawValue + end.rawValue) / 2)
        for (definition, generation) in zip(definitions, try build(jobs: 1, chunkEvents: 1_024, through: start)) {
            for position in [middle, end] {
                try Follower(site.evolving).catchUp(generation, definition, to: position, cancellation: site.cancellation)
            }
            headers.append(try generation.header)
        }
        return headers
    }

    private func build(jobs: Int, chunkEvents: Int, through: Position) throws(EvstoreError) -> [Generation] {
        var targets: [(definition: Definition, generation: Generation)] = []
        for definition in definitions {
            try site.checkCancellation()
            let made = try Generation.create(for: definition, in: root, of: site.log)
            targets.append((definition, made))
        }
        var build = BulkBuild(site.evolving, at: version, targets)
        (build.onError, build.jobs, build.chunkEvents, build.through) = (.quarantine, jobs, chunkEvents, through)
        _ = try build.run(cancellation: site.cancellation)
        return targets.map(\.generation)
    }
}
