internal import Bytes
internal import Crypto

/// The key of one subject, or of a file of event lines, in a place of its own, so that it can be overwritten there. Integers are
/// little-endian; a slot is 128 bytes at a multiple of 128, so that it lies in one sector: a disk that loses power leaves it as
/// it was or as it was to be. A disk that tears a sector nevertheless leaves one that is known to be damaged, with its code, which
/// overwriting does not change: it is overwritten again.
///
///     0   u8   1 live, 2 forgotten, 3 lost: a salvage has found it damaged
///     1   7    zero
///     8   16   code of the subject: HMAC-SHA256 (RFC 2104) of its name, cut off; of the key of lines: of the slot's number
///     24  48   the key (`WrappedKey`), wrapped with store id, number, bytes 0 … 23; forgotten or lost: zero
///     72  16   its tag; forgotten or lost: HMAC-SHA256 over the same, cut off, so that nobody else can say so
///     88  40   zero
///
/// The subjects' key and that of the codes are made of the master key. The number of a slot is its place, from 1 on. One of zeros was
/// never written.
package struct SubjectSlot: Sendable {
    package enum State: UInt8, Sendable { case live = 1, forgotten, lost }

    package static let byteCount = 128

    package let number: UInt32
    package let bytes: [UInt8]

    package init(_ number: UInt32, _ bytes: [UInt8]) { (self.number, self.bytes) = (number, bytes) }

    /// Of the subject that it is for.
    package var code: [UInt8] { Array(bytes[8 ..< 24]) }

    /// What it says of itself, which `KeyRing.key(of:)` proves.
    package var state: State? { State(rawValue: bytes[0]) }

    /// Whether nobody has ever written it: what makes a file longer may come to the disk before what lies in it.
    package var isBlank: Bool { bytes.allSatisfy { $0 == 0 } }

    fileprivate var head: [UInt8] { Array(bytes[..<24]) }
}

extension KeyRing {
    /// What a subject is found by.
    package func code(ofSubject name: [UInt8]) -> [UInt8] { code(name, "subject codes") }

    /// What the slot of such a number carries where its key is that of a file of event lines.
    package func code(ofLines number: UInt32) -> [UInt8] { code(bytes(number), "line codes") }

    /// A slot with a new key.
    package func newSubject(_ number: UInt32, code: [UInt8]) throws(SealError) -> SubjectSlot {
        try slot(number, code, .random())
    }

    /// A slot whose key was forgotten.
    package func forgotten(_ number: UInt32, code: [UInt8]) -> SubjectSlot { without(.forgotten, number, code) }

    /// A slot whose key was lost.
    package func lost(_ number: UInt32, code: [UInt8]) -> SubjectSlot { without(.lost, number, code) }

    /// The key in a slot; nil where it was forgotten or lost.
    /// - Throws: `SealError.damaged` where it is neither as it was written.
    package func key(of slot: SubjectSlot) throws(SealError) -> DataKey? {
        guard slot.bytes.count == SubjectSlot.byteCount else { throw .damaged("is missing") }
        let associated = associated(slot.number, slot.head)
        let tag = Array(slot.bytes[72 ..< 88])
        guard slot.bytes[88...].allSatisfy({ $0 == 0 }) else { throw .damaged("is not as it was written") }
        if slot.state == .forgotten || slot.state == .lost {
            guard isEqual(code(associated, "forgotten subjects"), tag), slot.bytes[24 ..< 72].allSatisfy({ $0 == 0 }) else {
                throw .damaged("is not as it was written")
            }
            return nil
        }
        return DataKey(id: slot.number, suite: .gcm, try unwrap(Array(slot.bytes[24 ..< 88]), for: "subjects", associated))
    }

    private func slot(_ number: UInt32, _ code: [UInt8], _ key: SecretKey) throws(SealError) -> SubjectSlot {
        let head = [1] + [UInt8](repeating: 0, count: 7) + code
        let wrapped = try wrap(key, for: "subjects", associated(number, head))
        return SubjectSlot(number, head + wrapped + [UInt8](repeating: 0, count: 40))
    }

    private func without(_ state: SubjectSlot.State, _ number: UInt32, _ code: [UInt8]) -> SubjectSlot {
        let head = [state.rawValue] + [UInt8](repeating: 0, count: 7) + code
        let proof = self.code(associated(number, head), "forgotten subjects")
        return SubjectSlot(number, head + [UInt8](repeating: 0, count: 48) + proof + [UInt8](repeating: 0, count: 40))
    }

    private func associated(_ number: UInt32, _ head: [UInt8]) -> [UInt8] {
        file.storeID + bytes(number) + head
    }

    private func bytes(_ number: UInt32) -> [UInt8] { (0 ..< 4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

    // MARK: The ledger of what was forgotten

    /// That something was forgotten, as nobody else can say it.
    package func proof(ofForgotten claim: [UInt8]) -> [UInt8] { code(file.storeID + claim, "ledger of what was forgotten") }

    package func isProof(_ proof: [UInt8], ofForgotten claim: [UInt8]) -> Bool { isEqual(self.proof(ofForgotten: claim), proof) }

    /// Takes as long wherever two codes differ. In Swift `|` and `^` bind alike, from the left.
    private func isEqual(_ code: [UInt8], _ other: [UInt8]) -> Bool {
        code.count == other.count && zip(code, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func code(_ bytes: [UInt8], _ purpose: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key(for: purpose).symmetric).prefix(16))
    }
}
