import Bytes
import Sealing
import Testing

@Suite("Values that are sealed in their places")
struct ValueSealerTests {
    private static func sealer(_ byte: UInt8 = 7) throws -> ValueSealer {
        ValueSealer(try #require(SecretKey([UInt8](repeating: byte, count: 32))))
    }

    private static func seal(_ value: [UInt8], _ place: String, by sealer: ValueSealer) throws -> [UInt8] {
        var envelope = ByteBuffer()
        try sealer.seal(value.lent, Array(place.utf8).lent, into: &envelope)
        return envelope.array()
    }

    private static func open(_ envelope: [UInt8], _ place: String, by sealer: ValueSealer) throws -> [UInt8] {
        var value = ByteBuffer()
        try sealer.open(envelope.lent, Array(place.utf8).lent, into: &value)
        return value.array()
    }

    @Test("come back whole, in 32 bytes more", arguments: [0, 1, 15, 16, 17, 300, 100_000])
    func whole(count: Int) throws {
        let value = (0 ..< count).map { UInt8(truncatingIfNeeded: $0) }
        let envelope = try Self.seal(value, "key", by: Self.sealer())
        #expect(envelope.count == count + ValueSealer.addedBytes)
        #expect(try Self.open(envelope, "key", by: Self.sealer()) == value)
    }

    @Test("what another implementation has sealed is opened: HKDF-Expand with the salt as info, AES-256-GCM with a nonce of zeros")
    func known() throws {
        let envelope = try #require(
            bytes(
                hex: "000102030405060708090a0b0c0d0e0f8c245ae6f93de6c4e3ea03381bc58e37f14b27ecdd716682e794e2"))
        #expect(try Self.open(envelope, "order-1", by: Self.sealer()) == Array(#"{"total":7}"#.utf8))
    }

    @Test("whatever bit is changed or byte is missing, and in another place or under another key, nothing comes back")
    func changed() throws {
        let (sealer, value) = (try Self.sealer(), Array(#"{"total":7}"#.utf8))
        let envelope = try Self.seal(value, "order-1", by: sealer)
        for bit in 0 ..< envelope.count * 8 {
            var other = envelope
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: SealError.self, "bit \(bit)") { try Self.open(other, "order-1", by: sealer) }
        }
        for count in envelope.indices {
            #expect(throws: SealError.self) { try Self.open(Array(envelope[..<count]), "order-1", by: sealer) }
        }
        #expect(throws: SealError.self) { try Self.open(envelope, "order-2", by: sealer) }
        #expect(throws: SealError.self) { try Self.open(envelope, "order-1", by: Self.sealer(8)) }
        #expect(throws: SealError.self) { try Self.open(envelope, "order-1", by: .ephemeral()) }
    }

    @Test("one value sealed ten thousand times in one place never has a salt, nor a cipher text, twice")
    func salts() throws {
        let sealer = try Self.sealer()
        var (salts, texts): (Set<[UInt8]>, Set<[UInt8]>) = ([], [])
        for _ in 0 ..< 10_000 {
            let envelope = try Self.seal(Array("{}  {}  {}  {}  ".utf8), "key", by: sealer)
            salts.insert(Array(envelope[..<16]))
            texts.insert(Array(envelope[16 ..< 32]))
        }
        #expect(salts.count == 10_000 && texts.count == 10_000)
    }
}
