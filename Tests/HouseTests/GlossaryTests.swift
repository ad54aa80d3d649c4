import TestSupport
import Testing

@Suite("The glossary")
struct GlossaryTests {
    /// Pages that set another system's words beside this one's.
    private static func translates(_ page: DocPage) -> Bool { page.name == "Glossary" || page.name.hasPrefix("From") }

    /// The parameter of HKDF has its name from RFC 5869.
    private static let foreign = [("FileFormat", "info")]

    private static func terms() throws -> [String] {
        let page = try DocPage("Glossary")
        let unused = Set(page.rows(below: "Not used").map { $0[0] })
        return page.rows().map { $0[0] }.filter { !unused.contains($0) }
    }

    private static func holds(_ text: String, _ word: String) throws -> Bool {
        try text.contains(Regex("\\b" + word.replacing(" ", with: "\\s+") + "(s|es|ed|ped)?\\b").ignoresCase())
    }

    @Test("every word is used in another page or in what the sources say of themselves")
    func used() throws {
        let pages = try DocPage.all().filter { $0.name != "Glossary" }.map(\.text).joined(separator: "\n")
        let comments = try SourceFile.all(below: "Sources").flatMap(\.lines).filter { $0.contains("///") }.joined(separator: "\n")
        let terms = try Self.terms()
        #expect(terms.count > 100 && Set(terms).count == terms.count)
        for term in terms { #expect(try Self.holds(pages, term) || Self.holds(comments, term), "\(term) is used nowhere") }
    }

    @Test("every word has a meaning")
    func meanings() throws {
        for row in try DocPage("Glossary").rows() { #expect(row.count == 2 && row[1].count > 3, "\(row[0])") }
    }

    @Test("no page says a word that is not used here")
    func unused() throws {
        let words = try DocPage("Glossary").rows(below: "Not used").map { $0[0] }
        #expect(words.contains("entity"))
        for page in try DocPage.all() where !Self.translates(page) {
            for word in words where !Self.foreign.contains(where: { $0 == (page.name, word) }) {
                #expect(try !Self.holds(page.prose, word), "\(page.name) says \(word)")
            }
        }
    }
}
