import Bytes
import JSONText
import Testing

@Suite struct ScannerTableTests {
    static let accepted = [
        "{}", "[]", "0", "-0", "1", "-1", "123", "0.5", "-0.5", "1e5", "1E5", "1e+5", "1e-5", "1.25e-7", "10", "0e1", "0.0",
        "123456789012345678901234567890", "true", "false", "null", #""""#, #""a""#, " 1 ", "\t[\r\n1 , 2\n]\r",
        #"{"a":1,"b":[true,null,{"c":"d"}]}"#, #"{"":0}"#, #"{"a":{"a":1}}"#, #"[{"a":1},{"a":2}]"#, #"{"a":1,"A":2}"#,
        #""\"\\\/\b\f\n\r\t""#, #""\u0000""#, #""\u001f\u00E9\u20aC""#, #""\ud83d\ude00""#, #""\uD834\uDD1E""#, #""\uFFFF""#,
        #""é漢😀""#, "\"\u{7F}\"", "\"\u{80}\"", "\"\u{7FF}\u{800}\u{FFFD}\u{10000}\u{10FFFF}\"", #"{"\u00e9":1,"e":2}"#,
        "[[[[[[[[]]]]]]]]", "[1,[2,[3]]]", #"["12345678","1234567","123456789"]"#,
    ]

    @Test("texts that RFC 8259 allows are accepted", arguments: accepted)
    func accepts(_ json: String) { #expect(refusal(json) == nil) }

    static let refused = [
        "", " ", "{", "}", "[", "]", "[1", "[1,", "[,1]", "[1,]", "[1 2]", "[1,,2]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a" 1}"#,
        #"{"a":1 "b":2}"#, #"{"a":1,,"b":2}"#, "{a:1}", "{'a':1}", "{1:1}", #"{"a":1]"#, #"[1}"#, "[1]]", "{}{}", "1 2", "nul", "nulll",
        "True", "tru", "fals", "falsey", "+1", ".5", "5.", "-", "--1", "-a", "01", "-01", "00", "1.e1", "1e", "1e+", "1e1.5", "0x10", "1_0",
        "NaN", "Infinity", "-Infinity", "1e1234567890", "\"", #""a"#, #""\"#, #""\""#, #""\x41""#, #""\a""#, #""\'""#, #""\u12""#,
        #""\u12G4""#, #""\U0041""#, #""\ud83d""#, #""\ude00""#, #""\ud83d\u0041""#, #""\ud83dx""#, #""\ud83d\ud83d""#, #""\ude00\ud83d""#,
        "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"", "\"\u{1F}\"", "'a'", "// c\n1", "/* c */1", "1 # c", "\u{A0}1", "\u{FEFF}1", "\u{C}1", "\u{0}",
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#, #"{"x":{"b":1,"a":2,"b":3}}"#,
        #"{"":1,"":2}"#, #"{"a\/b":1,"a/b":2}"#,
    ]

    @Test("texts that RFC 8259 does not allow, or that repeat a name, are refused", arguments: refused)
    func refuses(_ json: String) { #expect(refusal(json) != nil) }

    static let wrongUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x22], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
        [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x22], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ]

    @Test("strings that are no valid UTF-8 are refused, at any place in a word", arguments: wrongUTF8)
    func refusesWrongUTF8(_ bytes: [UInt8]) {
        for padding in 0 ..< 9 {
            let quoted = [0x22] + [UInt8](repeating: 0x61, count: padding) + bytes + [0x22]
            #expect(!isAccepted(quoted))
            #expect(!isAccepted(quoted + [UInt8](repeating: 0x20, count: 9)))
        }
    }

    @Test("every beginning of a valid text is refused unless it is whole itself")
    func truncated() {
        let whole = utf8(#"{"a":[1.5e3,"é\ud83d\ude00",true,false,null],"bcdefghijk":{"l":-0}}"#)
        for count in 0 ..< whole.count { #expect(!isAccepted(Array(whole.prefix(count)))) }
        #expect(isAccepted(whole))
    }

    @Test("an error says what was expected and at which byte")
    func errors() {
        #expect(refusal(#"{"a" 1}"#) == JSONError("a colon was expected", at: 5))
        #expect(refusal("[1,]") == JSONError("a value was expected", at: 3))
        #expect(refusal(#"{"é":1,"é":2}"#)?.offset == 8)
        #expect(refusal("[1] x")?.description == "the end of the text was expected, at byte 4")
    }

    @Test("the scanner returns the kind of the root value")
    func kinds() throws {
        let texts = ["{}": JSONKind.object, " []": .array, "\"\"": .string, "-1": .number, "true": .true, "false": .false, "null": .null]
        for (json, kind) in texts { #expect(try JSONScanner.validate(utf8(json).lent) == kind) }
    }
}
