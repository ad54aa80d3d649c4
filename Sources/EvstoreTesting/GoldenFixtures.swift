public import Evstore
internal import Foundation

/// The files in `fixtures/vN/` beside the version files: what events of each released version really looked like.
///
/// They are recorded only where the environment says `EVSTORE_RECORD=1`, and those of a released version never again.
public struct GoldenFixtures: Sendable {
    private let schemas: Schemas

    public init(_ schemas: Schemas) { self.schemas = schemas }

    /// The paths of a version's event lines, in the order of their names; none where there is no such folder.
    public func files(of version: SchemaVersion) throws -> [String] {
        let folder = folder(of: version)
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jsonl") }.sorted().map {
            folder + "/" + $0
        }
    }

    /// Requires a file of a version to be exactly this; records it where that was asked for and is allowed.
    /// - Parameter isRecording: by the environment where nil.
    /// - Throws: `ScenarioFailure`, which says the first line that differs.
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
