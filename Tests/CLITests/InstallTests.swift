import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Installing")
struct InstallTests {
    private static let canPack =
        getuid() == 0 && ["/usr/bin/dpkg-shlibdeps", "/usr/bin/dpkg"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func install(_ words: String..., below root: String = "") throws -> BuiltProgram.Outcome {
        try BuiltProgram(path: Checkout.path("tools/install"), environment: ["DESTDIR": root]).run(words)
    }

    private func files(below path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).filter {
            try FileManager.default.attributesOfItem(atPath: path + "/" + $0)[.type] as? FileAttributeType != .typeDirectory
        }.sorted()
    }

    @Test("below a prefix: the program runs from there, everything is listed, and goes again")
    func prefix() throws {
        let prefix = directory.path + "/opt"
        try directory.write("somebody else's", to: "opt/share/man/man1/other.1")
        let outcome = try install("--program", BuiltProgram().path, prefix)
        try #require(outcome.exit == 0, "\(outcome.errors)")

        let installed = try files(below: prefix).filter { !$0.hasSuffix("other.1") }
        #expect(outcome.lines.sorted() == installed.map { prefix + "/" + $0 })
        #expect(try BuiltProgram(path: prefix + "/bin/evstore").run("--version").output == BuiltProgram().run("--version").output)
        #expect(installed.contains("share/man/man1/evstore-replay.1") && installed.contains("share/evstore/monitoring/evstore.rules.yml"))
        let unit = try String(contentsOfFile: prefix + "/lib/systemd/system/evstore-backup@.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=\(prefix)/bin/evstore "))
        let completing = ". '\(prefix)/share/bash-completion/completions/evstore' && complete -p evstore"
        #expect(try BuiltProgram(path: "/bin/bash").run("-c", completing).output.contains("evstore"))

