import Bytes
import JSONText
import Testing

@Suite struct SpliceEditingTests {
    private let a = MemberName("a")
    private let b = MemberName("b")
    private let x = MemberName("x")

    private func edited(_ json: String, _ edit: (inout JSONEditor) throws -> Void) throws -> String {
        var splice = try loaded(json)
        try edit(&splice)
        if let fault = splice.fault { throw fault }
        return written(splice)
    }

    @Test("a text is compact where it was opened and as it was written elsewhere")
    func compaction() throws {
        let json = #" { "a" : { "n" : 1 } , "b" : [ 1, 2 ] } "#
        #expect(try edited(json) { _ in } == #"{"a":{ "n" : 1 },"b":[ 1, 2 ]}"#)
        #expect(try edited(json) { splice in _ = try node("/a/n", &splice) } == #"{"a":{"n":1},"b":[ 1, 2 ]}"#)
    }

    @Test("a new member goes to the end and a replaced one keeps its place and the spelling of its name")
    func set() throws {
        let json = #"{"\u0061":1,"b":2}"#
        #expect(try edited(json) { $0.set(x, of: $0.root, to: utf8(" [3] ").lent) } == #"{"\u0061":1,"b":2,"x":[3]}"#)
        #expect(try edited(json) { $0.set(a, of: $0.root, to: utf8("null").lent) } == #"{"\u0061":null,"b":2}"#)
        #expect(try edited("{}") { $0.attach($0.make(string: utf8("é\"\n").lent), as: x, to: $0.root) } == #"{"x":"é\"\n"}"#)
    }

    @Test("a renamed member keeps its place, and another of the new name goes")
    func rename() throws {
        let json = #"{"a":{"c":1},"b":2,"y":3}"#
        #expect(try edited(json) { try $0.rename(node("/a", &$0), to: x) } == #"{"x":{"c":1},"b":2,"y":3}"#)
        #expect(try edited(json) { try $0.rename(node("/y", &$0), to: a) } == #"{"b":2,"a":3}"#)
        #expect(try edited(json) { try $0.rename(node("/b", &$0), to: b) } == json)
    }

    @Test("a moved member goes to the end of its new parent with all that it holds")
    func move() throws {
        let json = #"{"a":{"c":{"d":[1]}},"b":{}}"#
        let moved = try edited(json) { splice in
            let member = try node("/a/c", &splice)
            splice.detach(member)
            splice.attach(member, as: x, to: try node("/b", &splice))
        }
        #expect(moved == #"{"a":{},"b":{"x":{"d":[1]}}}"#)
        let removed = try edited(json) { try $0.detach(node("/a", &$0)) }
        #expect(removed == #"{"b":{}}"#)
    }

    @Test("a copy does not follow what happens to its original")
    func copy() throws {
        let json = #"{"a":{"c":{"d":1}}}"#
        let copied = try edited(json) { splice in
            let original = try node("/a/c/d", &splice)
            splice.attach(splice.copy(try node("/a", &splice)), as: b, to: splice.root)
            splice.replace(original, with: utf8("2").lent)
            splice.rename(try node("/b/c", &splice), to: x)
        }
        #expect(copied == #"{"a":{"c":{"d":2}},"b":{"x":{"d":1}}}"#)
    }

    @Test("a value is wrapped in an array, and an array's first element takes its place")
    func wrapAndHead() throws {
        let json = #"{"a":{"c":1},"b":[{"d":2},3]}"#
        let wrapped = try edited(json) { splice in
            let member = try node("/a/c", &splice)
            splice.wrapInArray(try node("/a", &splice))
            splice.replace(member, with: utf8("9").lent)
            let array = try node("/b", &splice)
            let first = try found(splice.firstChild(of: array))
            splice.replace(array, withValueOf: first)
        }
        #expect(wrapped == #"{"a":[{"c":9}],"b":{"d":2}}"#)
    }

    @Test("an object is made as a member, or outside the text to be written by itself")
    func make() throws {
        var splice = try loaded(#"{"a":1,"b":[1,{"c":2}]}"#)
        splice.set(x, of: splice.makeObject(a, of: splice.root), to: utf8(#""in""#).lent)
        let whole = written(splice)
        #expect(whole == #"{"a":{"x":"in"},"b":[1,{"c":2}]}"#)
        let part = splice.makeObject()
        splice.attach(splice.copy(try node("/b", &splice)), as: b, to: part)
        splice.set(a, of: part, to: utf8("true").lent)
        var output = ByteBuffer()
        splice.write(part, into: &output)
        #expect(text(output.array()) == #"{"b":[1,{"c":2}],"a":true}"#)
    }

    @Test("a splice that is loaded again knows nothing of what it held")
    func reload() throws {
        var splice = try loaded(#"{"a":{"b":1}}"#)
        splice.set(x, of: splice.root, to: utf8("[1,2,3]").lent)
        try splice.load(utf8(#"{"b":2}"#).lent)
        let old = splice.member(x, of: splice.root)
        #expect(old == nil)
        let whole = written(splice)
        #expect(whole == #"{"b":2}"#)
    }
}
