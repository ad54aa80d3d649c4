import Evstore
import TestSupport
import Testing

/// The rows of the page's tables, each with the heading that it stands below.
private func rows() throws -> [(heading: String, cells: [String])] {
    try DocPage("OptionsReference").sections.flatMap { section in
        section.rows.filter { $0[0].hasPrefix("`") }.map { (section.heading, $0) }
    }
}

@Suite("The page of options")
struct OptionsPageTests {
    private static var sources: [(type: String, path: String, values: Mirror)] {
        [
            ("Options", "Sources/EventModel/Options.swift", Mirror(reflecting: Options())),
            ("ImportOptions", "Sources/Evstore/Import/EventStore+Import.swift", Mirror(reflecting: ImportOptions())),
            ("MigrationOptions", "Sources/Migration/Reports.swift", Mirror(reflecting: MigrationOptions())),
        ]
    }

    /// The public members of a type, in the order of its source.
    private static func members(of type: String, in path: String) throws -> [String] {
        let text = try Checkout.text(path)
        let body = try #require(text.firstMatch(of: Regex("public struct \(type)\\b[\\s\\S]*?\\n}"))).output[0].substring ?? ""
        return body.matches(of: #/public var ([A-Za-z]+)/#).map { String($0.1) }
    }

    private static func words(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional { return mirror.children.first.map { words($0.value) } ?? "none" }
        if mirror.displayStyle == .enum { return ".\(value)" }
        if let duration = value as? Duration {
            let milliseconds = Int(duration / .milliseconds(1))
            return milliseconds % 1_000 == 0 ? ".seconds(\(milliseconds / 1_000))" : ".milliseconds(\(milliseconds))"
        }
        return "\(value)"
    }

    @Test("it has every public member with its default, in the order of the source")
    func defaults() throws {
        let page = try rows()
        for (type, path, mirror) in Self.sources {
            let told = page.filter { $0.heading == type || $0.heading.hasPrefix(type + ":") }
            let names = told.map { $0.cells[0].filter { $0 != "`" } }
            #expect(names == (try Self.members(of: type, in: path)), "\(type)")
            for (name, row) in zip(names, told) {
                let value = try #require(mirror.children.first { $0.label == name }?.value, "\(type).\(name)")
                #expect(row.cells[1].filter { $0 != "," } == Self.words(value), "\(type).\(name)")
                #expect(row.cells.count == 5 && row.cells.allSatisfy { !$0.isEmpty }, "\(type).\(name)")
            }
        }
    }

    @Test("an option whose name ends in a unit has that unit")
    func units() throws {
        for row in try rows() {
            let name = row.cells[0].filter { $0 != "`" }
            for unit in ["Bytes", "Seconds", "Milliseconds"] where name.hasSuffix(unit) {
                #expect(row.cells[2] == unit.lowercased(), "\(name)")
            }
        }
    }

    @Test("it has every case of Policy")
    func policies() throws {
        let told = try rows().filter { $0.heading.hasPrefix("Policy") }
            .map { $0.cells[0].filter { $0 != "`" && $0 != "." }.prefix { $0 != "(" } }
        let text = try Checkout.text("Sources/Evstore/Policy.swift")
        let declared = text.matches(of: #/\n    case ([a-z]+)/#).map { $0.1 }
        #expect(told.map(String.init) == declared.map(String.init))
    }
}
