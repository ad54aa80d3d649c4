import EvstoreTesting
import TestSupport
import Testing

@Suite("Linting where data of persons stands")
struct PersonalLintTests {
    private static let v1 = """
        evstore: 1
        version: 1
        events:
          Joined:
            stream: "member-{/id}"
            required: [id, person]
            properties:
              id: {type: string}
              person:
                type: object
                personal: true
                required: [mail]
                properties:
                  mail: {type: string}
              friends:
                type: array
                items: {type: object, required: [mail, since], properties: {mail: {type: string, personal: true}, since: {type: string}}}
        """

    private static let v2 =
        v1.replacing(
            "version: 1", with: "version: 2\nupcast:\n  - on: Joined\n    do:\n      - add: {path: /phone, from: $metadata/phone}\n"
        )
        .replacing("      friends:", with: "      phone: {type: string, personal: true}\n      friends:")

    private static func projections(key: String, each: String = "") -> String {
        """
        evstore: 1
        projections:
          members:
            - since: 1
              key: \(key)
              on:
                Joined: {\(each)set: {/since: {value: 1}}}
        """
    }

    private func lint(_ v1: String, _ projections: String, v2: String? = nil) throws -> [String] {
        let shop = try Shop()
        try shop.write("persons/v1.yaml", v1)
        if let v2 { try shop.write("persons/v2.yaml", v2) }
        try shop.write("persons/projections.yaml", projections)
        let outcome = try shop.must("schema lint --schemas \(shop.path("persons"))")
        return outcome.lines.filter { $0.contains("PERS401") }.map { $0.replacing(shop.path("persons") + "/", with: "") }
    }

    @Test("a personal member that names a stream is a warning, also within what is personal")
    func streams() throws {
        #expect(try lint(Self.v1, Self.projections(key: "/id")) == [])
        let named = Self.v1.replacing("member-{/id}", with: "member-{/person/mail}")
        let found = try lint(named, Self.projections(key: "/id"))
        #expect(found.count == 1 && found[0].hasPrefix("v1.yaml:4:3: warning PERS401: Joined: /person/mail"), "\(found)")
    }

    @Test(
        "a personal member in the key of a row is a warning, in any form of a key",
        arguments: [
            ("/id", "", false), ("/person/mail", "", true), ("\"{/id}-{/person/mail}\"", "", true),
            ("$item/mail", "each: /friends, ", true),
            ("$item/since", "each: /friends, ", false), ("$stream", "", false),
        ])
    func keys(_ key: String, _ each: String, _ isFound: Bool) throws {
        let found = try lint(Self.v1, Self.projections(key: key, each: each))
        #expect(found.count == (isFound ? 1 : 0), "\(found)")
        #expect(found.allSatisfy { $0.hasPrefix("projections.yaml:5:12: warning PERS401: members: ") }, "\(found)")
    }

    @Test("a personal member that comes from metadata is a warning")
    func metadata() throws {
        let found = try lint(Self.v1, Self.projections(key: "/id"), v2: Self.v2)
        #expect(found.count == 1 && found[0].contains("PERS401: Joined: /phone is personal and comes from metadata/phone"), "\(found)")
    }

    @Test("a step that can't convert what is left of a forgotten member is a warning, and one that can is none")
    func unforgettable() throws {
        func version(_ number: Int, _ type: String, _ step: String = "") -> String {
            let members = "id: {type: string}, age: {type: \(type), personal: true}"
            let shape = "{stream: \"member-{/id}\", required: [id, age], properties: {\(members)}}"
            return "evstore: 1\nversion: \(number)\n\(step)events: {Joined: \(shape)}\n"
        }
        let step = "upcast: [{on: Joined, do: [{convert: {path: /age, to: integer, using: integer-text}}]}]\n"
        for (second, isFound) in [(version(2, "integer", step), true), (version(2, "string"), false)] {
            let shop = try Shop()
            try shop.write("persons/v1.yaml", version(1, "string"))
            try shop.write("persons/v2.yaml", second)
            let lines = try shop.must("schema lint --schemas \(shop.path("persons"))").lines.filter { $0.contains("PERS402") }
            #expect(lines.isEmpty != isFound && lines.allSatisfy { $0.contains("/age is personal") }, "\(lines)")
        }
    }

    @Test(
        "a member that gets a personal value and is not marked is a warning, wherever it comes from",
        arguments: [
            ("move: {from: /name, path: /shown}", "shown: {type: string}", "/shown"),
            ("move: {from: /name, path: /shown}", "shown: {type: string, personal: true}", nil),
            ("add: {path: /at, from: $time}", "name: {type: string, personal: true}, at: {type: string, format: date-time}", nil),
            (
                "split: {path: /name, into: [/first, /last], separator: \" \", at: first, missing: absent}",
                "first: {type: string, personal: true}, last: {type: string}", nil
            ),
            (
                "split: {path: /name, into: [/first, /last], separator: \" \", at: first, missing: absent}",
                "first: {type: string}, last: {type: string, personal: true}", "/first"
            ),
            (
                "each: {path: /old, do: [{move: {from: /mail, path: /at}}]}",
                "name: {type: string, personal: true}, old: {type: array, items: {type: object, properties: {at: {type: string}}}}",
                "/old/0/at"
            ),
        ])
    func unmarked(_ op: String, _ members: String, _ found: String?) throws {
        func version(_ number: Int, _ members: String, _ step: String = "") -> String {
            let old =
                members.contains("old:")
                ? "" : ", old: {type: array, items: {type: object, properties: {mail: {type: string, personal: true}}}}"
            return "evstore: 1\nversion: \(number)\n\(step)events: {Joined: {stream: \"m\", properties: {\(members)\(old)}}}\n"
        }
        let shop = try Shop()
        try shop.write("persons/v1.yaml", version(1, "name: {type: string, personal: true}"))
        try shop.write("persons/v2.yaml", version(2, members, "upcast: [{on: Joined, do: [{\(op)}]}]\n"))
        let lines = try shop.must("schema lint --schemas \(shop.path("persons"))").lines.filter { $0.contains("PERS403") }
        #expect(
            lines.count == (found == nil ? 0 : 1) && lines.allSatisfy { $0.contains("Joined: \(found ?? "") is not personal") }, "\(lines)")
    }
}
