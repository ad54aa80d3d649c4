public import Evstore
internal import Foundation

/// The files in `fixtures/vN/` beside the version files: recorded events of each released version.
///
/// They are recorded only where the environment variable `EVSTORE_RECORD` is 1; those of a released version are never recorded again.
public struct GoldenFixtures: Sendable {
    private let schemas: Schemas

    public init(_ schemas: Schemas) { self.schemas = schemas }

    /// The paths of a version's event lines, sorted by name; empty where the folder does not exist.
    public func files(of version: SchemaVersion) throws -> [String] {
        let folder = folder(of: version)
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jsonl") }.sorted().map {
            folder + "/" + $0
        }
    }

    /// Requires a file of a version to have exactly this text; records it where that is asked for and allowed.
    /// - Parameter isRecording: whether to record; where nil, the environment decides.
    /// - Throws: `ScenarioFailure`, which names the first line that differs.
    public func check(_ text: String, is name: String, of version: SchemaVersion, isRecording: Bool? = nil) throws {
        let path = folder(of: version) + "/" + name
        let isThere = FileManager.default.fileExists(atPath: path)
        let found = isThere ? try String(contentsOfFile: path, encoding: .utf8) : nil
        if found == text { return }
        guard isRecording ?? (ProcessInfo.processInfo.environment["EVSTORE_RECORD"] == "1") else {
            let how = "EVSTORE_RECORD=1 records it" + (isThere ? " anew while \(version) is not released" : "")
            throw ScenarioFailure(description: "\(path) \(Self.difference(found, text)); \(how)")
        }
        if isThere, schemas.isReleased(version) {
            throw ScenarioFailure(
                description: "\(path) is of the released \(version) and stays as it is; it \(Self.difference(found, text))")
        }
        try FileManager.default.createDirectory(atPath: folder(of: version), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    private func folder(of version: SchemaVersion) -> String { schemas.directory + "/fixtures/\(version)" }

    private static func difference(_ found: String?, _ expected: String) -> String {
        guard let found else { return "is missing" }
        let (a, b) = (found.components(separatedBy: "\n"), expected.components(separatedBy: "\n"))
        let line = zip(a, b).prefix { $0 == $1 }.count
        func text(_ lines: [String]) -> String { line < lines.count ? lines[line] : "the end" }
        return "differs in line \(line + 1): \(text(a)), and should be \(text(b))"
    }
}
