import EvstoreTesting
import Foundation
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
