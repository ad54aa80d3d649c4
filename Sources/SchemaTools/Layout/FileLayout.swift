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

/// Writes nodes as YAML, with the comments from the original text.
struct YAMLLayout {
    private struct Line {
        var text: String
        var comment: String?
        /// The column of a value that may be moved to the right; nil if there is none.
        var valueColumn: Int?
    }

    private let root: FileNode
    private let source: YAMLSource?
    private let places: LayoutRules
    private var pending: ArraySlice<YAMLSource.Comment>
    /// The last line whose preceding blank line was handled: several entries may begin on one line.
    private var led = 0

    init(_ root: FileNode, _ source: YAMLSource?) {
        (self.root, self.source) = (root, source)
        places = LayoutRules(root)
        pending = (source?.comments ?? [])[...]
    }

    /// Can be read only once, since it consumes the comments.
    var text: String {
        mutating get {
            var lines = block(places.ordered(root, hasComments: !pending.isEmpty), [], 0)
            for comment in pending { lines.append(Line(text: comment.text)) }
            pending = []
            while lines.first?.text.isEmpty == true { lines.removeFirst() }
            return Self.aligned(lines).joined(separator: "\n") + "\n"
        }
    }

    // MARK: Lines

    /// Writes a node on as many lines as it has entries, without indentation.
    private mutating func block(_ node: FileNode, _ path: [String], _ indent: Int) -> [Line] {
        switch node.kind {
        case .list(let nodes) where !nodes.isEmpty:
            return nodes.flatMap { node in
                let before = leading(node.mark.line)
                var lines = value(node, path + ["*"], indent + 2, used: indent + 2)
                for index in lines.indices where !(lines[index].text.isEmpty && lines[index].comment == nil) {
                    lines[index].text = (index == 0 ? "- " : "  ") + lines[index].text
                }
                return before + lines
            }
        case .map(let members) where !members.isEmpty:
            var lines: [Line] = []
            for member in members {
                lines += leading(member.place.line)
                lines += entry(member, path + [member.name], indent)
            }
            return places.alignsValues(of: path) ? Self.columns(lines) : lines
        default: return value(node, path, indent, used: indent)
        }
    }

    private mutating func entry(_ member: FileNode.Member, _ path: [String], _ indent: Int) -> [Line] {
        let name = scalar(member.name, at: member.place) + ":"
        if isBlock(member.value, path, used: indent + name.count + 1) {
            let head = Line(text: name, comment: trailing(member.place.line))
            return [head]
                + block(member.value, path, indent + 2).map { line in
                    Line(text: line.text.isEmpty ? "" : "  " + line.text, comment: line.comment)
                }
        }
        let line = Line(
            text: name + " " + flow(member.value), comment: trailing(source?.lastLine(of: member.value)), valueColumn: name.count + 1)
        return [line]
    }

    private mutating func value(_ node: FileNode, _ path: [String], _ indent: Int, used: Int) -> [Line] {
        if isBlock(node, path, used: used) { return block(node, path, indent) }
        return [Line(text: flow(node), comment: trailing(source?.lastLine(of: node)))]
    }

    private func isBlock(_ node: FileNode, _ path: [String], used: Int) -> Bool {
        switch node.kind {
        case .list(let nodes) where !nodes.isEmpty: break
        case .map(let members) where !members.isEmpty: break
        default: return false
        }
        if places.isBlock(path) || used + flow(node).count > FileLayout.width { return true }
        guard let source else { return false }
        if !source.isFlow(node) { return true }
        let last = source.lastLine(of: node)
        return pending.contains { $0.line >= node.mark.line && $0.line < last }
    }

