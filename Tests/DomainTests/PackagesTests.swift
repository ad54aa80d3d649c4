import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The history that a real dpkg wrote in a scratch root: installs, upgrades, removals, a purge, a failing script, a
/// cross-graded architecture, two architectures of one package.
@Suite("The packages domain", .serialized)
struct PackagesTests {
    static let schemas = Checkout.path("Schemas/packages")
    static let fixtures = Checkout.url("Tests/DomainTests/Fixtures/packages")

    @Test("every line of the log is an event of version 1, once")
    func conversion() throws {
        let log = try String(contentsOf: Self.fixtures.appending(path: "dpkg.log"), encoding: .utf8)
        let events = try Self.events()
        #expect(events.count == log.split(separator: "\n").count)
        #expect(Set(events).count == events.count)
    }

    @Test("the installed read model agrees with dpkg at every version, for every package that the log can judge")
    func agreement() throws {
        let store = try ScratchStore(schemas: Self.schemas)
        try store.run("import", "-", "--as", "v1", input: Self.events().joined(separator: "\n"))
        for version in 1 ... 5 {
            try store.run("replay", "--to", "v\(version)")
            let rows = store.directory.url("rows.tsv")
            try store.run("query", "installed", "--format", "tsv", "--columns", "/version,/state").output
                .write(to: rows, atomically: true, encoding: .utf8)
            let judge = BuiltProgram(path: Checkout.path("tools/dpkg-judge"))
            let verdict = try judge.run(rows.path, Self.fixtures.appending(path: "dpkg-query.txt").path)
            #expect(verdict.exit == 0, "v\(version): \(verdict.output)\(verdict.errors)")
            #expect(verdict.lines.first == "10 judged, 10 agree, 0 differ, 1 can't be judged", "v\(version)")
        }
    }

    @Test("stepping through the versions and skipping them give the same bytes")
    func stepping() throws {
        let stepped = try ScratchStore(schemas: Self.schemas)
        let skipped = try ScratchStore(schemas: Self.schemas)
        for store in [stepped, skipped] { try store.run("import", "-", "--as", "v1", input: Self.events().joined(separator: "\n")) }
        for version in 2 ... 5 { try stepped.run("replay", "--to", "v\(version)") }
        try skipped.run("replay", "--to", "v5")
        #expect(try stepped.run("export", "--at", "v5").output == skipped.run("export", "--at", "v5").output)
        #expect(try stepped.run("query", "installed").output == skipped.run("query", "installed").output)

        // Taking the events one step at a time through a new store each gives the bytes of the one pass, too.
        var lines = try Self.events().joined(separator: "\n")
        for version in 1 ... 5 {
            let hop = try ScratchStore(schemas: Self.schemas)
            try hop.run("import", "-", "--as", "v\(max(1, version - 1))", input: lines)
            lines = try hop.run("export", "--at", "v\(version)").output
        }
        #expect(try Self.payloads(lines) == Self.payloads(skipped.run("export", "--at", "v5").output))
    }

    @Test("events born at five versions are read at every version")
    func mixedBirths() throws {
        let store = try ScratchStore(schemas: Self.schemas)
        let born: [(String, String)] = [
            ("PackageLogged", #"{"at":"2026-01-01 10:00:00","action":"status","package":"p:all","version":"1.0","state":"installed"}"#),
            ("StateChanged", #"{"at":"2026-01-02 10:00:00","package":"p:all","version":"2.0","state":"installed"}"#),
            ("StateChanged", #"{"at":"2026-01-03 10:00:00","name":"p","architecture":"all","version":"3.0","state":"installed"}"#),
            ("StateChanged", #"{"at":"2026-01-04 10:00:00","name":"p","architecture":"all","state":"not-installed"}"#),
            ("StateChanged", #"{"at":"2026-01-05T10:00:00Z","name":"p","architecture":"all","version":"5.0","state":"installed"}"#),
        ]
        try store.run("import", "-", "--as", "v1", input: "")
        for (index, event) in born.enumerated() {
            try store.run("replay", "--to", "v\(index + 1)")
            try store.run("append", "pkg-p:all", event.0, event.1)
        }
        for version in 1 ... 5 {
            let lines = try store.run("read", "pkg-p:all", "--at", "v\(version)").lines
            #expect(lines.count == 5)
            #expect(lines.allSatisfy { $0.contains(version == 1 ? #""type":"PackageLogged""# : #""type":"StateChanged""#) })
            #expect(lines[3].contains(version < 4 ? #""version":"<none>""# : #""state":"not-installed""#))
            #expect(lines.allSatisfy { $0.contains(version == 5 ? "T10:00:00Z\"" : " 10:00:00\"") })
        }
    }

    /// The bytes of each line's flat payload.
    static func payloads(_ lines: String) -> [Substring] {
        lines.split(separator: "\n").map { line in
            guard let start = line.firstRange(of: "\"data\":")?.upperBound else { return line }
            return line[start...].prefix { $0 != "}" }
        }
    }

    /// The fixture log as event lines of version 1.
    static func events() throws -> [String] {
        let converter = BuiltProgram(path: Checkout.path("tools/dpkg-events"))
        let outcome = try converter.run("--zone", "UTC", fixtures.appending(path: "dpkg.log").path)
        try #require(outcome.exit == 0, "\(outcome.errors)")
        return outcome.lines
    }
}
