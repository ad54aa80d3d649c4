import Evstore
import Testing

@testable import EvstoreWeb

@Suite("Markup")
struct MarkupTests {
    @Test("what is interpolated is text, between tags and in attributes")
    func escaping() {
        let name = #"<b a='x' b="y">&"#
        let markup: Markup = "<p title=\"\(name)\">\(name)</p>"
        let text = "&lt;b a=&#39;x&#39; b=&quot;y&quot;&gt;&amp;"
        #expect(markup.text == "<p title=\"\(text)\">\(text)</p>")
    }

    @Test("markup in markup stays markup, and lists of it stand side by side")
    func nesting() {
        let items = ["a", "<"].map { "<li>\($0)</li>" as Markup }
        let none: Markup? = nil
        #expect(("<ul>\(items)\(none)</ul>" as Markup).text == "<ul><li>a</li><li>&lt;</li></ul>")
    }

    @Test(
        "what turns the direction of writing or commands a display is spelled out",
        arguments: ["\u{202e}", "\u{2066}", "\u{1b}", "\u{0}", "\u{85}"])
    func controls(_ text: String) throws {
        let scalar = try #require(text.unicodeScalars.first)
        let digits = String(scalar.value, radix: 16)
        let padded = String(repeating: "0", count: 4 - digits.count) + digits
        #expect(Markup.escaped("a\(text)b") == "a\\u\(padded)b")
    }

    @Test("numbers are grouped as people read them")
    func numbers() { #expect(("\(1_204_511)" as Markup).text == "1,204,511") }

    @Test(
        "JSON is broken into lines; its strings and numbers stay as they are spelled",
        arguments: [
            (
                #"{"a":1.50,"b":{},"c":[],"d":[1,{"e":"{,:}\""}]}"#,
                [
                    "{", #"  "a": 1.50,"#, #"  "b": {},"#, #"  "c": [],"#, #"  "d": ["#, "    1,", "    {", #"      "e": "{,:}\"""#,
                    "    }", "  ]", "}",
                ]
            ),
            (#""\\""#, [#""\\""#]), ("[ ]", ["[]"]), (#"{ "a" : "é" }"#, ["{", #"  "a": "é""#, "}"]),
        ])
    func lines(_ json: String, _ expected: [String]) { #expect(JSONLines(Array(json.utf8)).lines == expected) }

    @Test(
        "letters that are spelled as escapes are shown, and what turns or commands a display, ends a string or can't be seen stays",
        arguments: [
            (#""\u05d0\u00e9""#, "\"\u{5d0}é\""), (#""\ud83d\ude00!""#, "\"\u{1f600}!\""),
            (#""\u202e\u001b\u200b""#, #""\u202e\u001b\u200b""#),
            (#""\u0022\u005c\\u05d0""#, #""\u0022\u005c\\u05d0""#), (#""\ud83d\u0041\udE00""#, #""\ud83d\u0041\udE00""#),
            (#""\u05d""#, #""\u05d""#), (#""\uFFFF\u0378""#, #""\uFFFF\u0378""#),
        ])
    func letters(_ json: String, _ expected: String) { #expect(JSONLines(Array(json.utf8)).lines == [expected]) }

    @Test("of two texts the lines are marked that the other one has not; a comma that came behind a line is none")
    func differing() throws {
        let stored = JSONLines(Array(#"{"id":1,"words":"a","by":{"name":"x"}}"#.utf8))
        let image = JSONLines(Array(#"{"id":1,"text":"a","by":{"name":"x"},"new":[]}"#.utf8))
        let found = try #require(JSONLines.differing(stored, image))
        #expect(found.a == [2] && found.b == [2, 6])
        #expect(try #require(JSONLines.differing(stored, stored)).a.isEmpty)
        let shown = Markup.json(image, label: "x", marked: found.b).text
        #expect(shown.matches(of: #/<mark>/#).count == 2 && shown.contains("<mark>  &quot;text&quot;: &quot;a&quot;,</mark>"))
    }

    @Test("texts that only look alike differ")
    func alike() throws {
        let (one, other) = (JSONLines(Array("[\"\u{e9}\"]".utf8)), JSONLines(Array("[\"e\u{301}\"]".utf8)))
        #expect(try #require(JSONLines.differing(one, other)).a == [1])
    }

    @Test("a page compares so much and no more, and makes no row for which it has no room")
    func room() {
        func lines(_ numbers: Range<Int>) -> JSONLines { JSONLines(Array("\(numbers.map { $0 })".utf8)) }
        let (one, other) = (lines(0 ..< 1_400), lines(1_400 ..< 2_800))
        PageBudget.$current.withValue(PageBudget()) {
            let compared = (0 ..< 50).count { _ in JSONLines.differing(one, other) != nil }
            #expect(compared == 2)
            var made = 0
            let rows = (0 ..< 1_000).lazy.map { number -> [Markup] in
                made += 1
                return ["\(String(repeating: "x", count: 100_000)) \(number)"]
            }
            let table = Markup.table("Rows", ["Row"], rows, empty: "")
            #expect(made < 25 && table.text.contains("no room for"), "\(made)")
        }
        #expect(JSONLines.differing(one, other) != nil)
    }

    @Test("what went wrong is shown with what to do next")
    func failure() {
        let shown = Markup.failure(EvstoreError.usage("<that> is wrong", fix: "do \"this\"")).text
        #expect(shown.contains("&lt;that&gt; is wrong") && shown.contains("do &quot;this&quot;"))
    }

    @Test("of a text whose lines take more than is shown, the rest is counted", arguments: [1, 58])
    func rest(_ depth: Int) {
        let text = Array((String(repeating: "[", count: depth) + String(repeating: "1,", count: 500_000)).utf8)
        let lines = JSONLines(text)
        let shown = lines.lines.reduce(0) { $0 + $1.utf8.count + 1 }
        #expect(lines.rest > 0 && (JSONLines.bytesMax ..< JSONLines.bytesMax + 500).contains(shown))
    }
}
