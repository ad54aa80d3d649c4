internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// Loads rows, in the order of their keys, into an empty generation, and marks it ready.
struct GenerationLoad: ~Copyable {
    /// What the header says of the rows.
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

    /// Bytes of rows that one transaction loads.
    private static let batchBytes = 8 << 20

    /// - Parameter indexBytes: memory for the entries of indexes.
    /// - Parameter check: asked before each transaction; throws where the build is to end.
    init(_ generation: Generation, _ definition: Definition, indexBytes: Int, check: @escaping () throws -> Void) throws {
        (self.generation, self.definition, self.indexBytes, self.check) = (generation, definition, indexBytes, check)
        try generation.environment.setSyncing(false)
    }

    mutating func append(_ row: RunReader) throws {
        batch.append(row)
        try loadWhereFull()
    }

    /// - Returns: whether rows were loaded.
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

    /// Loads what is left, and the indexes.
    mutating func finish(_ sums: Sums, at checkpoint: Checkpoint) throws -> GenerationHeader {
        try batch.load(into: generation)
        try IndexBuild(definition.indexes, bytes: indexBytes, check: check).fill(generation)
        // Order: the rows are on the disk before the header that calls them ready.
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
