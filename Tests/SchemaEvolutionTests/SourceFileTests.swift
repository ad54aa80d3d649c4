import EventModel
import EvstoreTesting
import Foundation
import SchemaEvolution
import Testing

@Suite("Files that a command writes beside a person's own")
struct SourceFileTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }

    @Test("a file that is made leaves one that is there as it is, and says so in the words of the system")
    func made() throws {
        let path = directory.path + "/v1.yaml"
        try SourceFile.make(path, Array("one".utf8))
        #expect(throws: EvstoreError.ioFailure(doing: "writing \(path)", reason: "File exists")) {
            try SourceFile.make(path, Array("two".utf8))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one" && names() == ["v1.yaml"])
        // Others may read it, as far as this process's mask allows.
        try Data("x".utf8).write(to: URL(filePath: directory.path + "/other"), options: .withoutOverwriting)
        #expect(try mode(path) == mode(directory.path + "/other"))
    }

    @Test("a file that is replaced or copied keeps its mode, and a link to it stays")
    func replaced() throws {
        let (path, link) = (directory.path + "/v1.yaml", directory.path + "/link.yaml")
        try SourceFile.make(path, Array("one".utf8), mode: 0o604)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        try SourceFile.copy(path, to: path + ".bak")
        try SourceFile.write(Array("two".utf8), to: link)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two" && mode(path) == 0o604 && mode(path + ".bak") == 0o604)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try names() == ["link.yaml", "v1.yaml", "v1.yaml.bak"])
    }
}
