internal import Bytes

/// The key of one subject, or of a file of event lines, in a place of its own, where it can be overwritten. Integers are little-endian. A
/// slot is 128 bytes at a multiple of 128, so that it lies in one sector: after a power cut it holds either the old or the new bytes. On a
/// disk that tears a sector nevertheless, the slot is found to be damaged; its code, which overwriting does not change, is still there, and
/// the slot is overwritten again.
///
///     0   u8   1 live, 2 forgotten, 3 lost: a salvage has found it damaged
///     1   7    zero
///     8   16   code of the subject: HMAC-SHA256 (RFC 2104) of its name, cut off; of the key of lines: of the slot's number
///     24  48   the key (`WrappedKey`), wrapped with store id, number, bytes 0 … 23; forgotten or lost: zero
///     72  16   its tag; forgotten or lost: HMAC-SHA256 over the same, cut off, which only the store's keys make
///     88  40   zero
///
/// The keys that wrap keys and make codes are derived from the master key. A slot's number is its place, from 1 on. A slot of zeros was
/// never written.
package struct SubjectSlot: Sendable {
    package enum State: UInt8, Sendable { case live = 1, forgotten, lost }

    package static let byteCount = 128
    /// The size of a slot's code in `slot-codes`.
    package static let codeBytes = Authenticator.codeBytes

    package let number: UInt32
    package let bytes: [UInt8]

    package init(_ number: UInt32, _ bytes: [UInt8]) { (self.number, self.bytes) = (number, bytes) }

    /// The code of the subject whose key the slot holds.
    package var code: [UInt8] { Self.code(in: bytes.lent) }

    package static func code(in bytes: RawSpan) -> [UInt8] { [UInt8](copying: bytes.slice(8, 16)) }

    /// The first half of the code: enough to find a slot by, whose whole code is compared then.
    package var mark: UInt64 { Self.mark(of: code) }

    package static func mark(in bytes: RawSpan) -> UInt64 { bytes.load(UInt64.self, at: 8) }

    package static func mark(of code: [UInt8]) -> UInt64 { code.lent.load(UInt64.self, at: 0) }

    /// The state according to the first byte; `KeyRing.key(of:)` proves it.
    package var state: State? { Self.state(in: bytes.lent) }

    package static func state(in bytes: RawSpan) -> State? { State(rawValue: bytes.load(UInt8.self, at: 0)) }

    /// Whether the slot was never written: a file's new size may reach the disk before its bytes.
    package var isBlank: Bool { bytes.lent.isZero }
}

/// The keys that slots need, derived from the master key once, since each slot needs some of them.
struct SubjectSecrets: Sendable {
    let wrapping: SecretKey
    let names, lines, forgotten, slots, ledger: Authenticator

    init(_ master: SecretKey) {
        wrapping = master.key(for: "subjects")
        names = Authenticator(master.key(for: "subject codes"))
        lines = Authenticator(master.key(for: "line codes"))
        forgotten = Authenticator(master.key(for: "forgotten subjects"))
        slots = Authenticator(master.key(for: "slot codes"))
        ledger = Authenticator(master.key(for: "ledger of what was forgotten"))
    }
}

extension Authenticator {
    fileprivate func code(of text: [UInt8]) -> [UInt8] {
        var code = ByteBuffer(capacity: Self.codeBytes)
        appendCode(of: text.lent, to: &code)
        return code.array()
    }
}

extension KeyRing {
    /// The code by which a subject's slot is found.
    package func code(ofSubject name: [UInt8]) -> [UInt8] { subjects.names.code(of: name) }

    /// The code of a slot that holds the key of a file of event lines.
    package func code(ofLines number: UInt32) -> [UInt8] { subjects.lines.code(of: bytes(number)) }

    package func newSubject(_ number: UInt32, code: [UInt8]) throws(SealError) -> (slot: SubjectSlot, key: DataKey) {
        let key = SecretKey.random()
        return (try slot(number, code, key), DataKey(id: number, suite: .gcm, key))
    }

