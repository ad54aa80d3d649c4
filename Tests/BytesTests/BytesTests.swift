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
        buffer.removeFirst(2)
        #expect(buffer.array() == Array(expected[2 ..< 6]))
    }

    @Test("each line break becomes a space, wherever it stands")
    func oneLine() {
        for text in ["", "\n", "{\"a\":1}", "{\r\n  \"name\": \"no break in it\",\n\n  \"b\": 2\n}\r", "0123456\n89abcdef\r"] {
            var buffer = ByteBuffer()
            buffer.append(onOneLine: Array(text.utf8).lent)
            let expected = text.utf8.map { $0 == 10 || $0 == 13 ? 32 : $0 }
            #expect(buffer.array() == expected)
        }
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

/// Decimal digits beside what the standard library makes of them.
@Suite struct DigitsTests {
    @Test("integers are written as the standard library writes them, and read back")
    func roundTrip() {
        var numbers = [0, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 99_999_999, 100_000_000, 999_999_999_999_999_999]
        // Of all lengths, and the same in every run.
        for index in 0 ..< UInt64(10_000) { numbers.append(Int((index &* 0x9E37_79B9_7F4A_7C15) >> (5 + index % 58))) }
        for number in numbers + numbers.map({ -$0 }) {
            var text = ByteBuffer()
            text.append(integer: number)
            #expect(String(utf8: text.bytes) == String(number))
            #expect(text.bytes.plainInteger == number)
        }
        var widest = ByteBuffer()
        widest.append(digits: .max)
        widest.append(digits: 7, width: 4)
        #expect(String(utf8: widest.bytes) == "184467440737095516150007")
    }

    @Test(
        "other text is no plain integer",
        arguments: ["", "-", "+1", "1.5", "1e3", "12345678x", "1234567/", "1234567:", "1 ", "1234567890123456789"])
    func others(text: String) {
        #expect(Array(text.utf8).lent.plainInteger == nil)
    }

    @Test("one byte that is no digit is found among eight, wherever it stands")
    func eachByte() {
        for offset in 0 ..< 8 {
            for byte in UInt8.min ... .max where !(48 ... 57).contains(byte) && !(offset == 0 && byte == 45) {
                var text = Array("12345678".utf8)
                text[offset] = byte
                #expect(text.lent.plainInteger == nil)
            }
        }
    }

    @Test("sixteen bytes, and a word, are the text's with zeros behind it, at any place of a text of any size")
    func zerosBehind() {
        for size in 0 ... 40 {
            let bytes = (0 ..< size).map { UInt8(truncatingIfNeeded: $0 * 37 + 129) }
            for offset in -2 ... size + 20 {
                func byte(_ index: Int) -> UInt8 { bytes.indices.contains(offset + index) ? bytes[offset + index] : 0 }
                // A place before the text is outside of it as a whole.
                let expected = (0 ..< 16).map { offset < 0 ? 0 : byte($0) }
                let found = bytes.lent.sixteenOrZeros(at: offset)
                #expect((0 ..< 16).map { found[$0] } == expected, "\(size) bytes, at \(offset)")
                if offset < 0 { continue }
                let word = bytes.lent.loadOrZeros(UInt32.self, at: offset)
                #expect(word == (0 ..< 4).reduce(0) { $0 | UInt32(byte($1)) << UInt32($1 * 8) }, "\(size) bytes, at \(offset)")
            }
        }
    }
}
