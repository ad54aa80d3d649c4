import EvstoreTesting
import Foundation
import Testing

@Suite("Units of systemd")
struct SystemdTests {
    private static let analyze = "/usr/bin/systemd-analyze"

    @Test("let nothing of the services' memory be written to the disk, and give them no power", arguments: ["backup", "drill"])
    func hardened(_ name: String) throws {
        let units = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../tools/systemd").standardized
        let lines = try String(contentsOf: units.appending(path: "evstore-\(name)@.service"), encoding: .utf8).split(separator: "\n")
        for line in ["LimitCORE=0", "CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes"] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
    }

    @Test(
        "are ones that systemd takes without a word", .enabled(if: FileManager.default.isExecutableFile(atPath: analyze)),
        arguments: ["evstore-backup@.service", "evstore-backup@.timer", "evstore-drill@.service", "evstore-drill@.timer"])
    func verify(_ name: String) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "units-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let units = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../tools/systemd").standardized
        for unit in try FileManager.default.contentsOfDirectory(atPath: units.path) {
            // The program is looked for: the one that was built stands for the one that will be installed.
            let text = try String(contentsOf: units.appending(path: unit), encoding: .utf8)
                .replacing("/usr/bin/evstore ", with: BuiltProgram().path + " ")
            try text.write(to: directory.appending(path: unit), atomically: true, encoding: .utf8)
        }
        let outcome = try BuiltProgram(path: Self.analyze).run(["verify", "--man=no", directory.appending(path: name).path])
        #expect(outcome.exit == 0)
        #expect(outcome.errors.isEmpty && outcome.output.isEmpty, "\(outcome.errors)")
        let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ExecStart=") }) else { return }
        // Its words are ones that the program knows.
        let words = line.split(separator: " ").dropFirst().map {
            String($0).replacing("%S", with: directory.path).replacing("%i", with: "orders")
        }
        #expect(try BuiltProgram().run(words).errors.contains("there is no store"))
    }
}
