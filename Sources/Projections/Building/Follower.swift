internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB

/// Takes generations on to the log's end: the one rule for following, whoever needs it.
///
/// A batch takes the generation's write lock, rereads the checkpoint, applies the events after it and
/// commits: two processes that follow one generation share the work and never do it twice. An event that
/// has no image or does not fold goes into the generation's quarantine, in the transaction that passes it.
package final class Follower: Sendable {
    private let evolving: EvolvingLog
    // One thread of this process follows at a time, batch by batch.
    private let batches = Monitor<[Key: FollowBatch]>([:])

    private struct Key: Hashable {
        var fingerprint: Digest
        var version: SchemaVersion
        /// A newer history has steps for events that an older one does not know.
        var history: Digest
    }

    package init(_ evolving: EvolvingLog) { self.evolving = evolving }

    /// Blocks until the generation has consumed the log up to `position`, or to its end as of now where nil. Each time that others
    /// write the generation they are waited for, for `Options.readModelDeadlineSeconds`.
    /// - Returns: up to where it has consumed the log.
    /// - Throws: `EvstoreError.epochChanged` where the generation has consumed events that a cut took off: it must be
    ///   built anew. `programNeeded` where it is written in Swift and this program does not have it. `deadlinePassed`, naming who
    ///   writes it; `interrupted`.
    @discardableResult
    package func catchUp(
        _ generation: Generation, _ definition: Definition, to position: Position? = nil, cancellation: Cancellation? = nil,
        progress: Progress? = nil
    ) throws(EvstoreError) -> Checkpoint {
        var chase = try Chase(evolving, generation, definition, to: position)
        while chase.isDue {
            if cancellation?.isCancelled == true { throw .interrupted(again: "run it again") }
            let turn = try converting("following with \(generation.directory)") {
                try generation.environment.takeTurn(within: seconds) { chase.isWanted && cancellation?.isCancelled != true }
            }
            if try !advance(&chase, turn, progress) { break }
        }
        return chase.header.checkpoint
    }

    /// The same, suspended while others write the generation; done as well when they have brought it there.
    package func follow(
        _ generation: Generation, _ definition: Definition, to position: Position
    ) async throws(EvstoreError) {
        var chase = try Chase(evolving, generation, definition, to: position)
        while chase.isDue {
            let turn: WriteTurn?
            do { turn = try await generation.environment.takeTurn(within: seconds) { chase.isWanted } } catch {
                throw EvstoreError(converting: error, at: generation.directory, doing: "following with \(generation.directory)")
            }
            if try !advance(&chase, turn, nil) { break }
        }
    }

    private var seconds: Double { evolving.options.readModelDeadlineSeconds }

    /// Consumes a batch where the generation is still behind; false where a cut has taken the rest of what was aimed at.
    private func advance(_ chase: inout Chase, _ turn: WriteTurn?, _ progress: Progress?) throws(EvstoreError) -> Bool {
        let before = chase.header.checkpoint
        chase.header = try chase.generation.header
        guard chase.isDue, let turn else { return true }
        let now = chase
        chase.header = try batches.withLock { batches throws(EvstoreError) -> GenerationHeader in
            let key = Key(fingerprint: now.definition.fingerprint, version: now.definition.version, history: now.evolution.state.history)
            if batches[key] == nil {
                batches = batches.filter { $0.key.history == key.history }
                batches[key] = try FollowBatch(evolving, now.evolution, now.definition)
            }
            return try batches[key]?.run(now.generation, turn, through: now.target) ?? now.header
        }
        progress?(
            ProgressEvent(
                step: "follow", done: chase.header.checkpoint.position.rawValue, total: chase.target.rawValue,
                quarantined: chase.header.quarantined, note: chase.definition.name))
        return chase.header.checkpoint != before
    }

    /// Whether the generation has consumed nothing that a cut has since taken off.
    /// - Throws: `EvstoreError.epochChanged` where it has.
    package func check(_ checkpoint: Checkpoint) throws(EvstoreError) {
        try converting("reading the cuts of \(evolving.log.path)") {
            try evolving.log.read { reader in try Self.check(checkpoint, reader) }
        }
    }

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

    init(_ evolving: EvolvingLog, _ generation: Generation, _ definition: Definition, to position: Position?) throws(EvstoreError) {
        (self.generation, self.definition, evolution) = (generation, definition, try evolving.current())
        guard generation.fingerprint == definition.fingerprint else {
            throw .misuse("\(generation.name) is no generation of \(definition.name) at \(definition.version)")
        }
        target = min(position ?? evolution.last.position, evolution.last.position)
        header = try generation.header
        if header.checkpoint.position > evolution.last.position { try Follower(evolving).check(header.checkpoint) }
    }

    var isDue: Bool { isDue(header) }

    private func isDue(_ header: GenerationHeader) -> Bool {
        header.checkpoint.position < target || header.checkpoint.epoch < evolution.state.epoch
    }

    /// Whether nobody else has brought it there meanwhile, as far as can be seen.
    var isWanted: Bool { do throws(EvstoreError) { return isDue(try generation.header) } catch { return false } }
}
