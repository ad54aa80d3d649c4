internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Sealing

/// The keys of a damaged store whose events are sealed.
struct SalvagedKeys {
    let keys: StoreKeys
    let file: [UInt8]
    let secret: StoreSecret
    let storeID: StoreID

    /// The keys beside a damaged log; nil where there are none, or no secret was given.
    /// - Throws: `EvstoreError`: keysRefused, storeDamaged.
    static func open(beside source: SalvageSource, _ options: Options) throws -> StoreKeys? {
        guard let secret = options.secret, let store = source.store else { return nil }
        return try StoreKeys.file(at: store).flatMap { StoreID($0.storeID) }.map { try StoreKeys(at: store, $0, secret) }
    }

    /// Nil where the events are not sealed.
    /// - Throws: `EvstoreError`: keysRefused, storeDamaged.
    static func find(of salvage: Salvage, _ options: Options) throws -> SalvagedKeys? {
        let path = salvage.source.path
        guard let first = salvage.log.blocks.first ?? salvage.log.unconfirmed.first else { return nil }
        let block = try salvage.read(first)
        guard block.lent.load(UInt32.self, at: BlockLayout.Header.flags) & BlockLayout.Mark.sealed != 0 else {
            if options.secret == nil { return nil }
            throw EvstoreError.keysRefused(
                path: path, reason: "its events are not sealed; salvage it without a key, then `recipher` the store")
        }
        guard let secret = options.secret else {
            throw EvstoreError.keysRefused(path: path, reason: "its events are sealed, and no key was given")
        }
        guard let storeID = salvage.storeID, let keys = salvage.keys, let file = try StoreKeys.bytes(at: keys.store) else {
            throw EvstoreError.storeDamaged(
                path: path,
                reason: "its events are sealed, and the file \(StoreKeys.fileName) is not beside its log: put there that of a backup")
        }
        guard keys.file.storeID == storeID.bytes else {
            throw EvstoreError.storeDamaged(path: path, reason: "its file \(StoreKeys.fileName) is of another store")
        }
        return SalvagedKeys(keys: keys, file: file, secret: secret, storeID: storeID)
    }

    /// The keys of the new store: the copied blocks need the old keys.
    func new(isWhole: Bool) -> KeySource { isWhole ? .copied(file, secret) : .made(secret) }

    /// Lends a block decrypted, without the personal data whose key is damaged.
    /// - Throws: `EvstoreError.corruptBlock`, among others, where the block's code was not made with these keys.
    func open(_ block: borrowing BlockView, _ body: (borrowing BlockView) throws -> Void) throws {
        guard block.isCoded(by: keys.codes) else { throw Blocks.forged(block.first) }
        try keys.withOpener(storeID) { try $0.lend(block, .leftWhereLost, body) }
    }
}
