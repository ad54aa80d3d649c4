internal import Bytes
internal import EventModel
internal import JSONText
internal import Yams

/// Reads a strict subset of YAML 1.1.
package struct YAMLFileReader {
    let file: String
    let lines: [[Unicode.Scalar]]

    static func read(_ text: [UInt8], file: String) throws(FileProblem) -> FileNode {
        let start = FileLocation(file: file, line: 1, column: 1)
        guard let string = String(utf8: text.lent) else { throw FileProblem(FileRule.syntax, "the file is not text in UTF-8", at: start) }
        let reader = YAMLFileReader(string, file: file)
        try reader.refuseTabs()
        try reader.refuseManyAliases()
        return try reader.read(string)
    }

    private init(_ text: String, file: String) { (self.file, lines) = (file, Self.lines(of: text)) }

    /// The lines of a text, counted as in `FileLocation`.
    package static func lines(of text: String) -> [[Unicode.Scalar]] {
        var lines: [[Unicode.Scalar]] = [[]]
        var previous: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            // The line breaks of YAML 1.1; a carriage return followed by a line feed counts as one.
            switch scalar {
            case "\n" where previous == "\r": break
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": lines.append([])
            default: lines[lines.count - 1].append(scalar)
            }
            previous = scalar
        }
        return lines
    }

    private func mark(_ line: Int, _ column: Int) -> FileLocation { FileLocation(file: file, line: line, column: column) }

    private func refused(_ message: String, at place: FileLocation, fix: String? = nil) -> FileProblem {
        FileProblem(FileRule.syntax, message, at: place, fix: fix)
    }

    private func refuseTabs() throws(FileProblem) {
        for (index, line) in lines.enumerated() {
            if let column = line.firstIndex(where: { $0 == "\t" }) {
                let place = mark(index + 1, column + 1)
                throw refused("there is a tab", at: place, fix: "indent with spaces; in a text write \"\\t\"")
                    .withRepairs(place.repair(.text(count: 1, line[..<column].allSatisfy { $0 == " " } ? "  " : " ")).certain)
            }
            if let column = line.firstIndex(of: "\u{feff}") {
                let place = mark(index + 1, column + 1)
                throw refused("there is a byte order mark", at: place, fix: "save the file as UTF-8 without one")
                    .withRepairs(place.repair(.text(count: 1, "")).certain)
            }
        }
    }

    private func read(_ text: String) throws(FileProblem) -> FileNode {
        let root: Node?
        do {
            // YAML's implicit types are not used, so the basic resolver is enough. If it finds duplicate keys, the text is parsed again
            // with the default resolver, which distinguishes 1 from "1", so that the duplicate can be located.
            do { root = try Parser(yaml: text, resolver: .basic, encoding: .utf8).singleRoot() } catch YamlError.duplicatedKeysInMapping {
                root = try Parser(yaml: text, encoding: .utf8).singleRoot()
            }
        } catch let error as YamlError {
            throw problem(error)
        } catch {
            throw refused("not valid YAML: \(error)", at: mark(1, 1))
        }
        guard let root else { throw refused("the file is empty", at: mark(1, 1)) }
        return try node(root, depth: 0, parent: mark(1, 1))
    }

    private func node(_ node: Node, depth: Int, parent: FileLocation) throws(FileProblem) -> FileNode {
        let place = node.mark.map { mark($0.line, $0.column) } ?? parent
        try refuseProperties(at: place)
        guard depth < FileReader.depthMax else { throw refused("nested more than \(FileReader.depthMax) deep", at: place) }
        switch node {
        case .scalar(let scalar): return FileNode(try kind(of: scalar, at: place), at: place)
        case .sequence(let sequence):
            var nodes: [FileNode] = []
            for element in sequence { nodes.append(try self.node(element, depth: depth + 1, parent: place)) }
            return FileNode(.list(nodes), at: place)
        case .mapping(let mapping):
            var members: [FileNode.Member] = []
            var seen: Set<Name> = []
            for (key, value) in mapping {
                let keyPlace = key.mark.map { mark($0.line, $0.column) } ?? place
                try refuseProperties(at: keyPlace)
                guard case .scalar(let scalar) = key else { throw refused("the name of a member must be a text", at: keyPlace) }
                if scalar.string == "<<", scalar.style == .plain {
                    throw refused("merge keys are refused", at: keyPlace, fix: "write the members out")
                }
                guard seen.insert(scalar.string) else { throw duplicate(scalar.string, at: keyPlace) }
                let child = try self.node(value, depth: depth + 1, parent: keyPlace)
                members.append(.init(name: scalar.string, place: keyPlace, value: child))
            }
            return FileNode(.map(members), at: place)
        case .alias: throw refused("aliases are refused", at: place, fix: "write it out where it is used")
        }
    }

    private func kind(of scalar: Node.Scalar, at place: FileLocation) throws(FileProblem) -> FileNode.Kind {
        guard scalar.style == .plain else { return .string(scalar.string) }
        switch scalar.string {
        case "": throw refused("there is no value", at: place, fix: "write null, \"\", [] or {}, or take the member out")
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: return scalar.string.isJSONNumber ? .number(scalar.string) : .string(scalar.string)
        }
    }

    /// Refuses an anchor, alias or tag by looking at the text, since the parser resolves them.
    private func refuseProperties(at place: FileLocation) throws(FileProblem) {
        guard lines.indices.contains(place.line - 1), lines[place.line - 1].indices.contains(place.column - 1) else { return }
        let fix = "write it out where it is used"
        switch lines[place.line - 1][place.column - 1] {
        case "&":
            throw FileProblem(FileRule.syntax, "anchors are refused", at: place, fix: fix, repairs: withoutAnchor(at: place))
        case "*": throw refused("aliases are refused", at: place, fix: fix)
        case "!":
            throw refused("tags are refused", at: place, fix: "put a text in quotes; write other values plainly")
                .withRepairs(place.repair(.text(count: word(at: place, andSpace: true).count, "")))
        default: break
        }
    }

    private func duplicate(_ name: String, at place: FileLocation) -> FileProblem {
        // The parser treats names that merely look alike as duplicates.
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 }
        let more = isPlain ? "" : ", or beside one that looks like it, which only a JSON file can hold"
        return FileProblem(
            FileRule.syntax, "the member \(quoted(name)) is there twice\(more)", at: place, fix: "keep one of the two",
            repairs: withoutLines(of: place))
    }

    private func problem(_ error: YamlError) -> FileProblem {
        switch error {
        case .scanner(_, let problem, let place, _), .parser(_, let problem, let place, _):
            return refused("not valid YAML: \(problem)", at: mark(place.line, place.column))
        case .composer(_, let problem, let place, _):
            let place = mark(place.line, place.column)
            if problem.contains("alias") { return refused("aliases are refused", at: place, fix: "write it out where it is used") }
            return refused("a second document begins here", at: place, fix: "a file holds one document")
        case .duplicatedKeysInMapping(let names, let context):
            let name = names.first ?? ""
            return duplicate(name, at: second(name, after: mark(context.mark.line, context.mark.column)))
        case .reader(let problem, _, _, _): return refused("not valid YAML: \(problem)", at: control)
        default: return refused("not valid YAML: \(error)", at: mark(1, 1))
        }
    }

    /// The location of a duplicate member, given the first one's location, which is returned if the duplicate is not found.
    private func second(_ name: String, after first: FileLocation) -> FileLocation {
        for index in lines.indices.dropFirst(first.line) {
            let indent = lines[index].prefix { $0 == " " }.count
            if indent == lines[index].count { continue }
            if indent < first.column - 1 { break }
            let rest = String(String.UnicodeScalarView(lines[index][indent...]))
            if indent == first.column - 1, rest.hasPrefix(name) || rest.dropFirst().hasPrefix(name) { return mark(index + 1, indent + 1) }
        }
        return first
    }

    /// The location of the first character that YAML does not allow.
    private var control: FileLocation {
        for (index, line) in lines.enumerated() {
            if let column = line.firstIndex(where: { $0.value < 0x20 || (0x7f ... 0x9f).contains($0.value) }) {
                return mark(index + 1, column + 1)
            }
        }
        return mark(1, 1)
    }
}

