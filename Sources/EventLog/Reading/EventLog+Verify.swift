package import EventModel
package import Hashing
internal import LMDB
internal import Platform

/// The result of a walk through a whole log: its findings, and the end of its hash chain.
package struct LogWalk: Sendable {
    package var findings: [Finding]
    package var store: StoreID
    /// The last position that the walk has seen.
    package var end: Checkpoint
    /// The link at that position; nil where there are findings.
    package var link: Digest?
    /// The link at the requested position; nil where no block ends there.
    package var linkAsked: Digest?
    /// For each epoch after the first: the epoch, and the position at which it cut off the one before.
    package var cuts: [Checkpoint]
}

extension EventLog {
    /// Checks everything: the file's pages, checksums, chain and positions; with `deep` also the pointers, and the indexes against the log.
    /// `progress` gets the number of events done and of all events.
    package func verify(deep: Bool, progress: (UInt64, UInt64) -> Void = { _, _ in }) throws -> [Finding] {
        try walk(deep: deep, progress: progress).findings
    }

    /// Checks everything, and also returns the link at the chain's end and, if requested, at a position.
    package func walk(deep: Bool, asking: Position? = nil, progress: (UInt64, UInt64) -> Void = { _, _ in }) throws -> LogWalk {
        defer { withExtendedLifetime(self) {} }
        var verifier = LogVerifier(access, overlays, options, deep: deep, asking: asking)
        do {
            try verifier.readSlots()
            try access.environment.checkStructure(tables: access.tables.descriptors.kinds, rows: access.tables.checks)
            while try access.environment.read({ try verifier.runChunk($0, progress) }) {}
        } catch let damage as StructureDamage where damage.rule == StructuralCheck.rowRule {
            verifier.note("STORE011", at: nil, "a row is not as it was written: log/data.mdb, \(damage)")
        } catch let damage as StructureDamage {
            // LMDB must not follow damaged pages.
            verifier.note("STORE007", at: nil, "the log's own structure is damaged: log/data.mdb, \(damage)")
        } catch let error as StorageError where error.isDamage {
            verifier.note("STORE007", at: nil, "the log's own structure is damaged: \(error.message)")
        } catch let error as StorageError { throw storeError(error, path, doing: "verifying the store") }
        return verifier.walk
    }
}
