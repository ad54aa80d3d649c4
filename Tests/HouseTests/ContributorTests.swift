import Foundation
import TestSupport
import Testing

/// What the pages for contributors say of the sources.
@Suite("The pages for contributors")
struct ContributorTests {
    static let pages = ["Architecture", "AddingAnOp", "AddingATable", "AddingACommand", "FastWays"]

    private static func text(_ page: String) throws -> String {
        try DocPage(page).text
            // A line that is too long is broken; what is said of it is not.
            .replacing(#/\n +/#, with: " ")
    }

    /// Every Swift file of the checkout by its name without a folder.
    private static let files = Result {
        var files: [String: [String]] = [:]
        for folder in ["Sources", "Tests", "tools"] {
            let base = Checkout.url(folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: base.path) where path.hasSuffix(".swift") {
                files[String(path.split(separator: "/").last ?? ""), default: []].append(folder + "/" + path)
            }
        }
        return files
    }

    /// The texts of the files of a name.
    private func sources(of name: some StringProtocol) throws -> [String] {
        try (Self.files.get()[String(name)] ?? []).map { try Checkout.text($0) }
    }

    @Test("every file that they name is there", arguments: pages)
    func filesAreThere(_ page: String) throws {
        let names = try Self.text(page).matches(of: #/`([A-Za-z+]+\.swift)`/#).map { $0.1 }
        #expect(names.count > 5)
        for name in names { #expect(try !sources(of: name).isEmpty, "\(page).md names \(name)") }
    }

    @Test("what they say stands in a file stands there", arguments: pages)
    func namesAreThere(_ page: String) throws {
        let pairs = try Self.text(page).matches(of: #/`([A-Za-z]+)[^` ]*` in `([A-Za-z+]+\.swift)`/#).map { ($0.1, $0.2) }
        #expect(!pairs.isEmpty)
        for (name, file) in pairs {
            let declared = try Regex(#"\b(func|var|let|case|struct|class|enum|protocol|static let) \#(name)\b"#)
            #expect(try sources(of: file).contains { $0.contains(declared) }, "\(page).md: \(name) is not declared in \(file)")
        }
    }

    /// The rows of a table below a heading, each with its cells.
    private func rows(below heading: String) throws -> [[String]] {
        try DocPage("Architecture").rows(below: heading).map { $0.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "`")) } }
    }

    @Test(
        "each stop of a corridor is a function of a type, in the file that is named",
        arguments: ["append", "read", "replay", "rollback"])
    func corridors(_ corridor: String) throws {
        let stops = try rows(below: "Corridor: \(corridor)")
        #expect(stops.map { $0[0] } == (1 ... stops.count).map(String.init))
        for stop in stops {
            let match = try #require(stop[2].wholeMatch(of: #/([A-Z][A-Za-z]+)\.([a-z][A-Za-z]+)/#), "\(stop[2])")
            let (type, function) = (match.1, match.2)
            let source = try #require(try sources(of: stop[1]).first, "\(stop[1])")
            let owner = try Regex(#"\b(struct|class|enum|extension|protocol) \#(type)\b"#)
            #expect(source.contains(owner), "\(type) is not in \(stop[1])")
            #expect(source.contains(try Regex(#"\bfunc \#(function)\b"#)), "\(function) is not in \(stop[1])")
        }
        let counted = [stops.count, Set(stops.map { $0[1] }).count, Set(stops.map { $0[2].prefix { $0 != "." } }).count].map(String.init)
        let said = try rows(below: "The corridors in numbers").first { $0[0] == corridor }
        #expect(said.map { Array($0.dropFirst()) } == counted, "the \(corridor) has \(counted) stops, files and types")
    }

    @Test("every room is named, in a row above all that it opens")
    func rooms() throws {
        let rooms = Dictionary(uniqueKeysWithValues: try rows(below: "Rooms").map { ($0[0], Int($0[1]) ?? -1) })
        #expect(Set(rooms.keys) == Set(importsByRoom.keys))
        for (room, opened) in importsByRoom {
            for other in opened {
                guard let row = rooms[room], let below = rooms[other] else { continue }
                #expect(below < row || (row == 0 && below == 0), "\(room) of row \(row) opens \(other) of row \(below)")
            }
        }
    }

    @Test(
        "a corridor's first file names functions of types that are there",
        arguments: ["Appending/Appending", "Reading/Reading", "Building/Building", "Viewing/Viewing", "LogKeeping/LogKeeping"])
    func firstFiles(name: String) throws {
        let sources = try SourceFile.all(below: "Sources")
        let file = try #require(sources.first { $0.path.hasSuffix("/\(name).swift") })
        let named = file.lines.joined(separator: "\n").matches(of: #/`([A-Z]\w+)\.(\w+)/#)
        #expect(named.count >= 4)
        for match in named {
            let (type, function) = (match.output.1, match.output.2)
            let isThere = try sources.contains { source in
                let text = source.lines.joined(separator: "\n")
                return try text.contains(Regex(#"\b(class|struct|enum|extension) \#(type)\b"#))
                    && text.contains(Regex(#"\b(func|var) \#(function)\b"#))
            }
            #expect(isThere, "\(name) names \(type).\(function)")
        }
    }
}
