import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Version files of any size")
struct HostileSchemasTests {
    let shop: Shop
    private var hostile: Hostile { Hostile(shop: shop) }

    init() throws {
        shop = try Shop()
        try FileManager.default.removeItem(atPath: shop.schemas)
    }

    private func schema(_ command: String) throws -> BuiltProgram.Outcome {
        try hostile.run(["schema", command, "--schemas", shop.schemas])
    }

    /// A version whose types all have some members; each got its last one by an item of its own.
    private func types(_ count: Int, _ version: Int) -> String {
        var text = "evstore: 1\nversion: \(version)\n"
        let names = (0 ..< count).map { "Type\($0)" }
        if version > 1 {
            text += "upcast:\n" + names.map { "  - {on: \($0), do: [{add: {path: /m\(version), value: x}}]}\n" }.joined()
        }
        let members = (1 ... version).map { "m\($0): {type: string}" }.joined(separator: ", ")
        let required = (1 ... version).map { "m\($0)" }.joined(separator: ", ")
        return text + "events:\n" + names.map { "  \($0): {required: [\(required)], properties: {\(members)}}\n" }.joined()
    }

    @Test("hundreds of types, each with findings and an item of its own, are checked, linted and migrated before the deadline")
    func manyTypes() throws {
        try shop.write("schemas/v1.yaml", types(800, 1))
        try shop.write("schemas/v2.yaml", types(800, 2))
        #expect(try schema("check").exit == 0)
        let lint = try schema("lint")
        #expect(lint.exit == 0 && lint.output.contains("add description"), "\(lint.errors)")
        #expect(try hostile.run(["init", "--at", "v1", "--schemas", shop.schemas]).exit == 0)
        #expect(try hostile.run(["append", "s", "Type799", #"{"m1":"a"}"#]).exit == 0)
        #expect(try hostile.run(["replay", "--to", "v2", "--schemas", shop.schemas]).exit == 0)
        #expect(try hostile.run(["read", "s"]).output.contains(#"{"m1":"a","m2":"x"}"#))
    }

    @Test("a list of many thousand items is followed to its end, whether they rename, do nothing or are for all types")
    func manyItems() throws {
        func versions(_ items: String, _ type: String) throws {
            try shop.write("schemas/v1.yaml", "evstore: 1\nversion: 1\nevents:\n  T0: {properties: {a: {type: string}}}\n")
            try shop.write(
                "schemas/v2.yaml", "evstore: 1\nversion: 2\nupcast:\n\(items)events:\n  \(type): {properties: {a: {type: string}}}\n")
        }
        try versions(String(repeating: "  - {on: T0, do: []}\n", count: 10_000), "T0")
        #expect(try schema("check").errors.contains("Segmentation") == false)
        try versions(String(repeating: "  - {on: all, do: []}\n", count: 10_000), "T0")
        _ = try schema("check")
        try versions((0 ..< 4_000).map { "  - rename-event: {from: T\($0), to: T\($0 + 1)}\n" }.joined(), "T4000")
        #expect(try schema("check").exit == 0)
    }

    /// What a version asks for, and why it is refused before the time or the stack runs out.
    private static let costly: [(members: String, ops: String, why: String)] = [
        ("", "move: {from: /a, path: \(String(repeating: "/m", count: 4_000))}", "a pointer names at most 64 members, and this one 4000"),
        (
            "", "split: {path: /a, into: [\(list(10_000) { "/m\($0)" })], separator: ' ', at: first, missing: absent}",
            "into has 10000 members, and at most 63 are parts of one text"
        ),
        (
            list(8_000) { ", m\($0): {type: string}" }, (0 ..< 8_000).map { "add: {path: /m\($0), value: x}" }.joined(separator: "}, {"),
            "T has more than 1000 ops in this step"
        ),
    ]

    private static func list(_ count: Int, _ item: (Int) -> String) -> String {
        (0 ..< count).map(item).joined(separator: item(0).hasPrefix(",") ? "" : ", ")
    }

    @Test("what would take minutes is refused with a limit", arguments: costly.indices)
    func refusedEarly(index: Int) throws {
        let (members, ops, why) = Self.costly[index]
        try shop.write("schemas/v1.yaml", "evstore: 1\nversion: 1\nevents:\n  T: {properties: {a: {type: string}}}\n")
        try shop.write(
            "schemas/v2.yaml",
            "evstore: 1\nversion: 2\nupcast:\n  - {on: T, do: [{\(ops)}]}\nevents:\n  T: {properties: {a: {type: string}\(members)}}\n")
        let outcome = try schema("check")
        #expect(outcome.exit == 3 && outcome.output.contains(why), "\(outcome.output.prefix(2_000))\(outcome.errors.prefix(500))")
    }

    @Test("a chain of two thousand references is refused where it becomes too deep, and one of sixty is followed")
    func references() throws {
        for (count, exit) in [(2_000, 3), (60, 0)] as [(Int, Int32)] {
            let chain = (0 ..< count).map { "  D\($0): {$ref: '#/$defs/D\($0 + 1)'}\n" }.joined()
            try shop.write(
                "schemas/v1.yaml",
                """
                evstore: 1
                version: 1
                $defs:
                \(chain)  D\(count): {type: string}
                events:
                  T: {properties: {a: {$ref: '#/$defs/D0'}}}
                """)
            let outcome = try schema("check")
            #expect(outcome.exit == exit, "\(outcome.output.prefix(2_000))\(outcome.errors.prefix(500))")
            if exit != 0 { #expect(outcome.output.contains("the shape is more than 64 deep, through references too")) }
        }
    }

    @Test("what is too much is refused where it is read", arguments: ["yaml", "json"])
    func tooMuch(form: String) throws {
        let types = (0 ..< 60_000).map { #""T\#($0)": {"properties": {}}"# }.joined(separator: ", ")
        try shop.write("schemas/v1.\(form)", #"{"evstore": 1, "version": 1, "events": {\#(types)}}"#)
        for command in ["check", "lint"] {
            let outcome = try schema(command)
            #expect(
                outcome.exit == 3 && outcome.output.contains(form == "yaml" ? "more than the 100000" : "100000 members"),
                "\(outcome.output)")
        }
    }

    @Test("a version that JSON and YAML can say is registered and read again, ten thousand members and more")
    func manyMembers() throws {
        let members = (0 ..< 9_000).map { "m\($0): {type: string}" }.joined(separator: ", ")
        try shop.write("schemas/v1.yaml", "evstore: 1\nversion: 1\nevents:\n  T: {properties: {\(members)}}\n")
        let made = try hostile.run(["init", "--schemas", shop.schemas])
        #expect(made.exit == 0, "\(made.errors)")
        #expect(try hostile.run(["append", "s", "T", #"{"m8999":"last"}"#]).exit == 0)
    }

    @Test("thousands of findings on one line of thousands of characters end before the deadline")
    func oneLine() throws {
        let names = (0 ..< 20_000).map { "m\($0)" }.joined(separator: ", ")
        try shop.write("schemas/v1.yaml", "evstore: 1\nversion: 1\nevents: {A: {required: [\(names)], properties: {}}}\n")
        let outcome = try schema("check")
        #expect(outcome.exit == 3 && outcome.output.contains("m19999"))
    }
}