    package func forgotten(_ number: UInt32, code: [UInt8]) -> SubjectSlot { without(.forgotten, number, code) }

    package func lost(_ number: UInt32, code: [UInt8]) -> SubjectSlot { without(.lost, number, code) }

    /// The key in a slot; nil where it was forgotten or lost.
    /// - Throws: `SealError.damaged` where the slot differs from what was written.
    package func key(of slot: SubjectSlot) throws(SealError) -> DataKey? {
        guard slot.bytes.count == SubjectSlot.byteCount else { throw .damaged("is missing") }
        let text = slot.bytes.lent
        let associated = associated(slot.number, text.slice(0, 24))
        guard text.slice(88, 40).isZero else { throw .damaged("is not as it was written") }
        if slot.state == .forgotten || slot.state == .lost {
            guard subjects.forgotten.isCode(text.slice(72, 16), of: associated.lent), text.slice(24, 48).isZero else {
                throw .damaged("is not as it was written")
            }
            return nil
        }
        let key = try WrappedKey.key(in: text.slice(24, WrappedKey.byteCount), under: subjects.wrapping, associated.lent)
        return DataKey(id: slot.number, suite: .gcm, key)
    }

    /// A code of the whole slot, which is kept beside the slots: it proves that the store's keys have made the slot for its number, as
    /// `key(of:)` does, for a fraction of what unwrapping the key takes.
    package func code(of slot: SubjectSlot) -> [UInt8] {
        var code = ByteBuffer(capacity: Authenticator.codeBytes)
        subjects.slots.appendCode(of: place(slot.number).lent, slot.bytes.lent.slice(0, Self.usedBytes), to: &code)
        return code.array()
    }

    /// Whether it is the code of the slot that has these bytes.
    package func isCode(_ code: RawSpan, ofSlot number: UInt32, _ slot: RawSpan) -> Bool {
        slot.byteCount == SubjectSlot.byteCount && slot.slice(Self.usedBytes, SubjectSlot.byteCount - Self.usedBytes).isZero
            && subjects.slots.isCode(code, of: place(number).lent, slot.slice(0, Self.usedBytes))
    }

    private static let usedBytes = 88

    private func place(_ number: UInt32) -> [UInt8] { file.storeID + bytes(number) }

    private func slot(_ number: UInt32, _ code: [UInt8], _ key: SecretKey) throws(SealError) -> SubjectSlot {
        let head = [1] + [UInt8](repeating: 0, count: 7) + code
        let wrapped = try WrappedKey.bytes(of: key, under: subjects.wrapping, associated(number, head.lent))
        return SubjectSlot(number, head + wrapped + [UInt8](repeating: 0, count: 40))
    }

    private func without(_ state: SubjectSlot.State, _ number: UInt32, _ code: [UInt8]) -> SubjectSlot {
        let head = [state.rawValue] + [UInt8](repeating: 0, count: 7) + code
        let proof = subjects.forgotten.code(of: associated(number, head.lent))
        return SubjectSlot(number, head + [UInt8](repeating: 0, count: 48) + proof + [UInt8](repeating: 0, count: 40))
    }

    private func associated(_ number: UInt32, _ head: RawSpan) -> [UInt8] {
        var associated: [UInt8] = []
        associated.reserveCapacity(file.storeID.count + 4 + head.byteCount)
        associated += file.storeID
        for shift in stride(from: 0, to: 32, by: 8) { associated.append(UInt8(truncatingIfNeeded: number >> shift)) }
        associated.append(copying: head)
        return associated
    }

    private func bytes(_ number: UInt32) -> [UInt8] { (0 ..< 4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

    // MARK: The ledger of what was forgotten

    /// The proof, which only the store's keys make, that the claim was written to the ledger of what was forgotten.
    package func proof(ofForgotten claim: [UInt8]) -> [UInt8] { subjects.ledger.code(of: file.storeID + claim) }

    package func isProof(_ proof: [UInt8], ofForgotten claim: [UInt8]) -> Bool {
        subjects.ledger.isCode(proof.lent, of: (file.storeID + claim).lent)
    }
}