extension YAMLFileReader {
    /// The maximum number of aliases that are parsed; so few can't blow up a small text.
    private static let aliasesMax = 32

    /// Refuses a text with many aliases before it is parsed, since nested aliases expand exponentially. Counts words that look like an
    /// alias whose anchor exists. A text with fewer aliases is parsed, and refused at its first anchor or alias.
    func refuseManyAliases() throws(FileProblem) {
        var anchors: [String: FileLocation] = [:]
        var aliases: [String: Int] = [:]
        for (index, line) in lines.enumerated() {
            for column in line.indices where line[column] == "&" || line[column] == "*" {
                guard column == 0 || " [{,:?-".unicodeScalars.contains(line[column - 1]) else { continue }
                let name = line[(column + 1)...].prefix {
                    $0.properties.isAlphabetic || $0.properties.numericType != nil || "-_".unicodeScalars.contains($0)
                }
                let text = String(String.UnicodeScalarView(name))
                if line[column] == "*" {
                    aliases[text, default: 0] += 1
                } else if anchors[text] == nil {
                    anchors[text] = FileLocation(file: file, line: index + 1, column: column + 1)
                }
            }
        }
        let count = anchors.keys.sum { aliases[$0, default: 0] }
        let first = anchors.values.min { ($0.line, $0.column) < ($1.line, $1.column) }
        guard count > Self.aliasesMax, let first else { return }
        throw refused("anchors are refused", at: first, fix: "write it out where it is used")
    }
}

