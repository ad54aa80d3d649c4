import Foundation
import TestSupport

/// The source files of this checkout, found from where this file was compiled.
struct SourceFile: Sendable {
    let room: String
    let path: String
    let lines: [Substring]
    /// Lines of code, each with its number: comments and the insides of texts are left out.
    let code: [(number: Int, text: String)]

    private static let sources = Result { try read(below: "Sources") }
    private static let tests = Result { try read(below: "Tests") }

    /// Every Swift file below `Sources` or `Tests`; its room is the folder that it lies in.
    static func all(below folder: String) throws -> [SourceFile] { try (folder == "Sources" ? sources : tests).get() }

    private static func read(below folder: String) throws -> [SourceFile] {
        let base = Checkout.url(folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: base.path).sorted()
        return try names.filter { $0.hasSuffix(".swift") }.map { name in
            let text = try String(contentsOf: base.appending(path: name), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return SourceFile(room: String(name.prefix { $0 != "/" }), path: folder + "/" + name, lines: lines, code: code(of: lines))
        }
    }

    private static func code(of lines: [Substring]) -> [(number: Int, text: String)] {
        lines.enumerated().compactMap { index, line in
            var text = ""
            var inside = false
            var previous: Character = " "
            for character in line {
                if character == "\"", previous != "\\" { inside.toggle() }
                if character == "/", previous == "/", !inside {
                    text.removeLast()
                    break
                }
                if !inside || character == "\"" { text.append(character) }
                previous = character
            }
            return text.allSatisfy(\.isWhitespace) ? nil : (index + 1, text)
        }
    }
}
