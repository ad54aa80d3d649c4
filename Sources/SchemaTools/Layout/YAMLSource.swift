internal import EventModel
internal import SchemaEvolution

/// The text from which a file's nodes were read: the notation of each scalar, and the comments.
struct YAMLSource {
    struct Comment: Hashable {
        /// Includes the leading `#`.
        let text: String
        let line: Int
        /// Whether nothing precedes the comment on its line.
        let isAlone: Bool
    }

    struct LineColumn: Hashable {
        let line, column: Int
    }

    let lines: [[Unicode.Scalar]]
    private(set) var comments: [Comment] = []
    /// The notation of each scalar on a single line, by its start location.
    private var written: [LineColumn: String] = [:]
    /// The end of each scalar, counted from 0, by its start location.
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
    func text(at mark: FileLocation) -> String? { written[LineColumn(line: mark.line, column: mark.column)] }

    /// The line in which the last scalar of a node ends.
    func lastLine(of node: FileNode) -> Int {
        switch node.kind {
        case .list(let nodes): nodes.last.map(lastLine) ?? node.mark.line
        case .map(let members): members.last.map { lastLine(of: $0.value) } ?? node.mark.line
        default: ends[LineColumn(line: node.mark.line, column: node.mark.column)].map { $0.line + 1 } ?? node.mark.line
        }
    }

    /// The end of the scalar that begins at a location, counted from 0.
    func end(ofScalarAt mark: FileLocation) -> LineColumn? { ends[LineColumn(line: mark.line, column: mark.column)] }

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
        skip(to: mark.line - 1, mark.column - 1)
        (line, column) = (mark.line - 1, mark.column - 1)
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
        let place = LineColumn(line: mark.line, column: mark.column)
        ends[place] = LineColumn(line: line, column: column)
        if line == mark.line - 1 { written[place] = String(String.UnicodeScalarView(text[start ..< column])) }
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
