package import EventModel
internal import LMDB
internal import Sealing

extension EventLog {
    /// Overwrites the keys under which the personal data of a stream's events is sealed, durably: nobody can read that data any more. Nil
    /// where the stream never had such data. O(events of the stream). The caller updates the ledger.
    /// - Throws: `EvstoreError`: keysRefused, readOnly; storeDamaged and corruptBlock where damage hides some of the keys: then the known
    ///   ones are overwritten.
    package func forget(_ stream: StreamName) throws -> ForgottenSubject? {
        defer { withExtendedLifetime(self) {} }
        guard let keys = access.keys else {
            throw EvstoreError.keysRefused(path: path, reason: "its events are not sealed: nothing can be forgotten")
        }
        if isReadOnly { throw EvstoreError.readOnly(path: path) }
        do {
            try access.environment.checkProcess()
            // Events that are appended meanwhile are sealed under a slot that was whole just before.
            let named = Result { try slots(of: stream, keys) }
            return try access.environment.writeOwned(takeTurn()) { _ in try keys.subjects.forget(stream, named: named) }
        } catch { throw storeError(error, path, doing: "forgetting \(stream)") }
    }

    /// Whether there is a key for the personal data of a stream with this name, also of one that is not in the log any more.
    package func hasKey(of stream: StreamName) throws -> Bool {
        defer { withExtendedLifetime(self) {} }
        guard let keys = access.keys else { return false }
        do { return try keys.subjects.hasKey(of: stream) } catch { throw storeError(error, path, doing: "reading the keys of \(stream)") }
    }

    /// The slots that the events of a stream name.
    private func slots(of stream: StreamName, _ keys: StoreKeys) throws -> Set<UInt32> {
        var slots: Set<UInt32> = []
        var next: Revision? = Revision(.max)
        while let from = next {
            next = try read { reader in
                guard let walk = try reader.walk(stream) else { return nil }
                var last: UInt64 = 0
                try walk.closed(from: min(from, walk.head.revision), limit: options.pageEventsMax, reader.transaction) { record in
                    last = record.revision.rawValue
                    let slot = record.isSealed ? try keys.withOpener(access.storeID, { try $0.subject(of: record) }) : nil
                    if let slot { slots.insert(slot) }
                    return true
                }
                return last == 0 ? nil : Revision(last - 1)
            }
        }
        return slots
    }
}
