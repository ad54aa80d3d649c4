import TestSupport
import Testing

@Suite("The page of findings")
struct FindingsPageTests {
    private static func rows() throws -> [[String]] { try DocPage("Findings").rows().filter { $0[0].contains(#/^`[A-Z]+\d{3}`$/#) } }

    @Test("it has every id that a check reports, once, and no other")
    func ids() throws {
        var reported: Set<String> = []
        for file in try SourceFile.all(below: "Sources") {
            for line in file.lines { for match in line.matches(of: #/"([A-Z]{3,6}\d{3})"/#) { reported.insert(String(match.1)) } }
        }
        #expect(reported.count > 60)
        #expect(try Self.rows().map { $0[0].filter { $0 != "`" } }.sorted() == reported.sorted())
    }

    @Test("each says its severity, what it means, what it looks like and what mends it")
    func whole() throws {
        for row in try Self.rows() {
            #expect(row.count == 5 && row.allSatisfy { !$0.isEmpty }, "\(row[0])")
            #expect(["error", "warning", "note"].contains { row[1].hasPrefix($0) }, "\(row[0])")
        }
    }

    @Test("an example has the words of the message, with … in the place of names and numbers")
    func examples() throws {
        let sources = try SourceFile.all(below: "Sources").map { $0.lines.joined(separator: "\n") }.joined(separator: "\n")
        var examples = 0
        for row in try Self.rows() where row[3].hasPrefix("`") {
            for words in row[3].filter({ $0 != "`" }).split(separator: "…") where words.contains(where: \.isLetter) {
                #expect(sources.contains(words), "\(row[0]): no message says \(words)")
            }
            examples += 1
        }
        #expect(examples > 60)
    }
}
