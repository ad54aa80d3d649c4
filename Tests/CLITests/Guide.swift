import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A page of the docs catalogue, as what a reader does with it.
///
/// - ```` ```yaml ```` begins with the name of the file that it is (`# Schemas/shop/v1.yaml`), or with `# …, at its end`.
/// - ```` ```sh ```` is run, in order, in one directory; not where its first line is `# Not run by the tests: ` and why.
/// - ```` ```text ```` is all that the commands before it print; `…` stands for the rest of a word or line, alone for any lines.
/// - ```` ```swift ```` stands word for word in a source that is compiled; one that begins with `// Sources/NAME/main.swift` is the
///   whole program, which `.build/debug/NAME` runs.
///
/// A page whose files are "those of `<doc:PAGE#Overview>`" goes on from what that page does there.
struct Guide {
    struct Block {
        var language: String
        var text: String
        /// The line of the page that it begins on, and the heading that it stands below.
        var line: Int
        var heading: String

        var firstLine: Substring { text.prefix { $0 != "\n" } }
        var isRun: Bool { language == "sh" && !text.hasPrefix("# Not run by the tests: ") }
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    let name: String
    let text: String
    let blocks: [Block]

    /// - Parameter name: of a page of the docs catalogue, or the path of one elsewhere in the tree.
    init(_ name: String) throws {
        self.name = name
        let path = name.hasSuffix(".md") ? name : "Sources/Evstore/Evstore.docc/\(name).md"
        text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        var (blocks, open, heading) = ([Block](), nil as Block?, "")
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if !line.hasPrefix("```") {
                open?.text += line + "\n"
                if open == nil, line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            } else if let block = open {
                blocks.append(block)
                open = nil
            } else {
                open = Block(language: String(line.dropFirst(3)), text: "", line: index + 1, heading: heading)
            }
        }
        self.blocks = blocks
    }

    /// What another page does before this one begins.
    private func scene() throws -> [Block] {
        guard let match = text.firstMatch(of: #/those of\s+<doc:([A-Za-z]+)#Overview>/#) else { return [] }
        return try Guide(String(match.1)).blocks.filter { $0.heading == "Overview" }
    }

    /// The program that a block of Swift is, by the name that the reader gives it; nil for a part of one.
    static func program(_ block: Block) -> String? {
        guard let match = block.firstLine.wholeMatch(of: #/// Sources/([a-z]+)/main\.swift/#) else { return nil }
        return String(match.1)
    }

    /// Does all that the page says, in a directory of its own.
    func follow() throws {
        let directory = try TemporaryDirectory()
        let products = URL(filePath: BuiltProgram().path).deletingLastPathComponent().path
        try directory.write("", to: ".build/debug/.made")
        for (called, built) in ["shop": "GuideShop", "service": "GuideService"] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.path + "/.build/debug/" + called, withDestinationPath: products + "/" + built)
        }
        var printed: String?
        for block in try scene() + blocks {
            let place = "\(name).md:\(block.line)"
            switch block.language {
            case "yaml": try write(block, into: directory)
            case "sh":
                guard block.isRun else { continue }
                let script = "PATH='\(products)':$PATH; cd '\(directory.path)'; exec 2>&1\n\(block.text)"
                let outcome = try BuiltProgram(path: "/bin/sh").run(["-ec", script])
                try #require(outcome.exit == 0, "\(place) ends with \(outcome.exit):\n\(outcome.output)")
                printed = outcome.output
            case "text":
                let output = try #require(printed, "\(place) shows what no command before it has printed")
                #expect(Self.isShown(output, by: block.text), "\(place) is not what was printed:\n\(output)")
                printed = nil
            case "swift", "ini": break
            default: Issue.record("\(place): nobody knows what to do with \(block.language)")
            }
        }
    }

    private func write(_ block: Block, into directory: TemporaryDirectory) throws {
        let place = "\(name).md:\(block.line)"
        let match = try #require(block.firstLine.wholeMatch(of: #/# ([A-Za-z0-9./]+)(, at its end)?/#), "\(place) names no file")
        let file = String(match.1)
        let before = match.2 == nil ? "" : try String(contentsOfFile: directory.path + "/" + file, encoding: .utf8)
        try directory.write(before + block.text, to: file)
    }

    /// Whether a page's block is the output, whatever stands where it has `…`.
    static func isShown(_ output: String, by shown: String) -> Bool {
        let lines = shown.components(separatedBy: "\n").dropLast().map { line in
            if line == "…" { return "(?:.*\n)*?" }
            return line.components(separatedBy: "…").map(NSRegularExpression.escapedPattern).joined(separator: ".*") + "\n"
        }
        return output.range(of: "\\A" + lines.joined() + "\\z", options: .regularExpression) != nil
    }
}
