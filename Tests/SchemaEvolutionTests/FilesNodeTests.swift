import JSONText
import SchemaEvolution
import Testing

@Test("a name with two letters swapped is found again")
func nearestName() {
    #expect(nearest(to: "requierd", among: ["required", "properties"]) == "required")
    #expect(nearest(to: "banana", among: ["required", "properties"]) == nil)
}

@Test("YAML that is written reads back as the same value")
func yamlRoundTrip() throws {
    let text = #"""
        {"a": [], "b": {}, "c": [[1, [2]], [], [{"x": {"y": [true, null]}}]], "true": "true", "1": "1", "d e": "a: b # c", "n": "",
         "deep": {"list": [{"on": "A", "do": [{"add": {"path": "/x", "value": {"z": [1.50, -2e3]}}}]}, {"y": "- x"}]},
         "odd": "\t\"\\\u0000\u0085\u2028\ufeff😀é", "long": ["\#(String(repeating: "word ", count: 40))"], "yes": "no", "<<": "*a", "p": "/a/b c"}
        """#
    let node = try FileReader.read(text: Array(text.utf8), file: "x.json")
    let yaml = node.json.yaml
    #expect(try FileReader.read(text: Array(yaml.utf8), file: "x.yaml").json == node.json, "\(yaml)")
}
