import Testing

@Suite("What pages say of tests")
struct NamedTestsTests {
    @Test("the tests that hold what a concept says are there", arguments: ["Consistency", "Fleet"])
    func named(page: String) throws {
        let lines = try SourceFile.all(below: "Tests").flatMap(\.lines)
        let suites = Set(lines.compactMap { $0.firstMatch(of: #/struct ([A-Za-z]+Tests)\b/#)?.1 })
        let named = try DocPage(page).text.matches(of: #/`([A-Z][A-Za-z]+Tests)`/#).map(\.1)
        #expect(named.count >= 5)
        for name in named { #expect(suites.contains(name), "\(page) names \(name)") }
    }
}
