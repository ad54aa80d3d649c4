internal import EventModel
internal import JSONText
internal import SchemaEvolution

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
