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
        do { return try access.keys?.readFile() } catch { throw storeError(error, path, doing: "reading the keys") }
    }

    /// A digest over the slots of the store's key file as it is now; nil where its events are not sealed.
    package func slotsDigest() throws -> Digest? { try access.keys?.current().slots }

    /// Changes the store's keys durably, completely or not at all; other processes that change them wait.
    /// - Throws: `EvstoreError`: keysRefused, usage where `body` refuses, readOnly, diskFull, storeDamaged.
    package func changeKeys<R>(_ body: (inout KeyRing) throws(SealError) -> R) throws -> R {
        defer { withExtendedLifetime(self) {} }
        guard let keys = access.keys else {
            throw EvstoreError.keysRefused(path: path, reason: "its events are not sealed: it has no keys")
        }
        if isReadOnly { throw EvstoreError.readOnly(path: path) }
        do {
            try access.environment.checkProcess()
            return try keys.change(access.environment, takeTurn(), body)
        } catch { throw storeError(error, path, doing: "changing the keys") }
    }

    /// The numbers of the data keys that events are sealed under. Reads the whole log.
    package func dataKeysInUse(progress: (Position) throws -> Void = { _ in }) throws -> Set<UInt32> {
        defer { withExtendedLifetime(self) {} }
        var used: Set<UInt32> = []
        var scan = LogScan(access, options, after: .start, form: .sealed)
        do {
            while try access.environment.read({ transaction in
                try scan.runChunk(transaction) { block in
                    used.formUnion(block.dataKeys)
                    try progress(block.last)
                    return true
                }
            }) {}
        } catch { throw storeError(error, path, doing: "reading the store") }
        return used
    }
}
