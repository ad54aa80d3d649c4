import Foundation

/// A page of the docs catalogue, as far as tests read it: its headings, the tables and the fenced blocks below them.
struct DocPage: Sendable {
    /// What stands below one heading, up to the next of any level.
    struct Section: Sendable {
        let heading: String
        fileprivate(set) var lines: [String] = []

        /// The name, where the heading is one in code voice: ``### `add` ``.
        var name: String? {
            let parts = heading.split(separator: "`", omittingEmptySubsequences: false)
            return parts.count == 3 && parts[0].isEmpty && parts[2].isEmpty ? String(parts[1]) : nil
        }

        /// The rows of its tables, cell by cell.
        var rows: [[String]] {
            lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }.map { line in
                line.dropFirst(2).dropLast(2).components(separatedBy: " | ").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }

        /// What its tables list: the names in code voice that rows begin with.
        var listed: [String] {
            rows.filter { $0[0].hasPrefix("`") }.flatMap { $0[0].components(separatedBy: ", ") }.map { $0.filter { $0 != "`" } }
        }
    }

    /// A fenced block with the line that it begins at and the section that it is in.
    struct Block: Sendable {
        let page: String
        let line: Int
        let section: String?
        fileprivate(set) var lines: [String] = []

        /// Its lines, each with those that go on behind it, which begin with a space.
        var texts: [String] {
            lines.reduce(into: []) { texts, line in
                if line.hasPrefix(" ") { texts[texts.count - 1] += "\n" + line } else { texts.append(line) }
            }
        }
    }

    let name: String
    private(set) var sections: [Section] = []
    private var blocks: [(kind: String, block: Block)] = []

    static let catalogue = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/Evstore/Evstore.docc")

    init(_ name: String) throws {
        self.name = name
        let text = try String(contentsOf: Self.catalogue.appending(path: "\(name).md"), encoding: .utf8)
        var isInside = false
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                isInside.toggle()
                let block = Block(page: name, line: index + 1, section: sections.last?.name)
                if isInside { blocks.append((String(line.dropFirst(3)), block)) }
            } else if isInside {
                blocks[blocks.count - 1].block.lines.append(line)
            } else if line.hasPrefix("## ") || line.hasPrefix("### ") {
                sections.append(Section(heading: String(line.drop { $0 == "#" }.dropFirst())))
            } else if !sections.isEmpty {
                sections[sections.count - 1].lines.append(line)
            }
        }
    }

    func blocks(_ kind: String) -> [Block] { blocks.filter { $0.kind == kind }.map(\.block) }

    /// What its fenced blocks are.
    var kinds: Set<String> { Set(blocks.map(\.kind)) }

    /// The names that have a section of their own.
    var names: [String] { sections.compactMap(\.name) }

    func section(_ name: String) -> Section? { sections.first { $0.name == name } }

    /// The pages whose blocks are run.
    static let reference = ["VersionFiles", "Ops", "Codecs", "ProjectionFiles", "Semantics"]

    static func all(_ kind: String) -> [Block] { reference.flatMap { name in (try? DocPage(name))?.blocks(kind) ?? [] } }
}
