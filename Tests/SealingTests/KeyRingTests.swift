import Bytes
import Testing

@testable import Sealing

@Suite("A store's keys")
struct KeyRingTests {
    private let store = Array(UInt8(1) ... 16)
    private let key = SecretKey.random()

    private func made() throws -> KeyRing {
        try KeyRing.make(storeID: store, .key(key), .none, label: "the machine's", time: 5)
    }

    private func opened(_ bytes: [UInt8], _ secret: KeySecret? = nil) throws -> KeyRing {
        try KeyRing(opening: KeyFile(bytes), with: secret ?? .key(key))
    }

    @Test("what was written opens with each of its slots, and gives the same keys")
    func slots() throws {
        var ring = try made()
        let words = KeySecret.passphrase(Array("a heron stands in the reeds".utf8))
        #expect(try ring.addSlot(words, .scrypt(logN: 14, r: 8, p: 1), label: "Ann's", time: 6) == 2)
        #expect(try ring.addSlot(words, .pbkdf2(rounds: 210_000), label: "old", time: 7) == 3)
        // To stretch a passphrase otherwise is a slot more, and nothing else is.
        for (secret, stretching) in [(words, .pbkdf2(rounds: 210_000)), (.key(key), .none)] as [(KeySecret, Stretching)] {
            #expect(throws: SealError.self) { try ring.addSlot(secret, stretching, label: "again", time: 8) }
        }
        let bytes = ring.encoded
        for secret in [.key(key), words] {
            let again = try opened(bytes, secret)
            #expect(again.writing.key.bytes == ring.writing.key.bytes)
            #expect(again.generation == 3 && again.writing.id == 1 && again.writing.suite == .gcm)
        }
        #expect(try KeyFile(bytes).slots.map(\.label) == ["the machine's", "Ann's", "old"])
        #expect(try KeyFile(bytes).slots.map(\.stretching) == [.none, .scrypt(logN: 14, r: 8, p: 1), .pbkdf2(rounds: 210_000)])
    }

    @Test("the code of a slot is one for its number and all of its bytes, whatever the slot holds")
    func slotCodes() throws {
        let (ring, other) = (try made(), try made())
        func isCode(_ code: [UInt8], _ number: UInt32, _ bytes: [UInt8], of ring: KeyRing) -> Bool {
            ring.isCode(code.lent, ofSlot: number, bytes.lent)
        }
        let code = [UInt8](repeating: 7, count: 16)
        for slot in [try ring.newSubject(5, code: code).slot, ring.forgotten(5, code: code), ring.lost(5, code: code)] {
            let own = ring.code(of: slot)
            #expect(isCode(own, 5, slot.bytes, of: ring))
            #expect(!isCode(own, 6, slot.bytes, of: ring) && !isCode(own, 5, slot.bytes, of: other))
            for index in slot.bytes.indices {
                var bytes = slot.bytes
                bytes[index] ^= 1
                #expect(!isCode(own, 5, bytes, of: ring), "\(index)")
            }
        }
    }

