internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Platform

/// A log under construction, in a directory that nobody else can see yet: that of a new store, or one made of a backup, another log's
/// events, the remains of a damaged log, or the frames of a cluster. It is filled in durable transactions, each of which may run again from
/// the start if LMDB's map has to grow. Completing it makes its indexes and verifies it.
package struct LogBuilder {
    private static let bytesAtOnce = 64 << 20

    package let access: LogAccess
    private let store: String
    private let options: Options

    /// Makes the files of a store without events.
    package init(at store: String, _ storeID: StoreID, _ options: Options, _ newKeys: KeySource?) throws {
        (self.store, self.options) = (store, options)
        let keys = try newKeys?.writeKeyFile(store, storeID)
        let identity = try Manifest.write(storeID, keys, at: store)
        try File(store + StoreLock.fileName, .createNew).reserve(4_096)
        if options.ballastBytes > 0 { try File(store + "/ballast", .createNew).reserve(options.ballastBytes) }
        try Directory.create(store + "/log")
        let environment = try Environment.open(
            directory: store + "/log", TableDescriptor.log.configuration(options, readOnly: false, creating: true))
        do {
            let access = try LogAccess(environment, of: identity, keys)
            try environment.write { transaction in
                let state = StoreState(
                    storeID: storeID, format: StateRows.format, epoch: .first, numbers: .none, history: .zero, generations: [:],
                    indexed: .start)
                try StateRows.put(state, &transaction, access.tables)
            }
            self.access = access
        } catch {
            // Without a builder nobody else closes it, and its map takes address space.
            environment.close()
            throw error
        }
    }

    package func close() { access.environment.close() }

    // MARK: Filling

    package func write<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
        try access.environment.write(nil, body)
    }

    /// Runs one durable transaction with the operations of a log's updates.
    package func update<R>(_ body: (inout LogUpdate) throws -> R) throws -> R {
        try access.environment.writeOwned { transaction in
            var update = try LogUpdate(transaction, access)
            let result = try body(&update)
            try StateRows.note(slots: access.keys?.subjects.countInFile(), &update.transaction, access.tables)
            try update.finish()
            return result
        }
    }

    /// Adds blocks until `next` returns false. `next` may change only `state`, since a repeated transaction begins again with the state
    /// before it.
    package func fill<State>(_ state: inout State, _ next: (inout State, (Position, RawSpan) throws -> Void) throws -> Bool) throws {
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

    /// Makes the indexes of the blocks, verifies everything, and notes the log's end beside it. Where something is wrong, it returns the
    /// finding and notes nothing. O(log).
    package func complete(_ progress: () throws -> Void) throws -> Finding? {
        try Reindexing.run(access, progress)
        var verifier = LogVerifier(access, Overlays(), options, deep: true)
        while try access.environment.read({ try verifier.runChunk($0) { _, _ in } }) { try progress() }
        if let finding = verifier.findings.first { return finding }
        try access.keys?.subjects.writeCodes()
        let (last, link) = try access.environment.read { try (Blocks.end($0, access), Blocks.endLink($0, access)) }
        // With the note, the first opening need not check all pages.
        try LogFile.writeAnchor(at: store, access.storeID, last, link)
        return nil
    }

    /// Writes the rows that `change` adds beside the blocks, and completes the log.
    /// - Returns: the end of the log.
    /// - Throws: `EvstoreError.storeDamaged` where the log has a finding.
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
