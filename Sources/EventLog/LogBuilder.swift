internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Platform

/// A log that is being made, in a directory that nobody else sees yet: of a new store, a backup, another log's events, what is left of a
/// damaged one, or the frames of a cluster. It is filled in durable transactions, each of which may run twice, from the start, where LMDB's
/// map has to grow; then it is completed, which makes its indexes and verifies it.
package struct LogBuilder {
    private static let bytesAtOnce = 64 << 20

    package let access: LogAccess
    private let store: String
    private let options: Options

    /// Makes the files of a store without events.
    package init(at store: String, _ storeID: StoreID, _ options: Options, _ newKeys: NewKeys?) throws {
        try self.init(at: store, storeID, options, newKeys, TableDescriptor.log)
    }

    /// - Parameter tables: every table that the log has.
    init(at store: String, _ storeID: StoreID, _ options: Options, _ newKeys: NewKeys?, _ tables: [TableDescriptor]) throws {
        (self.store, self.options) = (store, options)
        let keys = try newKeys?.lay(store, storeID)
        let identity = try Manifest.write(storeID, keys, at: store)
        try File(store + StoreLock.fileName, .createNew).reserve(4_096)
        if options.ballastBytes > 0 { try File(store + "/ballast", .createNew).reserve(options.ballastBytes) }
        try Directory.create(store + "/log")
        let environment = try Environment.open(
            directory: store + "/log", tables.configuration(options, readOnly: false, creating: true))
        let access = try LogAccess(environment, of: identity, keys, tables)
        self.access = access
        try write { transaction in
            let state = StoreState(
                storeID: storeID, format: StateRows.format, epoch: .first, numbers: .none, history: .zero, generations: [:],
                indexed: .start)
            try StateRows.put(state, &transaction, access.tables)
            for index in access.tables.positionIndexes { try index.put(mark: .start, &transaction) }
        }
    }

    package func close() { access.environment.close() }

    // MARK: Filling

    /// Makes one durable transaction.
    package func write<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
        try access.environment.writeOwned { transaction in
            var transaction = transaction
            return try body(&transaction)
        }
    }

    /// Makes one durable transaction of what a log is changed by.
    package func update<R>(_ body: (inout LogUpdate) throws -> R) throws -> R {
        try access.environment.writeOwned { transaction in
            guard let moment = try Moment(transaction.reads, access, Overlays()) else {
                throw EvstoreError.misuse("a log that is being made has no other moment than its own")
            }
            var update = try LogUpdate.begin(transaction, access, moment)
            let result = try body(&update)
            try update.finish()
            return result
        }
    }

    /// Adds blocks until `next` returns false. `next` changes nothing but the `state`, since a transaction is repeated from the one before it.
    package func fill<State>(
        _ state: inout State, _ next: (inout State, (Position, RawSpan) throws -> Void) throws -> Bool
    ) throws {
        var goesOn = true
        while goesOn {
            let before = state
            (state, goesOn) = try write { transaction in
                var state = before
                var written = 0
                while written < Self.bytesAtOnce {
                    let isMore = try next(&state) { first, block in
                        written += block.byteCount
                        try transaction.append(access.tables.blocks, bytes(first.rawValue).lent, block)
                    }
                    if !isMore { return (state, false) }
                }
                return (state, true)
            }
        }
    }

    package func put(types: [TypeID: String]) throws {
        try write { transaction in
            for (id, name) in types {
                try access.tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction)
                access.names.learn(id, name)
            }
        }
    }

    package func put(epochs: [(epoch: Epoch, at: Position, link: Digest)]) throws {
        try write { transaction in
            for row in epochs { try Epochs.put(row.epoch, cut: row.at, link: row.link, &transaction, access.tables) }
        }
    }

    // MARK: Completing

    /// Makes the indexes of the blocks, looks at everything, and notes the log's end beside it; nothing is noted where something is
    /// wrong, which is returned. O(log).
    package func complete(_ progress: () throws -> Void) throws -> Finding? {
        try Reindexing.run(access, progress)
        var verifier = LogVerifier(access, Overlays(), options, deep: true)
        while try access.environment.read({ try verifier.runChunk($0) { _, _ in } }) { try progress() }
        if let finding = verifier.findings.first { return finding }
        let (last, link) = try access.environment.read { try (Blocks.end($0, access), Blocks.endLink($0, access)) }
        // Whoever opens the store first need not look at all of its pages.
        try LogFile.leaveAnchor(at: store, access.storeID, last, link)
        return nil
    }

    /// Writes the rows that `change` adds to the blocks, and completes the log.
    /// - Returns: the end of the log.
    /// - Throws: `EvstoreError.storeDamaged` where the log is not whole.
    package func finish(_ progress: () throws -> Void, _ change: (inout LogUpdate) throws -> Void) throws -> Checkpoint {
        let last = try update { update in
            try change(&update)
            try access.keys.map {
                try $0.subjects.forgetAgain(ForgottenLedger.entries(update.transaction.reads, access.tables, $0.subjects.ring))
            }
            return update.last
        }
        if let finding = try complete(progress) {
            throw EvstoreError.storeDamaged(path: store, reason: "what was written is not whole: \(finding.id) \(finding.message)")
        }
        return last
    }
}
