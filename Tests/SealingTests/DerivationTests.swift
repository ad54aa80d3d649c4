import Bytes
import Glibc
import Testing

@testable import Sealing

@Suite("Keys made of keys and passphrases")
struct DerivationTests {
    @Test("HKDF-SHA256 gives what RFC 5869 says of it")
    func hkdf() throws {
        // Its inputs are 22 bytes long: the third vector of the appendix has no salt and no info, the first has both.
        let stretched = try Stretching.none.key(from: [UInt8](repeating: 0x0b, count: 22), salt: [])
        #expect(
            hex(stretched.derived(salt: Array(0 ... 12), info: Array(0xf0 ... 0xf9)).bytes)
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf")
        #expect(hex(stretched.derived(salt: [], info: []).bytes) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
    }

    @Test("a code is what another program says of it, and of no other text or key")
    func codes() throws {
        let authenticator = Authenticator(try #require(SecretKey(Array(1 ... 32))))
        var made = ByteBuffer()
        authenticator.appendCode(of: Array("key".utf8).lent, Array("text".utf8).lent, to: &made)
        let code = made.array()
        #expect(hex(code) == "36e884bf275ae1f619a5e7dab52ce757")
        func holds(_ code: [UInt8], _ first: String, _ second: String, _ authenticator: Authenticator) -> Bool {
            authenticator.isCode(code.lent, of: Array(first.utf8).lent, Array(second.utf8).lent)
        }
        #expect(holds(code, "key", "text", authenticator) && !holds(code, "text", "key", authenticator))
        #expect(!holds(Array(code.dropLast()), "key", "text", authenticator))
        for bit in 0 ..< 128 {
            var changed = code
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!holds(changed, "key", "text", authenticator))
        }
        #expect(!holds(code, "key", "text", Authenticator(.random())))
    }

    @Test("scrypt gives what RFC 7914 says of it")
    func scrypt() throws {
        let key = try Stretching.scrypt(logN: 14, r: 8, p: 1).key(from: Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8))
        #expect(hex(key.bytes) == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    }

    @Test("PBKDF2-SHA256 gives what another program says of it")
    func pbkdf2() throws {
        let key = try Stretching.pbkdf2(rounds: 210_000).key(
            from: Array("correct horse battery".utf8), salt: Array("salt of 16 bytes".utf8))
        #expect(hex(key.bytes) == "746e0df564b6a8b7c34493c6b8acbd468166785116f5b248fcc2c783355983cf")
    }

    @Test(
        "what would be weak, or take long, is refused before any of it is done",
        arguments: [
            Stretching.scrypt(logN: 13, r: 8, p: 1), .scrypt(logN: 63, r: 8, p: 1), .scrypt(logN: 20, r: 16, p: 1),
            .scrypt(logN: 17, r: 0, p: 1), .scrypt(logN: 17, r: 17, p: 1), .scrypt(logN: 17, r: 8, p: 0), .scrypt(logN: 17, r: 8, p: 5),
            .scrypt(logN: 19, r: 8, p: 1), .scrypt(logN: 17, r: 8, p: 3), .pbkdf2(rounds: 209_999), .pbkdf2(rounds: 2_000_001),
            .pbkdf2(rounds: 0),
        ])
    func bounds(stretching: Stretching) {
        let began = threadMicroseconds()
        #expect(throws: SealError.self) { try stretching.key(from: [1], salt: [2]) }
        #expect(threadMicroseconds() - began < 100_000)
    }
}

/// Microseconds for which this thread has had a processor, whatever else the machine does.
func threadMicroseconds() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