/// Repairs for a text that can't be parsed.
extension YAMLFileReader {
    /// The characters from a location up to the next space, comma or bracket.
    func word(at place: FileLocation, andSpace: Bool) -> [Unicode.Scalar] {
        let rest = lines[place.line - 1][(place.column - 1)...]
        let word = rest.prefix { !" ,[]{}".unicodeScalars.contains($0) }
        return Array(word) + (andSpace ? rest.dropFirst(word.count).prefix { $0 == " " } : [])
    }

    /// Removes an anchor and replaces each alias by the value. Returns no repairs if the value does not end on the anchor's line.
    func withoutAnchor(at place: FileLocation) -> [Repair] {
        let anchor = word(at: place, andSpace: true)
        let line = lines[place.line - 1]
        let value = line[(place.column - 1 + anchor.count)...]
        guard let first = value.first, first != "#" else { return [] }
        let text = Array(first == "{" || first == "[" ? bracketed(value) : value)
        guard !text.isEmpty else { return [] }
        var repairs = [place.repair(.text(count: anchor.count, ""))]
        let alias = ["*"] + word(at: place, andSpace: false).dropFirst()
        for (index, line) in lines.enumerated() {
            for column in line.indices where line[column] == "*" && (column == 0 || " [{,".unicodeScalars.contains(line[column - 1])) {
                let mark = FileLocation(file: place.file, line: index + 1, column: column + 1)
                guard word(at: mark, andSpace: false) == alias else { continue }
                repairs.append(mark.repair(.text(count: alias.count, String(String.UnicodeScalarView(text)))))
            }
        }
        return repairs
    }

    /// The text up to the bracket that closes the first one; empty if that is not on the line.
    private func bracketed(_ text: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        var depth = 0
        var quote: Unicode.Scalar?
        for index in text.indices {
            let scalar = text[index]
            if let open = quote {
                if scalar == open { quote = nil }
            } else if scalar == "\"" || scalar == "'" {
                quote = scalar
            } else if scalar == "{" || scalar == "[" {
                depth += 1
            } else if scalar == "}" || scalar == "]" {
                depth -= 1
                if depth == 0 { return text[...index] }
            }
        }
        return []
    }

    /// Removes a member with all lines indented below it. Returns no repairs if the member is not the first text on its line.
    func withoutLines(of place: FileLocation) -> [Repair] {
        let line = lines[place.line - 1]
        guard line.prefix(while: { $0 == " " }).count == place.column - 1 else { return [] }
        var last = place.line
        while last < lines.count, lines[last].prefix(while: { $0 == " " }).count >= place.column, lines[last].contains(where: { $0 != " " })
        {
            last += 1
        }
        return (place.line ... last).map { FileLocation(file: place.file, line: $0, column: 1).repair(.cut) }
    }
}

extension String {
    /// Whether the whole text is a JSON number (RFC 8259, section 6).
    var isJSONNumber: Bool {
        guard let first = utf8.first, first == UInt8(ascii: "-") || (48 ... 57).contains(first) else { return false }
        guard utf8.allSatisfy({ (48 ... 57).contains($0) || "+-.eE".utf8.contains($0) }) else { return false }
        do { return try JSONScanner.validate(Array(utf8).lent, limits: JSONLimits()) == .number } catch { return false }
    }
}
