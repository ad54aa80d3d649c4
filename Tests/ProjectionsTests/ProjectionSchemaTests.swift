import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Projections

@Suite("The JSON Schema of projection files")
struct ProjectionSchemaTests {
    private let root: JSONValue

    init() throws {
        root = try JSONValue(parsing: Array(Checkout.text("Schemas/evstore/projections.json").utf8).lent)
    }

    /// What the parser says that a map may have, from how it refuses a member that nothing has.
    private func members(_ read: (FileNode) throws -> Void) -> Set<String> {
        let mark = FileLocation(file: "x.yaml", line: 1, column: 1)
        let odd = FileNode(.map([.init(name: "zzzzzzzzzzzz", place: mark, value: FileNode(.number("1"), at: mark))]), at: mark)
        do { try read(odd) } catch {
            let fix = (error as? FileProblem)?.finding.fix ?? ""
            return Set(fix.split(separator: "may have: ").last?.split(separator: ", ").map(String.init) ?? [])
        }
        return []
    }

    private func names(_ schema: JSONValue?) -> Set<String> {
        guard case .object(let members)? = schema?["properties"] else { return [] }
        return Set(members.map(\.name))
    }

    @Test("definitions, folds, guards and sources have the members that the program knows")
    func members() throws {
        let definitions = try #require(root["$defs"])
        #expect(names(definitions["definition"]) == Set(DeclaredProjection.members))
        #expect(names(definitions["fold"]) == members { _ = try FoldRule.list($0, of: "E") })
        #expect(names(definitions["fold"]).isSuperset(of: Edit.Kind.allCases.map(\.rawValue)))
        #expect(names(definitions["guard"]) == members { _ = try Guard($0, in: .fold) })
        guard case .array(let forms)? = definitions["source"]?["oneOf"] else {
            Issue.record("there is no source")
            return
        }
        #expect(forms.reduce(into: Set()) { $0.formUnion(names($1)) } == members { _ = try Source($0, "a source") })
    }
}
