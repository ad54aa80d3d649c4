package import Bytes
package import EventModel
internal import LMDB
internal import Sealing

/// Seals and opens the lines of files that lie beside the log of a sealed store. Each thread has its own.
///
/// Each file has a key of its own, in a slot of the file `subjects`. Its lines name the slot, which is overwritten when the file is
/// rewritten or removed. Lines of older programs name slot 0: their key is derived from the master key and can't be overwritten.
package final class LineSealer {
    private let keys: StoreKeys
    private let storeID: StoreID
    /// The key that lines are sealed under; nil where they are only opened.
    private let writing: DataKey?
    /// The key that was used last to open a line.
    private var opening: DataKey?
    private var sealer = RecordSealer()

    init(_ keys: StoreKeys, _ storeID: StoreID, writing: DataKey? = nil) {
        (self.keys, self.storeID, self.writing) = (keys, storeID, writing)
    }

    /// The slot of the key that a line's envelope names; nil where it names none.
    package static func slot(of envelope: RawSpan) -> UInt32? { Envelope.keyID(of: envelope).flatMap { $0 == 0 ? nil : $0 } }

    package func seal(_ line: RawSpan, _ epoch: Epoch, _ position: Position, into envelope: inout ByteBuffer) throws(EvstoreError) {
        guard let writing else { throw .misuse("lines are sealed under a key of their file") }
        let (place, none) = (place(epoch, position), [UInt8]())
        do throws(SealError) {
            try sealer.seal(
                PlainParts(payload: line, metadata: none.lent, shadow: none.lent, personal: none.lent), under: writing, place.lent,
                into: &envelope)
        } catch { throw .misuse("a line can't be sealed: \(error.reason)") }
    }

    /// Appends the opened line.
    /// - Throws: `EvstoreError.invalidLine` where the line was not sealed by this store or was changed, or its key is gone.
    package func open(_ envelope: RawSpan, _ epoch: Epoch, _ position: Position, into line: inout ByteBuffer) throws(EvstoreError) {
        let place = place(epoch, position)
        let key = try key(Self.slot(of: envelope) ?? 0)
        do throws(SealError) { _ = try sealer.open(envelope, under: key, place.lent, into: &line) } catch {
            throw .invalidLine(reason: "was sealed by another store, or changed since", pointer: "/sealed")
        }
    }

    private func key(_ slot: UInt32) throws(EvstoreError) -> DataKey {
        if let opening, opening.id == slot { return opening }
        let key: DataKey
        if slot == 0 { key = DataKey(id: 0, suite: .gcm, keys.key(for: "lines")) } else { key = try keyOfFile(slot) }
        opening = key
        return key
    }

    private func keyOfFile(_ slot: UInt32) throws(EvstoreError) -> DataKey {
        do {
            if let key = try keys.subjects.proven(slot).key { return key }
        } catch let damage as SlotDamage {
            throw .invalidLine(
                reason: "was sealed by another store, or can't be opened: its key (slot \(slot) of the file subjects) \(damage.reason)",
                pointer: "/sealed")
        } catch { throw storeError(error, keys.store, doing: "reading the keys of lines") }
        throw .invalidLine(
            reason: "can't be opened any more: its key was overwritten when its file was written anew without what was forgotten",
            pointer: "/sealed")
    }

    private func place(_ epoch: Epoch, _ position: Position) -> [UInt8] {
        var binding = RecordBinding(storeID)
        binding.begin(epoch, position)
        return [UInt8](copying: binding.bytes)
    }
}

extension LogAccess {
    /// Makes a sealer for the lines of one file, with a new key that is durable on return; nil where the log's events are not sealed.
    package func makeLineSealer() throws -> LineSealer? {
        guard let keys else { return nil }
        let key = try environment.writeOwned { transaction in
            try keys.subjects.makeKeyOfLines(noted: StateRows.slots(transaction.reads, tables))
        }
        return LineSealer(keys, storeID, writing: key)
    }
}

extension EventLog {
    /// Opens sealed lines; nil where the log's events are not sealed.
    package var lineSealer: LineSealer? { access.keys.map { LineSealer($0, storeID) } }

    /// Makes a sealer for the lines of one file, which opens any line; nil where the log's events are not sealed.
    /// - Throws: `EvstoreError`: readOnly, diskFull.
    package func makeLineSealer() throws -> LineSealer? {
        try converting("making a key for lines") {
            try access.environment.checkProcess()
            return try access.makeLineSealer()
        }
    }

    /// Overwrites keys of lines durably, including those that were put back after they were forgotten; leaves other slots alone. The caller
    /// notes the result in the ledger.
    /// - Throws: `EvstoreError`: readOnly, corruptBlock where the ledger differs from what was written.
    package func forgetLines(_ slots: Set<UInt32>) throws -> [ForgottenSubject] {
        guard let keys = access.keys else { return [] }
        if isReadOnly { throw EvstoreError.readOnly(path: path) }
        let ledger = try ledger()
        return try converting("overwriting keys of lines") {
            try access.environment.checkProcess()
            return try access.environment.writeOwned { transaction in
                try keys.subjects.forgetLines(slots, ledger, noted: StateRows.slots(transaction.reads, access.tables))
            }
        }
    }
}
