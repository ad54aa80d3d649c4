internal import Bytes
package import EventModel
internal import JSONText
internal import SchemaEvolution

/// The canonical layout of a version, projection or rules file.
///
/// Indentation is two spaces, lists are indented within their member, a comma is followed by a space, and the values of `properties` are
/// aligned in one column. Text within brackets stays in brackets if it fits in 140 columns; comments and single blank lines are preserved.
package enum FileLayout {
    package enum Form: String, Sendable, CaseIterable { case yaml, json }

    static let width = 140

    /// The text in canonical layout, which parses to exactly equal values.
    /// - Throws: `schemaInvalid` if the text can't be read or if comments would be lost.
    package static func format(_ text: [UInt8], file: String, as form: Form, droppingComments: Bool = false) throws(EvstoreError) -> String
    {
        let root = try FileReader.read(text: text, file: file)
        let isYAML = !file.hasSuffix(".json")
        let source = isYAML ? YAMLSource(String(decoding: text, as: UTF8.self), root) : nil
        if form == .json {
            if let comment = source?.comments.first, !droppingComments {
                throw refusal(file, comment.line, "JSON has no comments, and here is one", "run it again, \(.dropComments)")
            }
            return root.json.indented(width: 100).joined(separator: "\n") + "\n"
        }
        var layout = YAMLLayout(root, source)
        let result = layout.text
        // The file is refused unless the new text parses to equal values and comments.
        let again = try FileReader.read(text: Array(result.utf8), file: file.hasSuffix(".json") ? file.dropLast(5) + ".yaml" : file)
        let comments = YAMLSource(result, again).comments.map(\.text)
        guard again.json.canonical() == root.json.canonical(), comments == source?.comments.map(\.text) ?? [] else {
            throw refusal(
                file, 1, "the file is laid out in a way that can't be kept",
                "write its long texts on one line, its comments on lines of their own")
        }
        return result
    }

    private static func refusal(_ file: String, _ line: Int, _ message: String, _ advice: Advice) -> EvstoreError {
        .schemaInvalid([Finding(id: FileRule.syntax, file: file, line: line, column: 1, message: message, advice: advice)])
    }
}

extension JSONValue {
    /// JSON text on several lines; a value that fits into the width stays on one line.
    package func indented(width: Int) -> [String] {
        let whole = spaced
        if whole.utf8.count <= width { return [whole] }
        switch self {
        case .object(let members):
            let inner = members.map { member in
                var lines = member.value.indented(width: width - 2)
                lines[0] = JSONValue.string(member.name).text + ": " + lines[0]
                return lines
            }
            return Self.bracketed("{", inner, "}")
        case .array(let elements): return Self.bracketed("[", elements.map { $0.indented(width: width - 2) }, "]")
        default: return [whole]
        }
    }

    /// JSON on one line, with a space after each comma and colon.
    private var spaced: String {
        switch self {
        case .array(let values): "[" + values.map(\.spaced).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { "\(JSONValue.string($0.name).text): \($0.value.spaced)" }.joined(separator: ", ") + "}"
        default: text
        }
    }

    private static func bracketed(_ open: String, _ parts: [[String]], _ close: String) -> [String] {
        var lines = [open]
        for (index, part) in parts.enumerated() {
            lines += part.map { "  " + $0 }
            if index < parts.count - 1 { lines[lines.count - 1] += "," }
        }
        return lines + [close]
    }
}

/// The parts of a file that have a special layout, by path; `*` stands for an item of a list.
struct LayoutRules {
    private enum Kind { case version, projections, other }

    private let kind: Kind

    init(_ root: FileNode) {
        kind = root.member("projections") != nil ? .projections : root.member("events") != nil ? .version : .other
    }

    /// The members of a version file in the order of the format. Files with comments are not reordered.
    func ordered(_ root: FileNode, hasComments: Bool) -> FileNode {
        guard kind == .version, !hasComments, case .map(let members) = root.kind else { return root }
        let known = VersionFile.members.flatMap { name in members.filter { $0.name == name } }
        return FileNode(.map(known + members.filter { !VersionFile.members.contains($0.name) }), at: root.mark)
    }

    /// Whether each entry of a list or map is on a line of its own regardless of its length.
    func isBlock(_ path: [String]) -> Bool {
        guard let first = path.first else { return true }
        switch (kind, first) {
        case (.version, "upcast"): return path.count <= 2 || path.count <= 4 && path[2] == "do"
        case (.version, "adopt"): return path.count <= 2
        case (.version, "events"): return path.count <= 2 || path.count == 3 && path[2] == "properties"
        case (.version, "$defs"): return path.count == 1
        case (.projections, "projections"): return path.count <= 3 || path.count == 4 && path[3] == "on"
        default: return false
        }
    }

    /// Whether the values of a map's members are aligned in one column.
    func alignsValues(of path: [String]) -> Bool {
        switch kind {
        case .version: path.last == "properties" && path.count > 2
        case .projections: path.count == 4 && path[3] == "on"
        case .other: false
        }
    }
}
