internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Brings generations to the log's end; everything that follows the log uses this type.
///
/// A batch takes the generation's write lock, reads the checkpoint again, applies the events after it and commits. Two processes that
/// follow one generation thus share the work and never repeat it. An event that has no image or can't be folded is put into the
/// generation's quarantine, in the transaction that moves past it.
///
/// Compiled definitions and paths are cached for the lifetime of the follower.
package final class Follower: Sendable {
    private let evolving: VersionedLog
    private let idle = IdleBatches()

    package init(_ evolving: VersionedLog) { self.evolving = evolving }

    var idleCount: Int { idle.count }

    /// Blocks until the generation has consumed the log up to `position`, or up to its current end if nil. Each wait for another process
    /// that writes the generation lasts at most `Options.readModelDeadline`.
    /// - Returns: the checkpoint up to which the generation has consumed the log.
    /// - Throws: `EvstoreError.epochChanged` if the generation has consumed events that a cut removed, so that it must be rebuilt.
    ///   `programNeeded` if it is written in Swift and this program does not contain it. `deadlinePassed`, naming the process that writes
    ///   it; `interrupted`.
    @discardableResult
    package func catchUp(
        _ generation: Generation, _ definition: Definition, to position: Position? = nil, _ job: Job? = nil
    ) throws(EvstoreError) -> Checkpoint {
        var task = try CatchUpTask(evolving, generation, definition, to: position)
        defer { idle.give(task.batch, task.key) }
        while task.isDue {
            try job?.check()
            let turn = try converting("following with \(generation.directory)", at: generation.directory) {
                try generation.environment.takeTurn(within: deadline) { task.isWanted && job?.isCancelled != true }
            }
            if try !advance(&task, turn, job) { break }
        }
        return task.header.checkpoint
    }

    /// As `catchUp`, but suspends while others write the generation. Also returns when they have brought it to the position.
    package func follow(
        _ generation: Generation, _ definition: Definition, to position: Position, _ job: Job
    ) async throws(EvstoreError) {
        var task = try CatchUpTask(evolving, generation, definition, to: position)
        defer { idle.give(task.batch, task.key) }
        while task.isDue {
            try job.check()
            let turn: WriteTurn?
            do { turn = try await generation.environment.takeTurn(within: deadline) { task.isWanted } } catch {
                throw EvstoreError(converting: error, at: generation.directory, doing: "following with \(generation.directory)")
            }
            if try !advance(&task, turn, job) { break }
        }
    }

    private var deadline: Duration { evolving.options.readModelDeadline }

    /// Consumes a batch if the generation is still behind. Returns false if a cut has removed the remaining events.
    private func advance(_ task: inout CatchUpTask, _ turn: WriteTurn?, _ job: Job?) throws(EvstoreError) -> Bool {
        let before = task.header.checkpoint
        task.header = try task.generation.header
        guard task.isDue, let turn else { return true }
        let batch = try batch(for: task)
        // Order: the batch is dropped before an error can be thrown, so that no later call uses a half-filled batch.
        task.batch = nil
        task.header = try batch.run(task.generation, turn, through: task.target)
        task.batch = batch
        job?.report(
            "follow", done: task.header.checkpoint.position.rawValue, total: task.target.rawValue, quarantined: task.header.quarantined,
            task.definition.name)
        return task.header.checkpoint != before
    }

    private func batch(for task: CatchUpTask) throws(EvstoreError) -> FollowBatch {
        if let batch = task.batch ?? idle.take(task.key) { return batch }
        return try FollowBatch(evolving, task.evolution, task.definition)
    }

    /// Checks that a generation at this checkpoint has consumed no event that a cut has since removed.
    /// - Throws: `EvstoreError.epochChanged` if it has.
    static func check(_ checkpoint: Checkpoint, _ reader: borrowing LogReader) throws {
        try reader.requireUncut(checkpoint)
        // A checkpoint beyond the log's end belongs to another life of the log, such as one that was replaced by an older copy.
        if reader.last.position < checkpoint.position { throw EvstoreError.epochChanged(seen: checkpoint, cut: reader.last) }
    }
}

/// A generation that is being brought to a position.
private struct CatchUpTask {
    let generation: Generation
    let definition: Definition
    let evolution: SchemaSnapshot
    let target: Position
    var header: GenerationHeader
    var batch: FollowBatch?

    init(_ evolving: VersionedLog, _ generation: Generation, _ definition: Definition, to position: Position?) throws(EvstoreError) {
        (self.generation, self.definition, evolution) = (generation, definition, try evolving.current())
        guard generation.fingerprint == definition.fingerprint else {
            throw .misuse("\(generation.name) is no generation of \(definition.name) at \(definition.version)")
        }
        target = min(position ?? evolution.last.position, evolution.last.position)
        header = try generation.header
        if header.checkpoint.position < target {
            try converting("reading \(evolving.log.path)", at: evolving.log.path) { try evolving.log.makeDurable() }
        }
        if header.checkpoint.position > evolution.last.position {
            try converting("reading the cuts of \(evolving.log.path)", at: evolving.log.path) {
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

    /// Whether the generation is still behind; true if its header can't be read.
    var isWanted: Bool { do throws(EvstoreError) { return isDue(try generation.header) } catch { return false } }
}

/// A cache of batches between calls; each batch is used by one call at a time.
private final class IdleBatches: Sendable {
    struct Key: Hashable {
        var fingerprint: Digest
        var version: SchemaVersion
        /// A newer history has steps for events that an older one does not know.
        var history: Digest
        /// Streams may have other names in another epoch.
        var epoch: Epoch
    }

    private let batches = Monitor<[Key: FollowBatch]>([:])
    private static let keptMax = 64

    var count: Int { batches.withLock { $0.count } }

    func take(_ key: Key) -> FollowBatch? { batches.withLock { $0.removeValue(forKey: key) } }

    /// Keeps a batch without the events that it has read. Drops batches of another history or epoch; drops this one if its epoch has ended.
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
