internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// Loads rows in key order into an empty generation and marks it as ready.
struct GenerationLoad: ~Copyable {
    /// The header's totals over the rows.
    struct Sums {
        var rows: UInt64 = 0
        var digest = SetDigest()
        var quarantined: UInt64 = 0
    }

    private let generation: Generation
    private let definition: Definition
    private let indexBytes: Int
    private let check: () throws -> Void
    private var batch = LoadBatch()

    /// How many bytes of rows one transaction loads.
    private static let batchBytes = 8 << 20

    /// - Parameters:
    ///   - indexBytes: the memory for index entries.
    ///   - check: called before each transaction; throws if the build must stop.
    init(_ generation: Generation, _ definition: Definition, indexBytes: Int, check: @escaping () throws -> Void) throws {
        (self.generation, self.definition, self.indexBytes, self.check) = (generation, definition, indexBytes, check)
        try generation.environment.setSyncing(false)
    }

    mutating func append(_ row: RunReader) throws {
        batch.append(row)
        try loadWhereFull()
    }

    /// - Returns: whether a transaction has loaded rows.
    @discardableResult
    mutating func append(_ key: RawSpan, _ text: borrowing ByteBuffer) throws -> Bool {
        try batch.append(key, text, of: generation.rows)
        return try loadWhereFull()
    }

    @discardableResult
    private mutating func loadWhereFull() throws -> Bool {
        guard batch.bytes >= Self.batchBytes else { return false }
        try check()
        try batch.load(into: generation)
        return true
    }

    /// Loads the remaining rows, and the indexes.
    mutating func finish(_ sums: Sums, at checkpoint: Checkpoint) throws -> GenerationHeader {
        try batch.load(into: generation)
        try IndexBuild(definition.indexes, bytes: indexBytes, check: check).fill(generation)
        // Order: the rows are synced to disk before the header that marks them as ready.
        try generation.environment.sync()
        try generation.environment.setSyncing(true)
        var header = try generation.header
        header.version = definition.version
        (header.checkpoint, header.rows, header.digest) = (checkpoint, sums.rows, sums.digest.digest)
        (header.quarantined, header.isReady) = (sums.quarantined, true)
        let ready = header
        try generation.write { transaction in try generation.put(ready, &transaction) }
        return ready
    }
}
