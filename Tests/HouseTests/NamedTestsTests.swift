import Foundation
import TestSupport
import Testing

@Suite("What pages say of tests")
struct NamedTestsTests {
    /// The functions of each suite: those of the sources that declare or extend it, or are called like it. A target has none of its own.
    private static let tests = Result {
        var tests: [String: Set<String>] = [:]
        for file in try SourceFile.all(below: "Tests") {
            let lines = file.code.map(\.text)
            let functions = lines.filter { $0.contains("func ") }.compactMap { $0.firstMatch(of: #/\bfunc ([A-Za-z]+)/#)?.1 }
            let suites = lines.filter { $0.contains("Tests") }.compactMap {
                $0.firstMatch(of: #/\b(?:struct|extension) ([A-Za-z]+Tests)\b/#)?.1
            }
            let name = file.path.split(separator: "/").last?.prefix { $0 != "." } ?? ""
            for suite in suites + [name] { tests[String(suite), default: []].formUnion(functions.map(String.init)) }
            tests[file.room, default: []].formUnion([])
        }
        return tests
    }

    @Test("the suites that a page names are there", arguments: ["Consistency", "FastWays", "Fleet", "Promises", "Testing"])
    func named(page: String) throws {
        let named = try DocPage(page).text.matches(of: #/`([A-Z][A-Za-z]+Tests)\b/#).map(\.1)
        #expect(named.count >= 5)
        let tests = try Self.tests.get()
        for name in Set(named) { #expect(tests[String(name)] != nil, "\(page) names \(name)") }
    }

    @Test("each fast way has a test that compares it, which is there")
    func fastWays() throws {
        let tests = try Self.tests.get()
        let rows = try ["Append", "Read", "Replay and read models", "Import and backup", "Schemas", "Numbers, times, JSON"]
            .flatMap { try DocPage("FastWays").rows(below: $0) }
        #expect(rows.count > 70)
        for row in rows {
            let compared = try #require(row.last)
            for match in compared.matches(of: #/`([A-Z][A-Za-z]+Tests)\/([a-zA-Z]+)`/#) {
                #expect(tests[String(match.1)]?.contains(String(match.2)) == true, "\(match.1) has no test \(match.2)")
            }
            #expect(compared.contains(#/[tT]ests\b|torture|`[a-z][A-Za-z]+`|verify/#), "nothing compares: \(row[0])")
        }
    }

    @Test("each test that holds the mend of a fault is there")
    func mends() throws {
        let tests = try Self.tests.get()
        let faults = try DocPage("Promises").rows(below: "What it found")
        #expect(faults.count > 50)
        for fault in faults {
            let held = try #require(fault.last)
            var suite: Substring?
            // `SuiteTests/test`, then `test` of the same suite.
            for match in held.matches(of: #/`(?:([A-Z][A-Za-z]+Tests)\/?)?([a-z][A-Za-z]*)?`/#) {
                suite = match.1 ?? suite
                guard let test = match.2 else { continue }
                let named = try #require(suite, "\(test) is of no suite: \(held)")
                #expect(tests[String(named)]?.contains(String(test)) == true, "\(named) has no test \(test)")
            }
            #expect(suite != nil || held.contains(#/\bR\d+\b/#), "nothing holds: \(fault[0])")
        }
    }

    @Test(
        "a worked example's README names tests by their first words and by their suites, which are there",
        arguments: ["cycles", "reminders", "saves", "settings", "vault"])
    func examples(_ name: String) throws {
        let readme = try Checkout.text("Schemas/\(name)/README.md")
        let tests = try SourceFile.all(below: "Tests").filter { ["DomainTests", "CLITests"].contains($0.room) }
            .flatMap(\.lines).joined(separator: "\n")
        // The last column of its table, `shown by`.
        let cells = readme.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).compactMap { $0.split(separator: "|").last }
        var named = 0
        for cell in cells {
            for match in cell.matches(of: #/([^…;:`()]+)…/#) {
                let words = match.1.replacing(#/^[, ]+(and )?/#, with: "")
                #expect(tests.contains("\"\(words)"), "no test begins with: \(words)")
                named += 1
            }
            for match in cell.matches(of: #/`([A-Za-z]+Tests)`/#) { #expect(tests.contains("struct \(match.1) {"), "\(match.1)") }
        }
        #expect(named > 4)
    }

    @Test("commands and options that pages name within a line are those of the command line's page")
    func commands() throws {
        let reference = try DocPage("CommandLine").text
        let known = Set(reference.matches(of: #/--[a-z][a-z-]+/#).map(\.0))
        let commands = Set(reference.matches(of: #/(?m)^#+ evstore ([a-z]+)/#).map(\.1))
        let examples = ["cycles", "reminders", "saves", "settings", "vault"].map { "Schemas/\($0)/README.md" }
        let others = try (examples + ["README.md"]).map {
            ($0, try Checkout.text($0))
        }
        let pages = try DocPage.all().filter { !["CommandLine", "FileFormat"].contains($0.name) }.map { ($0.name, $0.text) }
        var named = 0
        // What stands between code marks in the format of files are bytes.
        for (page, text) in pages + others {
            for match in text.matches(of: #/`evstore ([a-z]+)?([^`\n]*)`/#) {
                if let command = match.1 { #expect(commands.contains(command), "\(page): \(match.0)") }
                for option in match.2.matches(of: #/--[a-z][a-z-]+/#) { #expect(known.contains(option.0), "\(page): \(match.0)") }
                named += 1
            }
        }
        #expect(commands.count > 20 && named > 40)
    }
}
