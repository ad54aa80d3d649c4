import Foundation

/// A page of the docs catalogue, as far as tests read it: its headings, the tables and the fenced blocks below them.
package struct DocPage: Sendable {
    /// What stands below one heading, up to the next of any level; what stands before the first heading is a section without one.
    package struct Section: Sendable {
        fileprivate let level: Int
        package let heading: String
        fileprivate(set) var lines: [String] = []

        /// The name, where the heading is one in code voice: ``### `add` ``.
        package var name: String? {
            let parts = heading.split(separator: "`", omittingEmptySubsequences: false)
            return parts.count == 3 && parts[0].isEmpty && parts[2].isEmpty ? String(parts[1]) : nil
        }

        /// The rows of its tables, cell by cell, without the tables' heads.
        package var rows: [[String]] {
            lines.indices.filter { index in
                let isHead = index + 1 < lines.count && lines[index + 1].hasPrefix("| ---")
                return lines[index].hasPrefix("| ") && !lines[index].hasPrefix("| ---") && !isHead
            }.map { index in
                lines[index].dropFirst(2).dropLast(2).components(separatedBy: " | ").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }

        /// What its tables list: the names in code voice that rows begin with.
        package var listed: [String] {
            rows.filter { $0[0].hasPrefix("`") }.flatMap { $0[0].components(separatedBy: ", ") }.map { $0.filter { $0 != "`" } }
        }
    }

    /// A fenced block with the line that it begins at and the section that it is in.
    package struct Block: Sendable {
        package let page: String
        /// What it is, as its fence says: `sh`, `swift`, `yaml`, `example`, …
        package let kind: String
        package let line: Int
        package let section: String?
        package fileprivate(set) var lines: [String] = []

        package var text: String { lines.map { $0 + "\n" }.joined() }

        /// Its lines, each with those that go on behind it, which begin with a space.
        package var texts: [String] {
            lines.reduce(into: []) { texts, line in
                if line.hasPrefix(" ") { texts[texts.count - 1] += "\n" + line } else { texts.append(line) }
            }
        }
    }

    package let name: String
    package let text: String
    package private(set) var sections = [Section(level: 0, heading: "")]
    package private(set) var blocks: [Block] = []

    private static let folder = "Sources/Evstore/Evstore.docc"

    package init(_ name: String) throws {
        self.name = name
        text = try Checkout.text("\(Self.folder)/\(name).md")
        var isInside = false
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                isInside.toggle()
                let block = Block(page: name, kind: String(line.dropFirst(3)), line: index + 1, section: sections.last?.name)
                if isInside { blocks.append(block) }
            } else if isInside {
                blocks[blocks.count - 1].lines.append(line)
            } else if let match = line.wholeMatch(of: #/(##+) (.*)/#) {
                sections.append(Section(level: match.1.count, heading: String(match.2)))
            } else {
                sections[sections.count - 1].lines.append(line)
            }
        }
    }

    /// Every page of the catalogue.
    package static func all() throws -> [DocPage] {
        let names = try FileManager.default.contentsOfDirectory(atPath: Checkout.path(folder)).filter { $0.hasSuffix(".md") }
        return try names.sorted().map { try DocPage(String($0.dropLast(3))) }
    }

    package func blocks(_ kind: String) -> [Block] { blocks.filter { $0.kind == kind } }

    /// The names that have a section of their own.
    package var names: [String] { sections.compactMap(\.name) }

    package func section(_ name: String) -> Section? { sections.first { $0.name == name } }

    /// The rows of its tables, and of those below a heading and its lower ones where one is named.
    package func rows(below heading: String? = nil) -> [[String]] {
        guard let heading else { return sections.flatMap(\.rows) }
        guard let first = sections.firstIndex(where: { $0.heading == heading }) else { return [] }
        let lower = sections[(first + 1)...].prefix { $0.level > sections[first].level }
        return sections[first].rows + lower.flatMap(\.rows)
    }

    /// What it says in words: without blocks of code, code within lines and what it quotes.
    package var prose: String {
        text.replacing(#/```[\s\S]*?```/#, with: "").replacing(#/`[^`\n]*`/#, with: "").replacing(#/"[^"\n]*"/#, with: "")
    }
}
