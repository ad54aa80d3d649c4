import Bytes
import Testing

@testable import Sealing

/// A record to seal, and where it stands.
struct Sample {
    var payload = Array(#"{"secret":"heron"}"#.utf8)
    var metadata = Array(#"{"by":"ann"}"#.utf8)
    var shadow = Array("old".utf8)
    /// "evr1", the store, epoch 3, position 42, and what else is said of the record.
    var associated: [UInt8] =
        Array("evr1".utf8) + Array(0x10 ..< 0x20) + [3, 0, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]
        + Array("the record around it".utf8)
    var personal: [UInt8] = []

    static func key(_ suite: Suite) throws -> DataKey { DataKey(id: 7, suite: suite, try #require(SecretKey(Array(0 ..< 32)))) }

    func sealed(_ suite: Suite) throws -> [UInt8] {
        var sealer = RecordSealer()
        var target = ByteBuffer()
        try sealer.seal(
            PlainParts(payload: payload.lent, metadata: metadata.lent, shadow: shadow.lent, personal: personal.lent),
            under: Self.key(suite), associated.lent, into: &target)
        return target.array()
    }

    /// Payload, metadata and shadow one after the other.
    func opened(_ envelope: [UInt8], _ suite: Suite, under key: DataKey? = nil) throws -> [UInt8] {
        var sealer = RecordSealer()
        var target = ByteBuffer()
        let parts = try sealer.open(envelope.lent, under: key ?? Self.key(suite), associated.lent, into: &target)
        #expect(parts.payload + parts.metadata + parts.shadow == target.count)
        return target.array()
    }
}

@Suite("Sealed records")
struct SuiteTests {
    /// Made with Python's cryptography 48 from the byte tables of `Envelope` and `Suite`.
    static let answers: [Suite: String] = [
        .gcm: """
        010200030700000031000000a0a1a2a3a4a5a6a7a8a9aaabacadaeafbcf2b4b928e8923329f31098e3ca370ea8bdcfe9e10ed6ddb3af2f9e\
        00fc258610de5afbcacfb5d85bd9924a7865ae868dbf426ba44fe9dde10c3fb14e5a4ddeab
        """,
        .cbcWithHMAC: """
        010100030700000031000000a0a1a2a3a4a5a6a7a8a9aaabacadaeafc0c1c2c3c4c5c6c7c8c9cacbcccdcecfaf8e707e313bcbaeb62cb745\
        77eb50942dd6f6bd5beb34365b094a63f7ed0a2cc393f11bac1203c1c50a2e2677767746c3ec36935a80827d230c4863adbc6698a77fd956\
        62a362bfa0c417165ae9875c021ff5abc7fce91c3334ce81feffe1af
        """,
    ]

    @Test("an envelope is, byte for byte, what another program makes of the same input", arguments: Suite.allCases)
    func known(suite: Suite) throws {
        let (sample, answer) = (Sample(), try #require(Self.answers[suite]))
        var sealer = RecordSealer()
        var target = ByteBuffer()
        try sealer.seal(
            PlainParts(
                payload: sample.payload.lent, metadata: sample.metadata.lent, shadow: sample.shadow.lent, personal: sample.personal.lent),
            under: Sample.key(suite), sample.associated.lent,
            BodySealer.Randomness(salt: Array(0xa0 ..< 0xb0), vector: Array(0xc0 ..< 0xd0)), into: &target)
        #expect(hex(target.array()) == answer)
        #expect(try sample.opened(target.array(), suite) == sample.payload + sample.metadata + sample.shadow)
    }

    @Test("each sealing of the same record is another one, and opens", arguments: Suite.allCases)
    func salted(suite: Suite) throws {
        let sample = Sample()
        let sealed = try (0 ..< 200).map { _ in try sample.sealed(suite) }
        #expect(Set(sealed).count == 200)
        #expect(Set(sealed.map { Array($0[12 ..< 28]) }).count == 200)
        for one in sealed { #expect(try sample.opened(one, suite) == sample.payload + sample.metadata + sample.shadow) }
    }

    @Test("a change of any bit of an envelope is found", arguments: Suite.allCases)
    func tampered(suite: Suite) throws {
        let sample = Sample()
        let sealed = try sample.sealed(suite)
        for index in sealed.indices {
            for bit in 0 ..< 8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: SealError.self, "byte \(index), bit \(bit)") { try sample.opened(changed, suite) }
            }
        }
        for count in 0 ..< sealed.count {
            #expect(throws: SealError.self, "cut to \(count)") { try sample.opened(Array(sealed[..<count]), suite) }
        }
        #expect(throws: SealError.self) { try sample.opened(sealed + [0], suite) }
    }

    @Test("a record opens nowhere but in its place: every byte around it counts", arguments: Suite.allCases)
    func bound(suite: Suite) throws {
        let sample = Sample()
        let sealed = try sample.sealed(suite)
        for index in sample.associated.indices {
            var elsewhere = sample
            elsewhere.associated[index] ^= 1
            #expect(throws: SealError.self, "byte \(index)") { try elsewhere.opened(sealed, suite) }
        }
        var longer = sample
        longer.associated.append(0)
        #expect(throws: SealError.self) { try longer.opened(sealed, suite) }
    }

    @Test("another key of the same number opens nothing", arguments: Suite.allCases)
    func otherKey(suite: Suite) throws {
        let sample = Sample()
        let sealed = try sample.sealed(suite)
        #expect(throws: SealError.self) { try sample.opened(sealed, suite, under: DataKey(id: 7, suite: suite, .random())) }
    }

    @Test("a text is packed before it is sealed, random bytes and short ones are not", arguments: Suite.allCases)
    func packing(suite: Suite) throws {
        var sample = Sample()
        sample.payload = Array(String(repeating: #"{"secret":"heron"},"#, count: 200).utf8)
        let sealed = try sample.sealed(suite)
        #expect(sealed[2] == 1 && sealed.count < sample.payload.count / 10)
        #expect(try sample.opened(sealed, suite) == sample.payload + sample.metadata + sample.shadow)
        var random = SystemRandomNumberGenerator()
        sample.payload = (0 ..< 4_000).map { _ in UInt8.random(in: 0 ... 255, using: &random) }
        #expect(try sample.sealed(suite)[2] == 0)
        sample.payload = [UInt8](repeating: 7, count: 900)
        #expect(try sample.sealed(suite)[2] == 0)
        #expect(try sample.opened(sample.sealed(suite), suite) == sample.payload + sample.metadata + sample.shadow)
    }

    @Test("what unpacks to more than it says is refused before there is room for it")
    func bomb() throws {
        var packing = Packing()
        var body = ByteBuffer()
        body.append(zeros: 1 << 20)
        let bytes = packing.pack(body)
        let packed = try #require(bytes)
        let whole = try packing.unpack(packed, count: 1 << 20)
        #expect(whole.count == 1 << 20)
        for (bytes, count) in [(packed, 4_096), (packed, 1 << 21), ([1, 2, 3], 4_096)] {
            var refusal: SealError?
            do throws(SealError) { _ = try packing.unpack(bytes, count: count) } catch { refusal = error }
            #expect(refusal != nil)
        }
    }
}

func hex(_ bytes: [UInt8]) -> String { Bytes.hex(bytes) }
