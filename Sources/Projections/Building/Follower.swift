internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Brings generations to the log's end; everything that follows does so by this type.
///
/// A batch takes the generation's write lock, rereads the checkpoint, applies the events after it and
/// commits: two processes that follow one generation share the work and never do it twice. An event that
/// has no image or does not fold goes into the generation's quarantine, in the transaction that passes it.
///
/// Compiled definitions and paths are kept for later calls, for as long as the follower lives.
package final class Follower: Sendable {
    private let evolving: EvolvingLog
    private let idle = IdleBatches()

    package init(_ evolving: EvolvingLog) { self.evolving = evolving }

    /// How many compiled definitions are kept for later calls.
    var idleCount: Int { idle.count }

    /// Blocks until the generation has consumed the log up to `position`, or to its end as of now where nil. Each wait
    /// for another process that writes the generation lasts at most `Options.readModelDeadline`.
    /// - Returns: up to where it has consumed the log.
    /// - Throws: `EvstoreError.epochChanged` where the generation has consumed events that a cut took off: it must be
    ///   built anew. `programNeeded` where it is written in Swift and this program does not have it. `deadlinePassed`, naming who
    ///   writes it; `interrupted`.
    @discardableResult
    package func catchUp(
        _ generation: Generation, _ definition: Definition, to position: Position? = nil, _ job: Job? = nil
    ) throws(EvstoreError) -> Checkpoint {
        var chase = try Chase(evolving, generation, definition, to: position)
        defer { idle.give(chase.batch, chase.key) }
        while chase.isDue {
            try job?.check()
            let turn = try converting("following with \(generation.directory)") {
                try generation.environment.takeTurn(within: seconds) { chase.isWanted && job?.isCancelled != true }
            }
            if try !advance(&chase, turn, job) { break }
        }
        return chase.header.checkpoint
    }

    /// The same, suspended while others write the generation; done as well when they have brought it there.
    package func follow(
        _ generation: Generation, _ definition: Definition, to position: Position
    ) async throws(EvstoreError) {
        var chase = try Chase(evolving, generation, definition, to: position)
        defer { idle.give(chase.batch, chase.key) }
        while chase.isDue {
            let turn: WriteTurn?
            do { turn = try await generation.environment.takeTurn(within: seconds) { chase.isWanted } } catch {
                throw EvstoreError(converting: error, at: generation.directory, doing: "following with \(generation.directory)")
            }
            if try !advance(&chase, turn, nil) { break }
        }
    }

    private var seconds: Double { evolving.options.readModelDeadline.inSeconds }

    /// Consumes a batch where the generation is still behind; false where a cut has removed the rest of the events to consume.
    private func advance(_ chase: inout Chase, _ turn: WriteTurn?, _ job: Job?) throws(EvstoreError) -> Bool {
        let before = chase.header.checkpoint
        chase.header = try chase.generation.header
        guard chase.isDue, let turn else { return true }
        let batch = try batch(for: chase)
        // Order: dropped before the error is thrown, so that no later call uses a half-filled batch.
        chase.batch = nil
        chase.header = try batch.run(chase.generation, turn, through: chase.target)
        chase.batch = batch
        job?.report(
            "follow", done: chase.header.checkpoint.position.rawValue, total: chase.target.rawValue, quarantined: chase.header.quarantined,
            chase.definition.name)
        return chase.header.checkpoint != before
    }

    private func batch(for chase: Chase) throws(EvstoreError) -> FollowBatch {
        if let batch = chase.batch ?? idle.take(chase.key) { return batch }
        return try FollowBatch(evolving, chase.evolution, chase.definition)
    }

    /// Whether a generation at this checkpoint has consumed nothing that a cut has since taken off.
    /// - Throws: `EvstoreError.epochChanged` where it has.
    static func check(_ checkpoint: Checkpoint, _ reader: borrowing LogReader) throws {
        try reader.requireUncut(checkpoint)
        // What has consumed more than there is was made of another life of the log, such as one that a copy was put in the place of.
        if reader.last.position < checkpoint.position { throw EvstoreError.epochChanged(seen: checkpoint, cut: reader.last) }
    }
}

/// A generation on its way to a position.
private struct Chase {
    let generation: Generation
    let definition: Definition
    let evolution: Evolution
    let target: Position
    var header: GenerationHeader
    /// Nil before the first batch.
    var batch: FollowBatch?

    init(_ evolving: EvolvingLog, _ generation: Generation, _ definition: Definition, to position: Position?) throws(EvstoreError) {
        (self.generation, self.definition, evolution) = (generation, definition, try evolving.current())
        guard generation.fingerprint == definition.fingerprint else {
            throw .misuse("\(generation.name) is no generation of \(definition.name) at \(definition.version)")
        }
        target = min(position ?? evolution.last.position, evolution.last.position)
        header = try generation.header
        if header.checkpoint.position < target { try converting("reading \(evolving.log.path)") { try evolving.log.makeDurable() } }
        if header.checkpoint.position > evolution.last.position {
            try converting("reading the cuts of \(evolving.log.path)") {
                try evolving.log.read { reader in try Follower.check(header.checkpoint, reader) }
            }
        }
    }

    var key: IdleBatches.Key {
        IdleBatches.Key(
            fingerprint: definition.fingerprint, version: definition.version, history: evolution.state.history,
            epoch: evolution.state.epoch)
    }

    var isDue: Bool { isDue(header) }

    private func isDue(_ header: GenerationHeader) -> Bool {
        header.checkpoint.position < target || header.checkpoint.epoch < evolution.state.epoch
    }

    /// Whether the generation still has to be brought there; true where its header can't be read.
    var isWanted: Bool { do throws(EvstoreError) { return isDue(try generation.header) } catch { return false } }
}

/// Compiled batches between calls; each is used by one call at a time.
private final class IdleBatches: Sendable {
    struct Key: Hashable {
        var fingerprint: Digest
        var version: SchemaVersion
        /// A newer history has steps for events that an older one does not know.
        var history: Digest
        /// Another epoch's streams are others.
        var epoch: Epoch
    }

    private let batches = Monitor<[Key: FollowBatch]>([:])
    private static let keptMax = 64

    var count: Int { batches.withLock { $0.count } }

    func take(_ key: Key) -> FollowBatch? { batches.withLock { $0.removeValue(forKey: key) } }

    /// Keeps a batch without the events that it has read; drops batches of another history or epoch, and one of an epoch that has ended.
    func give(_ batch: FollowBatch?, _ key: Key) {
        guard let batch else { return }
        batch.removeEvents()
        batches.withLock { batches in
            if batches.keys.contains(where: { $0.epoch > key.epoch }) { return }
            batches = batches.filter { $0.key.history == key.history && $0.key.epoch == key.epoch }
            if batches.count >= Self.keptMax, let any = batches.keys.first { batches[any] = nil }
            batches[key] = batch
        }
    }
}
