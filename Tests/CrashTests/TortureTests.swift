import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The program itself: what it hurts is its own business, and `tools/test` runs it after the tests.
@Suite("tools/torture", .serialized)
struct TortureTests {
    private static let torture = BuiltProgram("evstore-torture")

    @Test("a case that is not known is refused, and the known ones are named")
    func unknown() throws {
        for arguments in [["--case", "R99"], ["--case", "R1,"], ["--trial", "3"], ["--jobs", "0"]] {
            let outcome = try Self.torture.run(arguments)
            #expect(outcome.exit == 64, "\(arguments): \(outcome.exit)")
        }
        #expect(try Self.torture.run("--case", "R99").errors.contains("R1, "))
    }

    @Test("every case stands in the pages on tests and promises, under its name")
    func documented() throws {
        let help = try Self.torture.run("--help").output
        let list = try #require(help.range(of: "CASES")).upperBound ..< #require(help.range(of: "EXAMPLES")).lowerBound
        let names = help[list].split(whereSeparator: \.isWhitespace).filter { $0.wholeMatch(of: /R\d+/) != nil }
        #expect(names.contains("R1") && names.contains("R19"))
        for page in ["Testing", "Promises"] {
            let text = try DocPage(page).text
            for name in names { #expect(text.contains("\n| \(name) "), "\(name) in \(page)") }
        }
    }

    /// What the help says of each case: its name, seconds, floor and goal.
    private static func efforts() throws -> [[String]] {
        try torture.run("--help").output.matches(of: #/(R\d+) \((\d+) (\d+) (\d+)\)/#).map { match in
            [match.1, match.2, match.3, match.4].map(String.init)
        }
    }

    @Test("the page on tests says how long each case takes and how far it comes, and the short tier takes nine minutes in all")
    func budgets() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Sources/Evstore/Evstore.docc/Testing.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.contains(#/^\| R\d+ \| [\d,]+ \|/#) }.map { row in
            row.split(separator: "|").map { $0.filter { $0 != " " && $0 != "," } }
        }
        let efforts = try Self.efforts()
        #expect(efforts.count > 15 && rows.map { Array($0.prefix(4)) } == efforts)
        let seconds = efforts.compactMap { Double($0[1]) }.reduce(0, +)
        #expect(seconds <= 540, "\(seconds)")
        for effort in efforts { #expect(Int(effort[2]) ?? 0 >= 1 && Int(effort[3]) ?? 0 >= Int(effort[2]) ?? 0, "\(effort)") }
    }

    @Test("a case ends with its seconds, and has failed with fewer runs than its floor")
    func floor() throws {
        let outcome = try Self.torture.run("--case", "R10", "--seed", "5", "--seconds", "0", "--floor", "1000", "--jobs", "1", "--json")
        #expect(outcome.exit == 1 && outcome.errors.contains("FAILED  R10 came to 400 runs, and 1000 are the fewest"), "\(outcome.errors)")
        #expect(outcome.output.contains(#""trials":1"#) && outcome.output.contains(#""budget":0"#), "\(outcome.output)")
        let enough = try Self.torture.run("--case", "R10", "--seed", "5", "--seconds", "0", "--floor", "400", "--jobs", "1")
        #expect(enough.exit == 0, "\(enough.errors)")
        for words in [["--count", "5", "--seconds", "5"], ["--floor", "-1"], ["--seconds", "-1"]] {
            #expect(try Self.torture.run(words).exit == 64, "\(words)")
        }
    }

    @Test("a trial that fails is named with the line that repeats it, and its files are kept")
    func failing() throws {
        let directory = try TemporaryDirectory()
        // On a disk that only says that it syncs no promise can be kept.
        var broken = Self.torture
        broken.environment["DISK_LIES"] = "1"
        let arguments = ["--case", "R1", "--seed", "5", "--trial", "0", "--keep", directory.path + "/kept", "--json"]
        let outcome = try broken.run(arguments)
        #expect(outcome.exit == 1)
        #expect(outcome.errors.contains("tools/torture --case R1 --seed 5 --trial 0"), "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/kept").isEmpty == false)
        #expect(outcome.output.contains(#""case":"R1""#))
    }
}
