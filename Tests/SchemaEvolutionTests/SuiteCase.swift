import Bytes
import Foundation
import JSONText
import SchemaEvolution

/// One schema of the official JSON Schema test suite with its instances.
struct SuiteCase: Sendable {
    let file: String
    let what: String
    let schema: JSONValue
    let tests: [(what: String, data: JSONValue, isValid: Bool)]

    var name: String { "\(file): \(what)" }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Suite")

    static func all() throws -> [SuiteCase] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }.sorted()
        return try names.flatMap { name in
            let text = [UInt8](try Data(contentsOf: folder.appending(path: name)))
            return try JSONValue(parsing: text.lent).elements.map { SuiteCase(name, $0) }
        }
    }

    private init(_ file: String, _ value: JSONValue) {
        self.file = file
        what = value["description"]?.string ?? ""
        // Which dialect a schema is in stands in the head of our files, not in each shape.
        schema = (value["schema"] ?? .null).without("$schema")
        tests = (value["tests"] ?? .null).elements.map {
            ($0["description"]?.string ?? "", $0["data"] ?? .null, $0["valid"] == .bool(true))
        }
    }
}

extension JSONValue {
    var elements: [JSONValue] { if case .array(let values) = self { values } else { [] } }

    var members: [Member] { if case .object(let members) = self { members } else { [] } }

    var string: String? { if case .string(let text) = self { text } else { nil } }

    func without(_ name: String) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.name != name })
    }

    func with(_ name: String, _ value: JSONValue) -> JSONValue { .object(without(name).members + [.init(name: name, value: value)]) }
}
