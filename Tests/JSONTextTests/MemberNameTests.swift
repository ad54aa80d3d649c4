import JSONText
import Testing

@Suite struct MemberNameTests {
    @Test("names are the same when their bytes are, whatever Unicode calls equivalent")
    func bytesDecide() {
        #expect(MemberName("a") == MemberName("a"))
        #expect(MemberName("\u{E9}") != MemberName("e\u{301}"))
    }

    @Test("a name is quoted once, with the fewest escapes")
    func quoted() {
        #expect(String(decoding: MemberName("a\"b\u{1}").quoted, as: UTF8.self) == "\"a\\\"b\\u0001\"")
    }
}
