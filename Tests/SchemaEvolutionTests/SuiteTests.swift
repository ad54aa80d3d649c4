import Bytes
import EventModel
import JSONText
import SchemaEvolution
import Testing

@Suite("The official JSON Schema test suite")
struct SuiteTests {
    /// A version file whose one definition is a schema.
    private func read(_ schema: JSONValue) throws(EvstoreError) -> VersionFile {
        let definitions = (schema["$defs"]?.members ?? []) + [.init(name: "the schema", value: schema.without("$defs"))]
        let reference = JSONValue.object([.init(name: "$ref", value: .string("#/$defs/the schema"))])
        let event = JSONValue.object([.init(name: "properties", value: .object([.init(name: "value", value: reference)]))])
        let file = JSONValue.object([
            .init(name: "evstore", value: .number("1")), .init(name: "version", value: .number("1")),
            .init(name: "$defs", value: .object(definitions)), .init(name: "events", value: .object([.init(name: "E", value: event)])),
        ])
        return try VersionFile(text: Array(file.text.utf8), file: "v1.json")
    }

    private func problems(of schema: JSONValue) -> [Finding]? {
        do throws(EvstoreError) { _ = try read(schema) } catch {
            if case .schemaInvalid(let findings) = error { return findings }
        }
        return nil
    }

    /// A format is held, and times are those that are written in one way only: `T` and `Z` in capitals, no leap second.
    private let narrower: Set<String> = [
        "a valid date-time with a leap second, UTC", "a valid date-time with a leap second, with minus offset",
        "case-insensitive T and Z",
    ]

    @Test("what shapes have means what the suite says it means")
    func inside() throws {
        var (ran, apart, strict) = (0, 0, 0)
        for one in try SuiteCase.all() {
            let dialect = SuiteDialect(one.schema)
            if !dialect.outside.isEmpty { continue }
            let adapted = dialect.shape
            if let findings = problems(of: adapted) {
                // A shape contradicts itself nowhere: its constants fit, its bounds do not cross, no member has an empty name.
                strict += one.tests.count
                let said = ["default", "const", "enum", "empty name", "required", "leads back", "no \"", "whole number"]
                #expect(
                    findings.contains { finding in said.contains { finding.message.contains($0) } },
                    "\(one.name): \(findings.map(\.diagnosticLine))")
                continue
            }
            let shape = try #require(try read(adapted).events["E"]?.shape.property("value"))
            for test in one.tests {
                guard !narrower.contains(test.what), !test.what.hasSuffix("only an annotation by default"),
                    SuiteDialect.covers(test.data, one.schema, adapted, (one.schema["$defs"], adapted["$defs"]))
                else {
                    apart += 1
                    continue
                }
                ran += 1
                let refusal = shape.rejection(of: test.data)
                #expect((refusal == nil) == test.isValid, "\(one.name): \(test.what): \(refusal?.reason ?? "accepted")")
            }
        }
        print("JSON Schema test suite: \(ran) cases tried, \(apart) narrower by design, \(strict) of schemas that contradict themselves")
        #expect(ran == 285 && apart == 70 && strict == 46)
    }

    @Test("what shapes do not have is refused by its name, never passed over")
    func outside() throws {
        var counts: [String: Int] = [:]
        for one in try SuiteCase.all() {
            let dialect = SuiteDialect(one.schema)
            if dialect.outside.isEmpty { continue }
            #expect(problems(of: one.schema) != nil, "\(one.name) is accepted")
            let findings = try #require(problems(of: dialect.shape), "\(one.name) is accepted")
            for keyword in dialect.outside {
                counts[keyword, default: 0] += 1
                #expect(
                    findings.contains { $0.message.contains(keyword) },
                    "\(one.name): \(keyword) is not in \(findings.map(\.diagnosticLine))")
            }
        }
        let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print("JSON Schema test suite, refused by name: \(list)")
        #expect(counts.count == 57 && counts.values.reduce(0, +) == 621)
    }
}
