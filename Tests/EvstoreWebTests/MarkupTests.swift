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
    func lines(_ json: String, _ expected: [String]) { #expect(JSONLines.lines(of: Array(json.utf8)) == expected) }
}
