import Foundation

/// A page of the docs catalogue.
struct DocPage: Sendable {
    let name: String
    let text: String

    static let folder = SourceFile.root.appending(path: "Sources/Evstore/Evstore.docc")

    init(_ name: String) throws {
        self.name = name
        text = try String(contentsOf: Self.folder.appending(path: name + ".md"), encoding: .utf8)
    }

    static func all() throws -> [DocPage] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
        return try names.sorted().map { try DocPage(String($0.dropLast(3))) }
    }

    /// The rows of its tables below a heading (all of them where nil), without the heads of the tables.
    func rows(below heading: String? = nil) -> [[String]] {
        var rows: [[String]] = []
        var isBelow = heading == nil
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if let heading, line.hasPrefix("## ") { isBelow = line == "## " + heading }
            let isHead = index + 1 < lines.count && lines[index + 1].hasPrefix("| ---")
            guard isBelow, line.hasPrefix("| "), !line.hasPrefix("| ---"), !isHead else { continue }
            rows.append(line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) })
        }
        return rows
    }

    /// What it says in words: without blocks of code, code within lines and what it quotes.
    var prose: String {
        text.replacing(#/```[\s\S]*?```/#, with: "").replacing(#/`[^`\n]*`/#, with: "").replacing(#/"[^"\n]*"/#, with: "")
    }
}
