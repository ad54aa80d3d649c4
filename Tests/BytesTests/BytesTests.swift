import Bytes
import Hashing
import Testing

@Suite("Bytes and digests")
struct BytesTests {
    @Test("spans sort byte by byte as unsigned numbers, then by length")
    func comparing() {
        let texts = ["", "a", "aa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "ab", "b", "\u{ff}"].map { Array($0.utf8) }
        for (i, a) in texts.enumerated() {
            for (j, b) in texts.enumerated() {
                let order = a.lent.compare(b.lent)
                #expect((order < 0) == (i < j) && (order == 0) == (i == j), "\(a) \(b)")
                let same = a.lent.equals(b.lent)
                #expect(same == (i == j))
            }
        }
    }

    @Test("a buffer gives back what was written, in order, after it has grown and been cut")
    func buffering() {
        var buffer = ByteBuffer(capacity: 16)
        var expected: [UInt8] = []
        for number in 0 ..< 100 {
            buffer.append(littleEndian: UInt32(number))
            buffer.append("é")
            expected += [UInt8(number), 0, 0, 0, 0xc3, 0xa9]
        }
        buffer.append(copyOf: 0, 6)
        buffer.store(littleEndian: UInt16(0xabcd), at: 0)
        expected += expected.prefix(6)
        expected.replaceSubrange(0 ..< 2, with: [0xcd, 0xab])
        #expect(buffer.array() == expected)
        buffer.truncate(to: 6)
        #expect(buffer.array() == Array(expected.prefix(6)))
        let first = buffer.bytes.load(UInt16.self, at: 0)
        #expect(first == 0xabcd)
    }

    @Test("text from bytes that are not UTF-8 is nil")
    func strictText() {
        func text(_ bytes: [UInt8]) -> String? { String(utf8: bytes.lent) }
        #expect(text([0x61, 0xff]) == nil)
        #expect(text([0xed, 0xa0, 0x80]) == nil)
        #expect(text(Array("aé€😀".utf8)) == "aé€😀")
    }

    @Test("hexadecimal goes both ways, and only even digits are hexadecimal")
    func hexadecimal() {
        let all = (0 ... 255).map { UInt8($0) }
        #expect(bytes(hex: hex(all)) == all)
        #expect(bytes(hex: "ABcd") == [0xab, 0xcd])
        #expect(bytes(hex: "abc") == nil && bytes(hex: "zz") == nil)
    }

    @Test("SHA-256 and XXH3 give their published values")
    func published() {
        #expect(SHA256Hasher.hash("abc").hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let empty: [UInt8] = []
        let sum = checksum(empty.lent)
        #expect(sum == 0x2d06_8005_38d3_94c2)
    }

    @Test("the digest of a set does not depend on order, and taking a row out undoes putting it in")
    func setDigests() {
        let rows = (0 ..< 50).map { (Array("key\($0)".utf8), Array("value\($0 * $0)".utf8)) }
        var forwards = SetDigest()
        var backwards = SetDigest()
        for (key, value) in rows { forwards.insert(key: key.lent, value: value.lent) }
        for (key, value) in rows.reversed() { backwards.insert(key: key.lent, value: value.lent) }
        #expect(forwards.digest == backwards.digest && forwards.digest != SetDigest().digest)
        for (key, value) in rows { forwards.remove(key: key.lent, value: value.lent) }
        #expect(forwards.digest == SetDigest().digest)
        #expect(SetDigest(backwards.digest).digest == backwards.digest)
    }
}
