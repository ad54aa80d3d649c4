import Bytes
import JSONText
import Testing

@Suite struct ScannerLimitsTests {
    private func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test("64 open containers are accepted and 65 are not")
    func depth() {
        #expect(refusal(nested(64)) == nil)
        #expect(refusal(nested(65)) == JSONError("a text of at most 64 open containers was expected", at: 64))
        let objects = String(repeating: #"{"a":"#, count: 64) + "1" + String(repeating: "}", count: 64)
        #expect(refusal(objects) == nil)
        #expect(refusal(#"{"a":\#(objects)}"#) != nil)
    }

    @Test("no limit allows more than the deepest text")
    func deepest() {
        let limits = JSONLimits(depth: .max)
        #expect(refusal(nested(JSONLimits.deepest), limits: limits) == nil)
        #expect(refusal(nested(JSONLimits.deepest + 1), limits: limits) != nil)
    }

    @Test("members are counted through the whole text")
    func members() {
        let limits = JSONLimits(members: 3)
        #expect(refusal(#"{"a":{"b":1},"c":2}"#, limits: limits) == nil)
        #expect(refusal(#"{"a":{"b":1},"c":2,"d":3}"#, limits: limits) != nil)
    }

    @Test("a text has at most so many bytes")
    func bytes() {
        #expect(refusal("[1]", limits: JSONLimits(bytes: 3)) == nil)
        #expect(refusal("[1] ", limits: JSONLimits(bytes: 3)) != nil)
    }

    @Test("a repeated name is found in an object of thousands, at its second place")
    func manyMembers() {
        var names = (0 ..< 5_000).map { "\"n\($0)\":0" }
        #expect(refusal("{" + names.joined(separator: ",") + "}") == nil)
        names[3_000] = #""n\u0031\u0037":0"#
        let json = "{" + names.joined(separator: ",") + "}"
        let offset = "{".utf8.count + names[..<3_000].joined(separator: ",").utf8.count + 1
        #expect(refusal(json)?.offset == offset)
    }

    @Test("an inner object's names do not count for the outer one, whatever their number")
    func innerNames() {
        let inner = "{" + (0 ..< 40).map { "\"n\($0)\":0" }.joined(separator: ",") + "}"
        #expect(refusal(#"{"n1":\#(inner),"n2":\#(inner)}"#) == nil)
        #expect(refusal(#"{"n1":\#(inner),"n1":0}"#) != nil)
    }
}
