import EvstoreTesting
import TestSupport
import Testing

@Suite("What the program says of old data")
struct AdoptionWordsTests {
    @Test("data whose stream nothing names is adopted, and the import says of which line and why, in words")
    func unnamed() throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            """
            evstore: 1
            version: 1
            adopt:
              - {when: {path: /kind, equals: star}, as: Starred, stream: "of-{/who}", keep: [/n]}
              - otherwise: quarantine
            events: {Starred: {properties: {n: {type: integer}}}}
            """, to: "schemas/v1.yaml")
        let lines = [#"{"kind":"star","who":"Ann","n":1}"#, #"{"kind":"star","n":2}"#]
        let file = try directory.write(lines.joined(separator: "\n") + "\n", to: "old.jsonl")
        let (program, store) = (BuiltProgram(), directory.path + "/store")
        let made = try program.run("import", file, "--as", "0", "--store", store, "--schemas", directory.path + "/schemas")
        #expect(made.exit == 0 && !made.errors.contains("kept raw"), "\(made.errors)")
        let reason = "/who should be a value that names the stream, found nothing"
        #expect(made.output.contains("; 1 whose stream stays $unknown (line 2: adopted as Starred, and \(reason))\n"), "\(made.output)")
        #expect(try program.run("plan", "--to", "v1", "--store", store).output.contains("; 1 whose stream stays $unknown (of the sample)"))
        let again = try program.run("import", file, "--as", "0", "--store", store, "--again", "--json", "--dry-run")
        #expect(
            again.output.contains(
                #""unnamed":1,"unnamedLines":[{"line":2,"type":"Starred","pointer":"/who","reason":"should be a value that"#),
            "\(again.output)")
    }
}
