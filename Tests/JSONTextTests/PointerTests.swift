import JSONText
import Testing

@Suite struct PointerTests {
    @Test("the tokens of RFC 6901 are read and written")
    func tokens() throws {
        let pointers = [
            ("", []), ("/", [""]), ("/a", ["a"]), ("/a/b", ["a", "b"]), ("/a~1b/m~0n", ["a/b", "m~n"]), ("/~01", ["~1"]), ("/é", ["é"]),
            ("//", ["", ""]),
        ]
        for (text, tokens) in pointers {
            let pointer = try JSONPointer(text)
            #expect(pointer.tokens.map(\.text) == tokens)
            #expect(pointer.description == text)
        }
    }

    @Test("text that is no pointer is refused", arguments: ["a", "a/b", "/~", "/a~2", "/~/a"])
    func refused(_ text: String) {
        #expect(throws: JSONError.self) { try JSONPointer(text) }
    }

    @Test("a pointer knows its parent, its last token and what lies within it")
    func family() throws {
        let pointer = try JSONPointer("/a/b")
        #expect(try pointer.parent == JSONPointer("/a"))
        #expect(pointer.last == MemberName("b"))
        #expect(try JSONPointer("").parent == nil)
        #expect(try pointer.appending("c/d") == JSONPointer("/a/b/c~1d"))
        #expect(try pointer.hasPrefix(JSONPointer("/a")) && pointer.hasPrefix(pointer))
        #expect(try !pointer.hasPrefix(JSONPointer("/a/bc")) && !JSONPointer("/a").hasPrefix(pointer))
    }
}