    @Test("a file that asks for more work than opening may take is refused before any of it is done")
    func work() throws {
        let ring = try made()
        func file(of slots: [(way: UInt8, logN: UInt8, r: UInt32, last: UInt32)]) -> [UInt8] {
            func number(_ value: UInt32) -> [UInt8] { (0 ..< 4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
            var bytes = Array(ring.encoded[..<4]) + number(UInt32(slots.count)) + Array(ring.encoded[8 ..< 64])
            for (index, slot) in slots.enumerated() {
                let entry = [1, slot.way, 0, slot.logN] + number(UInt32(index + 1)) + number(slot.r) + number(slot.last)
                bytes += entry + [UInt8](repeating: 0, count: 128 - entry.count)
            }
            return bytes + [UInt8](repeating: 0, count: 32)
        }
        #expect(try KeyFile(file(of: Array(repeating: (1, 17, 8, 1), count: 8))).slots.count == 8)
        #expect(try KeyFile(file(of: Array(repeating: (2, 0, 0, 600_000), count: 8))).slots.count == 8)
        for slots in [
            Array(repeating: (1, 18, 8, 1), count: 5), [(1, 20, 8, 1)], [(1, 17, 8, 4)], Array(repeating: (2, 0, 0, 2_000_000), count: 5),
        ] as [[(way: UInt8, logN: UInt8, r: UInt32, last: UInt32)]] {
            #expect { _ = try KeyFile(file(of: slots)) } throws: { if case SealError.limit = $0 { true } else { false } }
        }
    }

    @Test("another key or passphrase is refused")
    func refused() throws {
        var ring = try made()
        #expect(throws: SealError.refused) { try opened(ring.encoded, .key(.random())) }
        #expect(throws: SealError.refused) { try opened(ring.encoded, .passphrase(key.bytes)) }
        _ = try ring.addSlot(.passphrase(Array("one passphrase".utf8)), .scrypt(logN: 14, r: 8, p: 1), label: "", time: 6)
        #expect(throws: SealError.refused) { try opened(ring.encoded, .passphrase(Array("two passphrase".utf8))) }
    }

    @Test("a rotation keeps the old key for what was sealed, and writes under the new one")
    func rotation() throws {
        var ring = try made()
        let first = ring.writing
        #expect(try ring.rotate(.cbcWithHMAC, time: 8) == 2)
        let again = try opened(ring.encoded)
        #expect(again.writing.id == 2 && again.writing.suite == .cbcWithHMAC)
        #expect(again.dataKey(1)?.key.bytes == first.key.bytes)
        #expect(again.dataKey(2)?.key.bytes != first.key.bytes)
    }

    @Test("the last slot, the key that is written under and what is not there can't be retired")
    func retirement() throws {
        var ring = try made()
        #expect(throws: SealError.self) { try ring.retire(.slot, 1) }
        #expect(throws: SealError.self) { try ring.retire(.dataKey, 1) }
        #expect(throws: SealError.self) { try ring.retire(.dataKey, 9) }
        let other = SecretKey.random()
        _ = try ring.addSlot(.key(other), .none, label: "", time: 9)
        _ = try ring.rotate(.gcm, time: 9)
        try ring.retire(.slot, 1)
        try ring.retire(.dataKey, 1)
        #expect(throws: SealError.refused) { try opened(ring.encoded) }
        let again = try opened(ring.encoded, .key(other))
        #expect(again.dataKey(1) == nil && again.writing.id == 2)
        #expect(try KeyFile(ring.encoded).slots.map(\.id) == [2])
    }

    @Test("a change of any byte of the file is found, whoever made it")
    func tampered() throws {
        var ring = try made()
        _ = try ring.rotate(.gcm, time: 8)
        let bytes = ring.encoded
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x41
            #expect(throws: SealError.self, "byte \(index)") { try opened(changed) }
        }
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: SealError.self, "cut to \(count)") { try opened(Array(bytes[..<count])) }
        }
    }

    @Test("what a file asks for is bounded before anything is derived")
    func bounds() throws {
        var ring = try made()
        _ = try ring.addSlot(.passphrase(Array("a passphrase".utf8)), .scrypt(logN: 14, r: 8, p: 1), label: "", time: 6)
        let slot = 64 + 2 * 128
        for (offset, value) in [(3, 63), (3, 40), (8, 255), (12, 255), (1, 2), (1, 9), (0, 7)] as [(Int, UInt8)] {
            var changed = ring.encoded
            changed[slot + offset] = value
            let began = threadMicroseconds()
            #expect(throws: SealError.self, "byte \(offset)") { try KeyFile(changed) }
            #expect(threadMicroseconds() - began < 100_000)
        }
        var many = ring.encoded
        many[5] = 0xff
        #expect(throws: SealError.self) { try KeyFile(many) }
    }

    @Test("more slots than may be tried are not made")
    func slotsMax() throws {
        var ring = try made()
        for _ in 1 ..< KeyFile.slotsMax { _ = try ring.addSlot(.key(.random()), .none, label: "", time: 1) }
        #expect(throws: SealError.self) { try ring.addSlot(.key(.random()), .none, label: "", time: 1) }
        #expect(throws: SealError.self) { try ring.addSlot(.key(.random()), .scrypt(logN: 14, r: 8, p: 1), label: "", time: 1) }
    }

    @Test("a proof that something was forgotten is believed whole or not at all: no byte of another makes up for one that is wrong")
    func proofs() throws {
        let ring = try made()
        let claim = Array("person-1".utf8)
        let proof = ring.proof(ofForgotten: claim)
        func isBelieved(_ proof: [UInt8]) -> Bool { ring.isProof(proof, ofForgotten: claim) }
        #expect(isBelieved(proof))
        for first in UInt8.min ... .max {
            let forged = [first] + [UInt8](repeating: 0, count: 14) + [0xff]
            #expect(!isBelieved(forged), "\(first)")
        }
        for index in proof.indices {
            for bit in 0 ..< 8 {
                var changed = proof
                changed[index] ^= 1 << bit
                #expect(!isBelieved(changed), "byte \(index), bit \(bit)")
            }
        }
        #expect(!isBelieved(Array(proof.dropLast())))
    }
}
