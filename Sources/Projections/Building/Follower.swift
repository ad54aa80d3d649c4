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

    /// Blocks until the generation has consumed the log up to `position`, or to its end as of now where nil.
    /// - Returns: up to where it has consumed the log.
    /// - Throws: `EvstoreError.epochChanged` where the generation has consumed events that a cut took off: it must be
    ///   built anew. `programNeeded` where it is written in Swift and this program does not have it.
    @discardableResult
    package func catchUp(
        _ generation: Generation, _ definition: Definition, to position: Position? = nil, cancellation: Cancellation? = nil,
        progress: Progress? = nil
    ) throws(EvstoreError) -> Checkpoint {
        let evolution = try evolving.current()
        guard generation.fingerprint == definition.fingerprint else {
            throw .misuse("\(generation.name) is no generation of \(definition.name) at \(definition.version)")
        }
        let target = min(position ?? evolution.last.position, evolution.last.position)
        let key = Key(fingerprint: definition.fingerprint, version: definition.version, history: evolution.state.history)
        var header = try generation.header
        if header.checkpoint.position > evolution.last.position { try check(header.checkpoint) }
        while header.checkpoint.position < target || header.checkpoint.epoch < evolution.state.epoch {
            let before = header.checkpoint
            if cancellation?.isCancelled == true { throw .interrupted(again: "run it again") }
            header = try batches.withLock { batches throws(EvstoreError) -> GenerationHeader in
                if batches[key] == nil {
                    batches = batches.filter { $0.key.history == key.history }
                    batches[key] = try FollowBatch(evolving, evolution, definition)
                }
                return try batches[key]?.run(generation, through: target) ?? header
            }
            progress?(
                ProgressEvent(
                    step: "follow", done: header.checkpoint.position.rawValue, total: target.rawValue, quarantined: header.quarantined,
                    note: definition.name))
            // A cut has taken the rest of what was aimed at.
            if header.checkpoint == before { break }
        }
        return header.checkpoint
    }

    /// Whether the generation has consumed nothing that a cut has since taken off.
    /// - Throws: `EvstoreError.epochChanged` where it has.
    package func check(_ checkpoint: Checkpoint) throws(EvstoreError) {
        try converting("reading the cuts of \(evolving.log.path)") {
            try evolving.log.read { reader in try Self.check(checkpoint, reader) }
        }
    }

    static func check(_ checkpoint: Checkpoint, _ reader: borrowing LogReader) throws {
        for cut in try reader.cuts() where cut.epoch > checkpoint.epoch && cut.position < checkpoint.position {
            throw EvstoreError.epochChanged(seen: checkpoint, cut: cut)
        }
        if reader.last.position < checkpoint.position { throw EvstoreError.epochChanged(seen: checkpoint, cut: reader.last) }
    }
}
