import Bytes
import JSONText
import Testing

@Suite struct SpliceReadingTests {
    @Test("members are found by name however the text spells them")
    func names() throws {
        var splice = try loaded(#"{"a":1,"\u0062":2,"eightbyt":3,"nine byte":4,"":5,"c\/d":6}"#)
        for (name, value) in [("a", "1"), ("b", "2"), ("eightbyt", "3"), ("nine byte", "4"), ("", "5"), ("c/d", "6")] {
            let node = try found(member(name, &splice), name)
            let text = String(utf8: splice.text(of: node))
            #expect(text == value)
            let spelled = splice.name(of: node)
            #expect(spelled == name)
        }
        for name in ["A", "aa", "eightby", "eightbyu", "nine bytf", "nine"] {
            let none = member(name, &splice)
            #expect(none == nil)
        }
    }

    @Test("a pointer is followed through objects only")
    func find() throws {
        var splice = try loaded(#"{"a":{"b":[{"c":1}]}}"#)
        let array = try node("/a/b", &splice)
        let kind = splice.kind(array)
        let element = try splice.find(JSONPointer("/a/b/0"), from: splice.root)
        let same = try splice.find(JSONPointer(""), from: array)
        let above = splice.parent(of: splice.root)
        #expect(kind == .array && element == nil && same == array && above == nil)
    }

    @Test("children come in order and are counted")
    func children() throws {
        var splice = try loaded(#" [ 1 , "x" , {"a":null} , [ ] , true ] "#)
        var kinds: [JSONKind] = []
        var child = splice.firstChild(of: splice.root)
        while let node = child {
            kinds.append(splice.kind(node))
            child = splice.next(after: node)
        }
        #expect(kinds == [.number, .string, .object, .array, .true])
        let count = splice.count(of: splice.root)
        #expect(count == 5)
        let empty = written(try loaded("{ }"))
        #expect(empty == "{}")
    }

    @Test("a string is decoded with its escapes")
    func strings() throws {
        var splice = try loaded(#"{"s":"12345678\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀","n":1}"#)
        let string = splice.string(try node("/s", &splice))
        #expect(string == "12345678\"\\/\u{8}\u{C}\n\r\té😀é😀")
        let number = splice.string(try node("/n", &splice))
        #expect(number == nil)
    }

    @Test("a value equals a constant when it means the same")
    func equality() throws {
        var splice = try loaded(#"{"n":1.0,"s":"\u0061","o":{ "b":1, "a":[] },"t":true}"#)
        func equals(_ name: String, _ json: String) throws -> Bool {
            splice.equals(try found(member(name, &splice)), utf8(json).lent)
        }
        #expect(try equals("n", "1") && equals("s", "\"a\"") && equals("o", #"{"a":[],"b":1}"#) && equals("t", "true"))
        #expect(try !equals("n", "2") && !equals("s", "1") && !equals("o", "{}") && !equals("t", "false") && !equals("t", ""))
        _ = try splice.find(JSONPointer("/o/a"), from: splice.root)
        #expect(try equals("o", #"{"a":[],"b":1}"#))
    }

    @Test("a root that is no container is a value like others")
    func scalarRoot() throws {
        var splice = try loaded(" \"x\" ")
        let string = splice.string(splice.root)
        let isEmpty = splice.isEmpty(splice.root)
        let whole = written(splice)
        #expect(string == "x" && isEmpty && whole == "\"x\"")
    }

    @Test(
        "malformed text is an error of the load",
        arguments: ["", "{", "[1,]", #"{"a":}"#, #"{"a":[1}"#, "{}x", #"["\"#, #"["a"#, "tru"])
    func malformed(_ json: String) {
        var splice = JSONEditor()
        #expect(throws: JSONError.self) { try splice.load(utf8(json).lent) }
    }

    @Test("text that is malformed within a value is an error when that is opened")
    func malformedWithin() throws {
        var splice = try loaded(#"{"a":{"b" 1}}"#)
        let node = try found(member("a", &splice))
        let before = splice.fault
        let child = splice.firstChild(of: node)
        let after = splice.fault
        #expect(before == nil && child == nil && after != nil)
    }

    @Test("malformed text that an edit inserts has no children and is an error")
    func fault() throws {
        var splice = try loaded("{}")
        let node = splice.set(MemberName("a"), of: splice.root, to: utf8(#"{"b":1"#).lent)
        let before = splice.fault
        let child = splice.firstChild(of: node)
        let after = splice.fault
        #expect(before == nil && child == nil && after != nil)
        try splice.load(utf8("{}").lent)
        let reloaded = splice.fault
        #expect(reloaded == nil)
    }
}
