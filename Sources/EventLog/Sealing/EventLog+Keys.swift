package import EventModel
package import Hashing
internal import LMDB
package import Sealing

extension EventLog {
    /// The store's key file, as anybody can read it; nil where its events are not sealed.
    package var keyFile: KeyFile? { access.keys?.file }

    /// The key file that is on the disk at this moment, proved with this handle's keys.
    /// - Throws: `EvstoreError.storeDamaged`.
    package func readKeyFile() throws -> KeyFile? {
        try converting("reading the keys") { try access.keys?.readFile() }
    }

    /// A digest over the slots of the store's key file as it is now; nil where its events are not sealed.
    package func slotsDigest() throws -> Digest? { try access.keys?.current().slots }

    /// Changes the store's keys durably, completely or not at all; other processes that change them wait.
    /// - Throws: `EvstoreError`: keysRefused, usage where `body` refuses, readOnly, diskFull, storeDamaged.
    package func changeKeys<R>(_ body: (inout KeyRing) throws(SealError) -> R) throws -> R {
        let keys = try changeableKeys("it has no keys")
        return try converting("changing the keys") {
            try access.environment.checkProcess()
            return try keys.change(access.environment, takeTurn(), body)
        }
    }

    /// The numbers of the data keys that events are sealed under. Reads the whole log.
    package func dataKeysInUse(progress: (Position) throws -> Void = { _ in }) throws -> Set<UInt32> {
        var used: Set<UInt32> = []
        try scan(after: .start, form: .sealed) { block, _ in
            used.formUnion(block.dataKeys)
            try progress(block.last)
            return true
        }
        return used
    }

    /// The keys of a log that can be written.
    private func changeableKeys(_ lack: String) throws -> StoreKeys {
        guard let keys = access.keys else { throw EvstoreError.keysRefused(path: path, reason: "its events are not sealed: \(lack)") }
        if isReadOnly { throw EvstoreError.readOnly(path: path) }
        return keys
    }

    // MARK: Forgetting

    /// Overwrites the keys under which the personal data of some streams' events is sealed, durably: nobody can read that data any more.
    /// O(events of the streams), and one pass over all keys for each 1,024 streams. The caller updates the ledger.
    /// - Parameter done: called for each stream, in order, once its keys are overwritten; with nil where it never had such data.
    /// - Throws: `EvstoreError`: keysRefused, readOnly; storeDamaged and corruptBlock where damage hides some of the keys of a stream: then
    ///   the known ones are overwritten, and those of the streams after it are not.
    package func forget(_ streams: [StreamName], _ done: (StreamName, ForgottenSubject?) -> Void) throws {
        let keys = try changeableKeys("nothing can be forgotten")
        var batch: [(name: StreamName, named: Set<UInt32>)] = []
        for (index, stream) in streams.enumerated() {
            try converting("forgetting \(streams.count == 1 ? "\(stream)" : "\(streams.count) streams")") {
                try access.environment.checkProcess()
                var (named, unread): (Set<UInt32>, (any Error)?) = ([], nil)
                // Events that are appended meanwhile are sealed under a slot that was whole just before.
                do { named = try slots(of: stream, keys) } catch { unread = error }
                batch.append((stream, named))
                if unread == nil, batch.count < Self.forgottenAtOnceMax, index + 1 < streams.count { return }
                let forgotten = try access.environment.writeOwned(takeTurn()) { transaction in
                    try keys.subjects.forget(batch, noted: StateRows.slots(transaction.reads, access.tables))
                }
                // A stream that can't be read may have its key among those that are damaged.
                let isUnknown = try unread != nil && (forgotten.last == .some(nil) || !keys.subjects.damages().isEmpty)
                if isUnknown { batch.removeLast() } else { unread = nil }
                for (one, subject) in zip(batch, forgotten) { done(one.name, subject) }
                batch = []
                if let unread { throw unread }
            }
        }
    }

    private static let forgottenAtOnceMax = 1_024

    /// Those of the streams for whose personal data there is a key, also where one is not in the log any more.
    package func keyed(among streams: Set<StreamName>) throws -> Set<StreamName> {
        try converting("reading the keys of streams") { try access.keys?.subjects.keyed(among: streams) ?? [] }
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
