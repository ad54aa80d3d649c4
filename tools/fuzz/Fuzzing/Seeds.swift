internal import Bytes
internal import EventModel
internal import Evstore
internal import Foundation
internal import JSONText
internal import Projections
internal import SchemaEvolution

/// One worked example, as the texts of its files and as what they load to.
struct Seed: Sendable {
    /// An event line that is kept of a version.
    struct Line: Sendable {
        let version: SchemaVersion
        let text: [UInt8]
        let type: String
        let payload: [UInt8]
    }

    let name: String
    let versions: [[UInt8]]
    let projections: [UInt8]
    let lock: [UInt8]
    let schemas: Schemas
    let lines: [Line]
    /// To be copied and started anew: making one goes through the whole history.
    let generator: EventGenerator

    var history: History { schemas.history }

    init(directory: String) throws {
        func text(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))) }
        schemas = try Schemas.load(directory)
        generator = EventGenerator(schemas.history, seed: 0)
        name = URL(filePath: directory).lastPathComponent
        versions = try schemas.history.versions.map { try text("\($0.number).yaml") }
        projections = try text("projections.yaml")
        lock = try text(SchemaLock.fileName)
        lines = try schemas.history.versions.flatMap { file in
            try text("fixtures/\(file.number)/events.jsonl").split(separator: UInt8(ascii: "\n")).compactMap { line in
                let value = try JSONValue(parsing: Array(line).lent)
                guard case .string(let type)? = value["type"], let data = value["data"] else { return nil }
                return Line(version: file.number, text: Array(line), type: type, payload: Array(data.text.utf8))
            }
        }
    }
}

/// What mutations start from: every example below a directory, and the words that stand in them.
package struct Seeds: Sendable {
    let all: [Seed]
    /// Names of members and texts, each once.
    let words: [String]
    /// The parts of the files, to be put into one another.
    let grafts: [JSONValue]

    /// - Parameter directory: the one that holds a directory for each example.
    package init(directory: String) throws {
        all = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            .filter { FileManager.default.fileExists(atPath: "\(directory)/\($0)/v1.yaml") }
            .map { try Seed(directory: "\(directory)/\($0)") }
        var (words, grafts): (Set<String>, Set<JSONValue>) = ([], [])
        func gather(_ value: JSONValue, depth: Int) {
            if depth > 1 { grafts.insert(value) }
            switch value {
            case .string(let text): words.insert(text)
            case .array(let elements): for element in elements { gather(element, depth: depth + 1) }
            case .object(let members):
                for member in members {
                    words.insert(member.name)
                    gather(member.value, depth: depth + 1)
                }
            case .null, .bool, .number: break
            }
        }
        for seed in all {
            for text in seed.versions + [seed.projections] {
                gather(try FileReader.read(text: text, file: "seed.yaml").json, depth: 0)
            }
        }
        self.words = (words.union(Boundaries.words)).sorted()
        self.grafts = grafts.sorted { $0.text < $1.text }
    }
}