    private func flow(_ node: FileNode) -> String {
        switch node.kind {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): text
        case .string(let text): scalar(text, at: node.mark)
        case .list(let nodes): "[" + nodes.map(flow).joined(separator: ", ") + "]"
        case .map(let members):
            "{" + members.map { "\(scalar($0.name, at: $0.place)): \(flow($0.value))" }.joined(separator: ", ") + "}"
        }
    }

    /// A text as its author wrote it, but in double quotes if it was on several lines or in single quotes.
    private func scalar(_ value: String, at mark: FileLocation) -> String {
        guard let source else { return value.yamlScalar }
        guard let written = source.text(at: mark), !written.hasPrefix("'"), !written.hasPrefix("|"), !written.hasPrefix(">") else {
            return value.yamlQuoted
        }
        return written
    }

    // MARK: Comments

    /// The comments above a line, and the blank line above them.
    private mutating func leading(_ line: Int) -> [Line] {
        guard let source, line > led else { return [] }
        led = line
        var lines: [Line] = []
        var first = line
        while let comment = pending.first, comment.line < line {
            if lines.isEmpty { first = comment.line }
            if !lines.isEmpty, source.isBlank(comment.line - 1) { lines.append(Line(text: "")) }
            lines.append(Line(text: comment.text))
            pending.removeFirst()
        }
        if !lines.isEmpty, first != line, source.isBlank(line - 1) { lines.append(Line(text: "")) }
        return source.isBlank(first - 1) ? [Line(text: "")] + lines : lines
    }

    /// The comment at the end of a line.
    private mutating func trailing(_ line: Int?) -> String? {
        guard let comment = pending.first, comment.line == line, !comment.isAlone else { return nil }
        pending.removeFirst()
        return comment.text
    }

    // MARK: Columns

    /// Aligns the values of adjacent lines in one column.
    private static func columns(_ lines: [Line]) -> [Line] {
        var lines = lines
        var start = 0
        while start < lines.count {
            var end = start
            while end < lines.count, lines[end].valueColumn != nil { end += 1 }
            let width = lines[start ..< end].compactMap(\.valueColumn).max() ?? 0
            for index in start ..< end {
                guard let column = lines[index].valueColumn else { continue }
                let place = lines[index].text.index(lines[index].text.startIndex, offsetBy: column)
                lines[index].text.insert(contentsOf: String(repeating: " ", count: width - column), at: place)
            }
            start = end + 1
        }
        return lines
    }

    /// Aligns the comments of adjacent lines in one column.
    private static func aligned(_ lines: [Line]) -> [String] {
        var result: [String] = []
        var start = 0
        while start < lines.count {
            var end = start
            while end < lines.count, lines[end].comment != nil { end += 1 }
            let width = lines[start ..< end].map(\.text.count).max() ?? 0
            for line in lines[start ..< end] {
                result.append(line.text + String(repeating: " ", count: width - line.text.count + 2) + (line.comment ?? ""))
            }
            if end < lines.count { result.append(lines[end].text) }
            start = end + 1
        }
        return result
    }
}

/// A location in a text, with lines and columns counted from 0.
struct LineColumn: Hashable {
    let line, column: Int

    init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

    init(_ mark: FileLocation) { (line, column) = (mark.line - 1, mark.column - 1) }
}

/// The text from which a file's nodes were read: the notation of each scalar, and the comments.
struct YAMLSource {
    struct Comment: Hashable {
        /// Includes the leading `#`.
        let text: String
        let line: Int
        /// Whether nothing precedes the comment on its line.
        let isAlone: Bool
    }

    let lines: [[Unicode.Scalar]]
    private(set) var comments: [Comment] = []
    /// The notation of each scalar on a single line, by its start location.
    private var written: [LineColumn: String] = [:]
    /// The end of each scalar, by its start location.
    private var ends: [LineColumn: LineColumn] = [:]
    // The current location of the scan, counted from 0.
    private var line = 0
    private var column = 0

    init(_ text: String, _ root: FileNode) {
        lines = YAMLFileReader.lines(of: text)
        scan(root)
        skip(to: lines.count, 0)
    }

