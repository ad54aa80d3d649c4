internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// A log that is written anew, in a directory that has a temporary name yet.
struct NewLog {
    private static let bytesAtOnce = 64 << 20

    let access: LogAccess
    private let store: String
    private let options: Options

    init(at store: String, _ storeID: StoreID, _ options: Options, _ keys: NewKeys?) throws {
        (self.store, self.options) = (store, options)
        access = try EventLog.lay(store, storeID, options, keys)
    }

    /// Runs `next` in one durable transaction after another until it returns false. Where LMDB's map has to grow, a transaction is
    /// repeated from the `state` before it: `next` changes nothing else.
    func fill<State>(_ state: inout State, _ next: (inout State, (Position, RawSpan) throws -> Void) throws -> Bool) throws {
        var goesOn = true
        while goesOn {
            let before = state
            let access = access
            (state, goesOn) = try access.environment.writeOwned { transaction in
                var transaction = transaction
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

    func put(types: [TypeID: String]) throws {
        let access = access
        try access.environment.writeOwned { transaction in
            var transaction = transaction
            for (id, name) in types {
                try access.tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction)
                access.names.learn(id, name)
            }
        }
    }

    func put(epochs: [(epoch: Epoch, at: Position, link: Digest)]) throws {
        let access = access
        try access.environment.writeOwned { transaction in
            var transaction = transaction
            for row in epochs { try Epochs.put(row.epoch, cut: row.at, link: row.link, &transaction, access.tables) }
        }
    }

    /// Writes the rows that `change` adds to the blocks, makes the indexes, and verifies the log.
    /// - Returns: the end of the log.
    /// - Throws: `EvstoreError.storeDamaged` where the log is not whole.
    func finish(_ progress: () throws -> Void, _ change: (inout LogUpdate) throws -> Void) throws -> Checkpoint {
        let last = try access.update { update in
            try change(&update)
            try access.keys.map {
                try $0.subjects.forgetAgain(ForgottenLedger.entries(update.transaction.reads, access.tables, $0.subjects.ring))
            }
            return update.last
        }
        if let finding = try access.complete(at: store, options, progress) {
            throw EvstoreError.storeDamaged(path: store, reason: "what was written is not whole: \(finding.id) \(finding.message)")
        }
        return last
    }
}
