import Bytes
import Crypto
import Foundation

@testable import Sealing

extension FuzzTarget {
    private static let storeID = [UInt8](repeating: 7, count: 16)
    private static let secret = SecretKey([UInt8](repeating: 9, count: SecretKey.byteCount))

    private static func ring(_ rotations: Int = 0) throws -> KeyRing {
        guard let secret else { throw Broken(description: "32 bytes are no key") }
        var ring = try KeyRing.make(storeID: storeID, .key(secret), .none, label: "the first", time: 1)
        for number in 0 ..< rotations { _ = try ring.rotate(number % 2 == 0 ? .cbcWithHMAC : .gcm, time: 2) }
        return ring
    }

    /// A file of keys that is read is written to the same bytes, and one that opens has every key that it names and can be changed.
    /// Its code is made right where its slot still opens.
    static let keys = FuzzTarget(
        name: "keys",
        seeds: { try [0, 1, 5].map { try ring($0).encoded } },
        take: { input in
            guard let secret, input.count >= KeyFile.headerBytes + KeyFile.codeBytes else { return }
            var bytes = input
            bytes.put(UInt32((bytes.count - KeyFile.headerBytes - KeyFile.codeBytes) / KeyFile.entryBytes), at: 4)
            let read = try KeyFile(bytes)
            try hold(read.body + read.code == bytes, "a file of keys is written otherwise")
            if let master = master(of: read, secret) {
                let code = HMAC<SHA256>.authenticationCode(for: read.body, using: KeyRing.codeKey(master))
                bytes.replaceSubrange(bytes.count - KeyFile.codeBytes ..< bytes.count, with: Array(code))
            }
            let file = try KeyFile(bytes)
            var ring = try KeyRing(opening: file, with: .key(secret))
            try hold(ring.encoded == bytes, "keys that were opened are written otherwise")
            for entry in file.dataKeys {
                try hold(ring.dataKey(entry.id)?.suite == entry.suite, "the data key \(entry.id) is missing, or is another one")
            }
            let rotated = try ring.rotate(.gcm, time: 3)
            let again: KeyRing
            do { again = try KeyRing(opening: KeyFile(ring.encoded), with: .key(secret)) } catch {
                throw Broken(description: "keys that were changed do not open: \(error)")
            }
            try hold(again.writing.id == rotated && again.file.dataKeys.count == file.dataKeys.count + 1, "the new key is missing")
        })

    private static func master(of file: KeyFile, _ secret: SecretKey) -> SecretKey? {
        for slot in file.slots where slot.stretching == .none {
            let key = secret.derived(salt: slot.salt, info: slot.head)
            do {
                return SecretKey(
                    try Suite.gcm.open(Array(slot.bytes[40 ..< 88]), key, slot.head + file.storeID))
            } catch { continue }
        }
        return nil
    }

    private static let associated = [UInt8](repeating: 3, count: RecordSealer.placeBytes + 8)

    /// An envelope that opens has parts that add up, which sealed again open as the same; one whose bytes were not sealed under the
    /// key never opens. What is tried is the bytes as they are, and the same as somebody with the key may have sealed them: suite,
    /// packing, parts, length, then the body.
    static let envelope = FuzzTarget(
        name: "envelope",
        seeds: {
            let bodies = [
                [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 123, 125], [UInt8](repeating: 0, count: 16),
                [2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 123, 125, 123, 125, 9],
            ]
            return bodies.flatMap { body in (0 ..< 4 as Range<UInt8>).map { [1 + $0 % 2, 0, $0, UInt8(body.count), 0, 0, 0] + body } }
        },
        take: { bytes in
            guard let secret, bytes.count > 7 else { return }
            var sealer = RecordSealer()
            var output = ByteBuffer()
            let raw = DataKey(id: 1, suite: .gcm, secret)
            var isOpen = true
            do { _ = try sealer.open(bytes.lent, under: raw, associated.lent, into: &output) } catch { isOpen = false }
            try hold(!isOpen, "what nobody has sealed opens")
            guard let suite = Suite(rawValue: bytes[0]) else { return }
            let key = DataKey(id: 1, suite: suite, secret)
            let salt = [UInt8](repeating: 0, count: 16)
            let head = [Envelope.format, bytes[0], bytes[1], bytes[2], 1, 0, 0, 0] + bytes[3 ..< 7] + salt
            let vector = [UInt8](repeating: 0, count: suite.vectorBytes)
            let own = secret.derived(salt: salt, info: Array(associated.prefix(RecordSealer.placeBytes)))
            var envelope = ByteBuffer()
            envelope.append(head + vector)
            try suite.seal(Array(bytes[7...]).lent, own, vector: vector.lent, (associated + head).lent, into: &envelope)
            output = ByteBuffer()
            let parts = try sealer.open(envelope.bytes, under: key, associated.lent, into: &output)
            let plain = output.array()
            try hold(parts.payload + parts.metadata + parts.shadow + parts.personal == plain.count, "the parts do not add up")
            let (afterPayload, afterMetadata) = (parts.payload, parts.payload + parts.metadata)
            let afterShadow = afterMetadata + parts.shadow
            var sealed = ByteBuffer()
            var opened = ByteBuffer()
            try sealer.seal(
                PlainParts(
                    payload: plain.lent.slice(0, afterPayload), metadata: plain.lent.slice(afterPayload, parts.metadata),
                    shadow: plain.lent.slice(afterMetadata, parts.shadow), personal: plain.lent.slice(afterShadow, parts.personal)),
                under: key, associated.lent, into: &sealed)
            let again: OpenedParts
            do { again = try sealer.open(sealed.bytes, under: key, associated.lent, into: &opened) } catch {
                throw Broken(description: "what was sealed again does not open: \(error)")
            }
            try hold(again == parts && opened.array() == plain, "what was sealed again is another record")
        })
}