    /// Whether a line is blank; false for lines outside the text.
    func isBlank(_ line: Int) -> Bool { lines.indices.contains(line - 1) && lines[line - 1].allSatisfy { $0 == " " } }

    /// Whether a list or map is written in brackets.
    func isFlow(_ node: FileNode) -> Bool {
        guard lines.indices.contains(node.mark.line - 1), lines[node.mark.line - 1].indices.contains(node.mark.column - 1) else {
            return false
        }
        return ["{", "["].contains(lines[node.mark.line - 1][node.mark.column - 1])
    }

    /// The notation of a scalar, if it is on a single line.
    func text(at mark: FileLocation) -> String? { written[LineColumn(mark)] }

    /// The line in which the last scalar of a node ends.
    func lastLine(of node: FileNode) -> Int {
        switch node.kind {
        case .list(let nodes): nodes.last.map(lastLine) ?? node.mark.line
        case .map(let members): members.last.map { lastLine(of: $0.value) } ?? node.mark.line
        default: ends[LineColumn(node.mark)].map { $0.line + 1 } ?? node.mark.line
        }
    }

    func end(ofScalarAt mark: FileLocation) -> LineColumn? { ends[LineColumn(mark)] }

    private mutating func scan(_ node: FileNode) {
        switch node.kind {
        case .null: pass("null", at: node.mark)
        case .bool(let value): pass(String(value), at: node.mark)
        case .number(let text), .string(let text): pass(text, at: node.mark)
        case .list(let nodes): for node in nodes { scan(node) }
        case .map(let members):
            for member in members {
                pass(member.name, at: member.place)
                scan(member.value)
            }
        }
    }

    /// Moves from one scalar to the next; only structure and comments lie between them.
    private mutating func skip(to targetLine: Int, _ targetColumn: Int) {
        while line < lines.count, (line, column) < (targetLine, targetColumn) {
            let text = lines[line]
            if column < text.count, text[column] == "#" {
                let isAlone = text[..<column].allSatisfy { $0 == " " }
                var words = text[column...]
                while words.last == " " { words.removeLast() }
                comments.append(Comment(text: String(String.UnicodeScalarView(words)), line: line + 1, isAlone: isAlone))
                column = text.count
            }
            column += 1
            if column >= text.count { (line, column) = (line + 1, 0) }
        }
    }

    private mutating func pass(_ value: String, at mark: FileLocation) {
        let place = LineColumn(mark)
        skip(to: place.line, place.column)
        (line, column) = (place.line, place.column)
        guard lines.indices.contains(line), column < lines[line].count else { return }
        let (start, text) = (column, lines[line])
        switch text[column] {
        case "\"", "'": passQuoted(text[column])
        case "|", ">":
            while column < lines[line].count, lines[line][column] != " " { column += 1 }
            skip(to: line + 1, 0)
            passPlain(value)
        default: passPlain(value)
        }
        ends[place] = LineColumn(line: line, column: column)
        if line == place.line { written[place] = String(String.UnicodeScalarView(text[start ..< column])) }
    }

    private mutating func passQuoted(_ quote: Unicode.Scalar) {
        column += 1
        while line < lines.count {
            let text = lines[line]
            while column < text.count {
                if text[column] == "\\", quote == "\"" {
                    column += 2
                } else if text[column] == quote {
                    column += 1
                    guard quote == "'", column < text.count, text[column] == "'" else { return }
                    column += 1
                } else {
                    column += 1
                }
            }
            (line, column) = (line + 1, 0)
        }
    }

    /// Skips the characters of a scalar, ignoring any spaces and line breaks between them.
    private mutating func passPlain(_ value: String) {
        for scalar in value.unicodeScalars where scalar != " " && scalar != "\n" {
            while line < lines.count, column >= lines[line].count || lines[line][column] == " " {
                column += 1
                if column >= lines[line].count { (line, column) = (line + 1, 0) }
            }
            guard line < lines.count, lines[line][column] == scalar else { return }
            column += 1
        }
    }
}
