internal import Bytes
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

/// What following one definition reuses from batch to batch.
private final class FollowBatch {
    private let evolving: EvolvingLog
    private let fold: any Fold
    private let preparer: EventPreparer
    private var rows = RowStore()
    private var workspace = FoldWorkspace()
    private var json = ByteBuffer()

    init(_ evolving: EvolvingLog, _ evolution: Evolution, _ definition: Definition) throws(EvstoreError) {
        self.evolving = evolving
        fold = try definition.makeFold()
        preparer = try EventPreparer(evolving.log, evolution.history, [definition], at: definition.version)
    }

    /// Consumes the next events in one transaction; returns what the generation then says of itself.
    func run(_ generation: Generation, through target: Position) throws(EvstoreError) -> GenerationHeader {
        try converting("following with \(generation.directory)") {
            try generation.environment.write { transaction in
                // LMDB may run this again with a larger map.
                preparer.removeAll()
                rows.removeAll()
                var header = try generation.header(transaction.reads)
                let now = try evolving.log.read { reader in
                    try Follower.check(header.checkpoint, reader)
                    return reader.last
                }
                let start = header.checkpoint.position
                let end = min(target, now.position, Position(start.rawValue + size(for: start, before: target)))
                if start < end {
                    try evolving.log.scan(after: start, through: end) { block in
                        try preparer.prepare(block)
                        return true
                    }
                    let rejections = try apply(generation, transaction.reads)
                    try writeBack(generation, &header, &transaction)
                    try quarantine(rejections, generation, &header, &transaction)
                    header.checkpoint.position = end
                }
                header.checkpoint.epoch = now.epoch
                try generation.put(header, &transaction)
                return header
            }
        }
    }

    /// How many events go into one commit: many where the generation is far behind, since each commit writes every page that
    /// one of its rows lies on.
    private func size(for start: Position, before target: Position) -> UInt64 {
        let size = UInt64(evolving.options.followBatchEvents)
        return target.rawValue > start.rawValue + 4 * size ? 16 * size : size
    }

    private func apply(_ generation: Generation, _ transaction: borrowing ReadTransaction) throws -> [Rejection] {
        var rejections = preparer.outputs[0].rejections
        try preparer.outputs[0].forEach { operation in
            let key = operation.slice(Operation.headerBytes, Operation.keyCount(operation))
            var entry = rows.find(key, hash: Operation.hash(operation))
            do {
                if entry < 0 {
                    entry = rows.insert(key, hash: Operation.hash(operation))
                    if let row = try transaction.get(generation.rows, key) { try rows.load(row, to: entry, fold, &workspace) }
                }
                try rows.apply(operation, to: entry, fold, &workspace)
            } catch let error as FoldError { rejections.append(Rejection(operation, error)) }
        }
        return rejections
    }

    private func writeBack(_ generation: Generation, _ header: inout GenerationHeader, _ transaction: inout WriteTransaction) throws {
        var digest = SetDigest(header.digest)
        var count = Int64(header.rows)
        for entry in rows.sorted(changedOnly: true) {
            json.removeAll()
            let isPresent = rows.render(entry, fold, into: &json)
            try rows.withKey(entry) { key in
                try Self.put(isPresent, json, key, generation, &digest, &count, &transaction)
            }
        }
        (header.digest, header.rows) = (digest.digest, UInt64(count))
    }

    private static func put(
        _ isPresent: Bool, _ json: borrowing ByteBuffer, _ key: RawSpan, _ generation: Generation, _ digest: inout SetDigest,
        _ count: inout Int64, _ transaction: inout WriteTransaction
    ) throws {
        if let old = try transaction.get(generation.rows, key) {
            if isPresent, old.equals(json.bytes) { return }
            digest.remove(key: key, value: old)
            count -= 1
        } else if !isPresent {
            return
        }
        if isPresent {
            digest.insert(key: key, value: json.bytes)
            count += 1
            try transaction.put(generation.rows, key, json.bytes)
        } else {
            try transaction.delete(generation.rows, key)
        }
    }

    private func quarantine(
        _ rejections: [Rejection], _ generation: Generation, _ header: inout GenerationHeader, _ transaction: inout WriteTransaction
    ) throws {
        for row in try QuarantineRow.rows(rejections, evolving.log) where try generation.put(row, &transaction) { header.quarantined += 1 }
    }
}
