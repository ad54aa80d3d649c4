internal import Bytes
package import EventModel
internal import FoundationEssentials
internal import JSONText

/// The event lines that are kept of every version below `fixtures/vN/`: what real events of it look like.
package struct Fixtures: Sendable {
    package struct Line: Sendable {
        let file: String
        let number: Int
        let type: String
        let payload: [UInt8]
    }

    private let directory: String
    private var lines: [SchemaVersion: [Line]] = [:]
    private var findings: [Finding] = []

    /// The fixtures beside version files; nil where there are none.
    package static func load(directory: String, _ history: History) throws(EvstoreError) -> Fixtures? {
        let place = directory + (directory.hasSuffix("/") ? "" : "/") + "fixtures"
        guard FileManager.default.fileExists(atPath: place) else { return nil }
        var fixtures = Fixtures(directory: place)
        do {
            for version in history.versions {
                let folder = "\(place)/\(version.number)"
                guard FileManager.default.fileExists(atPath: folder) else { continue }
                for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where name.hasSuffix(".jsonl") {
                    try fixtures.read("\(folder)/\(name)", version)
                }
            }
        } catch { throw .ioFailure(doing: "reading \(place)", reason: "\(error)") }
        return fixtures
    }

    private init(directory: String) { self.directory = directory }

    private mutating func read(_ path: String, _ version: VersionFile) throws {
        let text = [UInt8](try Data(contentsOf: URL(filePath: path)))
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            do {
                let value = try JSONValue(parsing: Array(line).lent)
                guard case .string(let type)? = value.member("type"), let data = value.member("data") else {
                    throw EvstoreError.invalidLine(reason: "an event line has type and data", pointer: "")
                }
                let payload = Array(data.text.utf8)
                try version.validate(payload, as: type)
                lines[version.number, default: []].append(Line(file: path, number: index + 1, type: type, payload: payload))
            } catch {
                let message = (error as? EvstoreError)?.message ?? "\(error)"
                findings.append(
                    Finding(
                        id: Rule.fixture, file: path, line: index + 1, column: 1,
                        message: "it is no event of \(version.number): \(message)",
                        fix: "put the line right, or into another version's folder"))
            }
        }
    }

    /// Every type of every version has an event, and each of them is one.
    func check(_ history: History) -> [Finding] {
        var all = findings
        for version in history.versions {
            let kept = Set((lines[version.number] ?? []).map(\.type))
            for type in version.types where !kept.contains(type) {
                all.append(
                    Finding(
                        id: Rule.fixture, severity: version.isReleased ? .error : .warning, file: version.file,
                        line: version.events[type]?.mark.line ?? 1, column: 1, message: "no fixture holds a \(type) of \(version.number)",
                        fix: "append one to \(directory)/\(version.number)/events.jsonl, as an event line"))
            }
        }
        return all
    }
}
