package import EventModel
internal import LMDB

/// What a log takes that is being made, in a directory that nobody else sees yet.
extension LogAccess {
    /// Runs `body` in one durable transaction. It may run twice, from the start, where the map has to grow.
    package func update<R>(_ body: (inout LogUpdate) throws -> R) throws -> R {
        try environment.writeOwned { transaction in
            guard let moment = try Moment(transaction.reads, self, Overlays()) else {
                throw EvstoreError.misuse("a log that is being made has no other moment than its own")
            }
            var update = try LogUpdate.begin(transaction, self, moment)
            let result = try body(&update)
            try update.finish()
            return result
        }
    }

    /// Makes the indexes of the blocks, looks at everything, and notes the log's end beside it; nothing is noted where something is
    /// wrong, which is returned. O(log).
    package func complete(at store: String, _ options: Options, _ progress: () throws -> Void) throws -> Finding? {
        try Reindexing.run(self, progress)
        var verifier = LogVerifier(self, Overlays(), options, deep: true)
        while try environment.read({ try verifier.runChunk($0) { _, _ in } }) { try progress() }
        if let finding = verifier.findings.first { return finding }
        let (last, link) = try environment.read { try (Blocks.end($0, self), Blocks.endLink($0, self)) }
        // Whoever opens the store first need not look at all of its pages.
        try LogFile.leaveAnchor(at: store, storeID, last, link)
        return nil
    }
}
