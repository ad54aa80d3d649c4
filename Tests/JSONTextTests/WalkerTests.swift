import Bytes
import JSONText
import TestSupport
import Testing

@Suite("The walker over text that was validated")
struct WalkerTests {
    @Test("it finds every value where a reader of one byte after another does, with nothing behind the text")
    func likeByteWise() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for number in 0 ..< 2_000 {
            let text = Self.gap(&random) + Self.value(&random, depth: 3) + Self.gap(&random)
            let bytes = Array(text.utf8)
            _ = try JSONScanner.validate(bytes.lent)
            var (slow, found) = (ByteReader(bytes), [Range<Int>]())
            slow.value()
            var walk = JSONWalker(bytes.lent)
            walk.skipSpaces()
            Self.values(&walk, into: &found)
            #expect(found == slow.found && !walk.isMalformed, "seed \(seed), text \(number): \(text)")
            var whole = JSONWalker(bytes.lent)
            whole.skipSpaces()
            let extent = whole.skipValue()
            #expect(extent.start ..< extent.end == slow.found.last, "seed \(seed), text \(number): \(text)")
        }
    }

    @Test("text that is cut off or changed anywhere ends the walk, and nothing outside it is read")
    func malformed() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< 300 {
            let bytes = Array(Self.value(&random, depth: 3).utf8)
            for end in bytes.indices {
                var changed = bytes
                changed[end] =
                    [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "["), UInt8(ascii: "}"), 0].randomElement(using: &random) ?? 0
                for text in [Array(bytes[..<end]), changed] {
                    var found: [Range<Int>] = []
                    var walk = JSONWalker(text.lent)
                    Self.values(&walk, into: &found)
                    if !walk.isMalformed { #expect(found.allSatisfy { $0.upperBound <= text.count }, "seed \(seed)") }
                }
            }
        }
    }

    @Test("a walker that is lost stays so")
    func lost() {
        let text = Array(#"{"a":tru,"b":1}"#.utf8)
        var walk = JSONWalker(text.lent)
        var names = 0
        let isObject = walk.enterObject()
        while walk.nextName() != nil {
            names += 1
            _ = walk.skipValue()
        }
        let isInside = walk.enterObject() || walk.enterArray() || walk.nextElement() || walk.skipNull()
        let (byte, isMalformed) = (walk.byte, walk.isMalformed)
        #expect(isObject && names == 1 && isMalformed && byte == 0 && !isInside)
    }

    @Test("a value is written without the spaces between its tokens, and pointers find what a splice finds")
    func compactAndPicked() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let pointers = try ["/a", "/a/b", "/b/a", "/long name of a member/b"].map { try JSONPointer($0) }
        let picker = PointerPicker(pointers)
        for _ in 0 ..< 1_000 {
            let text = Self.value(&random, depth: 3)
            var compact = ByteBuffer()
            var found = UniqueArray<ByteSlice>(capacity: 4)
            appendCompact(Array(text.utf8).lent, into: &compact)
            #expect(compact.array() == ByteReader.compact(Array(text.utf8)), "seed \(seed): \(text)")
            picker.pick(Array(text.utf8).lent, into: &found)
            var splice = JSONEditor()
            try splice.load(Array(text.utf8).lent)
            for (index, pointer) in pointers.enumerated() {
                let expected = splice.find(pointer, from: splice.root).map { node in
                    var output = ByteBuffer()
                    splice.write(node, into: &output)
                    return ByteReader.compact(output.array())
                }
                let slice = found[index]
                let picked = slice.isPresent ? ByteReader.compact(Array(Array(text.utf8)[slice.start ..< slice.start + slice.size])) : nil
                #expect(picked == expected, "seed \(seed), \(pointer): \(text)")
            }
        }
    }

    /// Goes through the value that begins here; where it and all that it holds stand, each behind what it holds.
    private static func values(_ walk: inout JSONWalker, into found: inout [Range<Int>]) {
        let start = walk.offset
        if walk.enterObject() {
            while walk.nextName() != nil { values(&walk, into: &found) }
        } else if walk.enterArray() {
            while walk.nextElement() { values(&walk, into: &found) }
        } else {
            _ = walk.skipValue()
        }
        if !walk.isMalformed { found.append(start ..< walk.offset) }
    }

    private static func gap(_ random: inout SeededGenerator) -> String {
        Int.random(in: 0 ..< 4, using: &random) == 0
            ? [" ", "\n   ", String(repeating: " ", count: 20)].randomElement(using: &random) ?? "" : ""
    }

    private static func value(_ random: inout SeededGenerator, depth: Int) -> String {
        switch Int.random(in: 0 ..< (depth > 0 ? 8 : 5), using: &random) {
        case 0: return ["true", "false", "null"].randomElement(using: &random) ?? "null"
        case 1: return ["0", "-1", "12345678901234567890.5e+10", "7"].randomElement(using: &random) ?? "0"
        case 2, 3, 4:
            let letters = (0 ..< Int.random(in: 0 ... 40, using: &random)).map { _ in
                ["x", "ü", #"\""#, #"\\"#, #"\u0041"#, "]", "}", "{", ",", " ", "日"].randomElement(using: &random) ?? "x"
            }
            return "\"\(letters.joined())\""
        case 5:
            let elements = (0 ..< Int.random(in: 0 ... 4, using: &random)).map { _ in
                gap(&random) + value(&random, depth: depth - 1) + gap(&random)
            }
            return "[\(elements.isEmpty ? gap(&random) : elements.joined(separator: ","))]"
        default:
            let names = ["a", "b", "long name of a member", #"esc\"aped"#].shuffled(using: &random).prefix(
                Int.random(in: 0 ... 4, using: &random))
            let members = names.map {
                "\(gap(&random))\"\($0)\"\(gap(&random)):\(gap(&random))\(value(&random, depth: depth - 1))\(gap(&random))"
            }
            return "{\(members.isEmpty ? gap(&random) : members.joined(separator: ","))}"
        }
    }
}

/// Reads a sound text one byte after another.
private struct ByteReader {
    let text: [UInt8]
    var offset = 0
    var found: [Range<Int>] = []

    init(_ text: [UInt8]) { self.text = text }

    mutating func value() {
        spaces()
        let start = offset
        switch text[offset] {
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            let isObject = text[offset] == UInt8(ascii: "{")
            offset += 1
            spaces()
            while text[offset] != UInt8(ascii: "]"), text[offset] != UInt8(ascii: "}") {
                if isObject {
                    string()
                    spaces()
                    offset += 1
                }
                value()
                spaces()
                if text[offset] == UInt8(ascii: ",") { offset += 1 }
                spaces()
            }
            offset += 1
        default: while offset < text.count, !Array(",]} \n".utf8).contains(text[offset]) { offset += 1 }
        }
        found.append(start ..< offset)
    }

    private mutating func string() {
        offset += 1
        while text[offset] != UInt8(ascii: "\"") { offset += text[offset] == UInt8(ascii: "\\") ? 2 : 1 }
        offset += 1
    }

    private mutating func spaces() { while offset < text.count, text[offset] <= 0x20 { offset += 1 } }

    static func compact(_ text: [UInt8]) -> [UInt8] {
        var (output, isInString, isEscaped): ([UInt8], Bool, Bool) = ([], false, false)
        for byte in text where isInString || byte > 0x20 {
            output.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            }
        }
        return output
    }
}
