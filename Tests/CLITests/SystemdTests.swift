import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Units of systemd")
struct SystemdTests {
    private static let analyze = "/usr/bin/systemd-analyze"

    @Test("let nothing of the services' memory be written to the disk, and give them no power", arguments: ["backup", "drill", "serve"])
    func hardened(_ name: String) throws {
        let lines = try Checkout.text("tools/systemd/evstore-\(name)@.service").split(separator: "\n")
        for line in ["LimitCORE=0", "CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes"] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
    }

    @Test(
        "can be enabled: timers, and what serves", arguments: ["evstore-backup@.timer", "evstore-drill@.timer", "evstore-serve@.service"])
    func installable(_ name: String) throws {
        #expect(try Checkout.text("tools/systemd/" + name).contains("\n[Install]\nWantedBy="))
    }

    @Test(
        "are ones that systemd takes without a word", .enabled(if: FileManager.default.isExecutableFile(atPath: analyze)),
        arguments: [
            "evstore-backup@.service", "evstore-backup@.timer", "evstore-drill@.service", "evstore-drill@.timer", "evstore-serve@.service",
        ])
    func verify(_ name: String) throws {
        let directory = try TemporaryDirectory()
        for unit in try FileManager.default.contentsOfDirectory(atPath: Checkout.path("tools/systemd")) {
            // The program is looked for: the one that was built stands for the one that will be installed.
            let text = try Checkout.text("tools/systemd/\(unit)").replacing("=/usr/bin/evstore", with: "=" + BuiltProgram().path)
            try directory.write(text, to: unit)
        }
        let outcome = try BuiltProgram(path: Self.analyze).run(["verify", "--man=no", directory.path + "/" + name])
        #expect(outcome.exit == 0)
        #expect(outcome.errors.isEmpty && outcome.output.isEmpty, "\(outcome.errors)")
        let text = try directory.text(name)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ExecStart=") }) else { return }
        // Its words are ones that the program knows, behind those that choose a program which has steps in Swift.
        let chosen = line.hasPrefix("ExecStart=/usr/bin/env -- ${EVSTORE_PROGRAM} ")
        #expect(chosen != name.hasPrefix("evstore-backup") && (!chosen || text.contains("EVSTORE_PROGRAM=" + BuiltProgram().path)))
        let words = line.split(separator: " ").dropFirst(chosen ? 3 : 1).map {
            String($0).replacing("%S", with: directory.path).replacing("%i", with: "orders")
                .replacing("${EVSTORE_LISTEN}", with: "127.0.0.1:0")
        }
        #expect(try BuiltProgram().run(words).errors.contains("there is no store"))
    }
}
