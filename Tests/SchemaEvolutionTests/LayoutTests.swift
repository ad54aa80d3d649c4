import EventModel
import SchemaTools
import Testing

@testable import SchemaEvolution

private func formatted(_ text: String, file: String = "v2.yaml", as form: FileLayout.Form = .yaml) throws -> String {
    try FileLayout.format(Array(text.utf8), file: file, as: form)
}

private let crooked = """
    # About the file.
    evstore:   1   # its format
    version: 2


    upcast: [{on: A, do: [{move: {from: /a,path: /b}}]}]   # one step
    events:
         A:
            required: [b,   'on']
            # The name.
            properties:
                b: {type: string}
                "on":   {type: string, description: 'it''s # no comment'}
    """

@Test("a file gets one layout; its comments, values and quotes stay")
func layout() throws {
    let expected = """
        # About the file.
        evstore: 1  # its format
        version: 2

        upcast:  # one step
          - on: A
            do:
              - move: {from: /a, path: /b}
        events:
          A:
            required: [b, "on"]
            # The name.
            properties:
              b:    {type: string}
              "on": {type: string, description: "it's # no comment"}

        """
    #expect(try formatted(crooked) == expected)
}

@Test("a layout is laid out already")
func idempotent() throws {
    let once = try formatted(crooked)
    #expect(try formatted(once) == once)
}

@Test("YAML becomes JSON and comes back with the same digest")
func forms() throws {
    let plain = "evstore: 1\nversion: 2\nevents:\n  A: {required: [b, 'on'], properties: {b: {type: string}, 'on': {type: string}}}\n"
    let json = try formatted(plain, as: .json)
    let back = try formatted(json, file: "v2.json")
    let digest = try VersionFile(text: Array(plain.utf8), file: "v2.yaml").digest
    #expect(try VersionFile(text: Array(json.utf8), file: "v2.json").digest == digest)
    #expect(try VersionFile(text: Array(back.utf8), file: "v2.yaml").digest == digest)
    #expect(try formatted(back) == back)
}

@Test("JSON is refused where comments would be lost")
func comments() throws {
    #expect(throws: EvstoreError.self) { try formatted(crooked, as: .json) }
    #expect(try FileLayout.format(Array(crooked.utf8), file: "v2.yaml", as: .json, droppingComments: true).hasPrefix("{"))
}