        #expect(try install("--remove", prefix).exit == 0)
        #expect(try files(below: prefix) == ["share/man/man1/other.1"])
        #expect(!FileManager.default.fileExists(atPath: prefix + "/bin"))
        #expect(try install("--remove", prefix).exit == 2)
    }

    @Test("an installation that is cut off is listed already, and goes again with its directories; those that were there stay")
    func cutOff() throws {
        let prefix = directory.path + "/opt"
        // A file where there must be a directory ends it in the middle.
        try directory.write("somebody else's", to: "opt/lib/systemd/system")
        try FileManager.default.createDirectory(atPath: prefix + "/share/man", withIntermediateDirectories: true)
        let outcome = try install("--program", BuiltProgram().path, prefix)
        #expect(outcome.exit != 0)
        #expect(FileManager.default.isExecutableFile(atPath: prefix + "/bin/evstore"), "it was cut off too early to show anything")

        let removed = try install("--remove", prefix)
        #expect(removed.exit == 0, "\(removed.errors)")
        let left = try FileManager.default.subpathsOfDirectory(atPath: prefix).sorted()
        #expect(left == ["lib", "lib/systemd", "lib/systemd/system", "share", "share/man"])
    }

    @Test("a directory that was there before stays, empty or not, however often it is installed")
    func foreignDirectories() throws {
        let prefix = directory.path + "/opt"
        try FileManager.default.createDirectory(atPath: prefix + "/bin", withIntermediateDirectories: true)
        for _ in 1 ... 2 { #expect(try install("--program", BuiltProgram().path, prefix).exit == 0) }
        #expect(try install("--remove", prefix).exit == 0)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: prefix) == ["bin"])
    }

    @Test("below DESTDIR: the units name the place where it will be, and what only an older version had goes")
    func staged() throws {
        let root = directory.path
        try directory.write("bin/evstore\nbin/evstore-old\n", to: "usr/share/evstore/installed")
        try directory.write("", to: "usr/bin/evstore-old")
        let outcome = try install("--program", BuiltProgram().path, "/usr", below: root)
        try #require(outcome.exit == 0, "\(outcome.errors)")
        #expect(try !files(below: root + "/usr").contains("bin/evstore-old"))
        #expect(try files(below: root + "/usr").contains("bin/evstore"))
        let unit = try String(contentsOfFile: root + "/usr/lib/systemd/system/evstore-drill@.service", encoding: .utf8)
        #expect(unit.contains("Environment=EVSTORE_PROGRAM=/usr/bin/evstore\n") && !unit.contains(root))
    }

    @Test(
        "says how it is used, and refuses what it can't do before anything is written",
        arguments: [["relative/prefix"], ["/a b"], [], ["--what", "/usr"], ["--program", "/nowhere/evstore", "/usr"]])
    func refusals(_ words: [String]) throws {
        let tool = BuiltProgram(path: Checkout.path("tools/install"), environment: ["DESTDIR": directory.path])
        let outcome = try tool.run(words)
        #expect(outcome.exit == 2 && outcome.errors.hasPrefix("install: "), "\(outcome)")
        #expect(try files(below: directory.path).isEmpty)
        for tool in ["install", "package", "reference", "api"] {
            let help = try BuiltProgram(path: Checkout.path("tools/" + tool)).run("--help")
            #expect(help.exit == 0 && help.output.contains("tools/" + tool), "\(help)")
        }
    }

    @Test("as a package of Debian: dpkg installs it, the program runs, and a purge leaves nothing", .enabled(if: canPack))
    func package() throws {
        // A toolchain elsewhere, behind a program that only chooses it, as swiftly's does.
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        try directory.write("#!/bin/sh\nPATH='\(search)' exec swift \"$@\"\n", to: "proxy/swift")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path + "/proxy/swift")
        let packed = try BuiltProgram(path: Checkout.path("tools/package"), environment: ["PATH": directory.path + "/proxy:" + search])
            .run("--program", BuiltProgram().path, "--out", directory.path, "--compression", "none")
        try #require(packed.exit == 0, "\(packed.errors)")
        let package = try #require(packed.lines.last)

        let root = directory.path + "/root"
        for name in ["info", "updates", "triggers"] {
            try FileManager.default.createDirectory(atPath: root + "/var/lib/dpkg/" + name, withIntermediateDirectories: true)
        }
        for name in ["status", "available"] { try directory.write("", to: "root/var/lib/dpkg/" + name) }
        let before = try files(below: root).filter { !$0.hasPrefix("var/lib/dpkg/") }
        let dpkg = BuiltProgram(path: "/usr/bin/dpkg")
        // What it depends on is in the machine's own root; there is none of it in this one.
        let options = ["--root=" + root, "--force-script-chrootless", "--force-depends", "--log=/dev/null"]
        let installing = try dpkg.run(options + ["--install", package])
        try #require(installing.exit == 0, "\(installing.errors)")
        #expect(try BuiltProgram(path: root + "/usr/bin/evstore").run("--version").output == BuiltProgram().run("--version").output)
        #expect(try dpkg.run(options + ["--verify", "evstore"]).output == "")
        let copyright = try String(contentsOfFile: root + "/usr/share/doc/evstore/copyright", encoding: .utf8)
        for part in ["== swift, LICENSE", "== swift-crypto, LICENSE", "== Yams, LICENSE"] { #expect(copyright.contains("\n" + part)) }
        let fields = try BuiltProgram(path: "/usr/bin/dpkg-deb").run("--field", package, "Depends").output
        for library in ["libc6 (", "liblmdb0 (", "libxxhash0 (", "libzstd1 ("] { #expect(fields.contains(library)) }

        #expect(try dpkg.run(options + ["--purge", "evstore"]).exit == 0)
        #expect(try files(below: root).filter { !$0.hasPrefix("var/lib/dpkg/") } == before)
        #expect(!FileManager.default.fileExists(atPath: root + "/usr"))
    }
}
