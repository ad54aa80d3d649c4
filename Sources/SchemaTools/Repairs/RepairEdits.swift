internal import Bytes
package import EventModel
internal import JSONText
internal import SchemaEvolution

/// Turns the repairs of findings into edits of lines, using the texts of the files.
package enum RepairEdits {
    /// The maximum size of all edits together in bytes: in a file with one long line, each edit contains that line twice.
    private static let textMax = 4 << 20

    /// The findings with their edits. A finding about a file that does not exist or that was changed in the meantime gets none.
    package static func complete(_ findings: [Finding]) -> [Finding] {
        let sources = EditableSources(SchemaTexts(directory: ""))
        var room = textMax
        return findings.map { finding in
            guard room > 0 else { return finding }
            var finding = finding
            finding.edits = edits(of: finding, in: sources) ?? []
            for line in finding.edits.flatMap({ $0.remove + $0.insert }) { room -= line.utf8.count }
            return finding
        }
    }

    /// The findings with edits that fix all of them at once. If several findings touch a line, the first of them has the edit. Nil if one
    /// can't be fixed along with the others, or by renaming a file.
    static func edits(ofAll findings: [Finding], in sources: EditableSources) -> [Finding]? {
        var fixed = findings
        var splices: [String: [TextSplice]] = [:]
        for index in fixed.indices {
            fixed[index].edits = []
            for repair in fixed[index].repairs {
                guard var splice = sources[repair.file].splice(repair) else { return nil }
                splice.owner = index
                splices[repair.file, default: []].append(splice)
            }
        }
        for (file, splices) in splices.sorted(by: { $0.key < $1.key }) {
            let groups = TextSplice.groups(splices)
            // No splice of a group begins before the end of the previous one.
            let areApart = groups.allSatisfy { group in
                zip(group, group.dropFirst()).allSatisfy { ($0.to.line, $0.to.column) <= ($1.from.line, $1.from.column) }
            }
            guard areApart else { return nil }
            for group in groups {
                let owner = group.map(\.owner).min() ?? 0
                fixed[owner].edits.append(TextSplice.edit(group, of: file, sources[file].lines))
            }
        }
        return fixed
    }

    /// The repairs of a finding as edits of texts; nil if none apply.
    static func edits(of finding: Finding, in sources: EditableSources) -> [FileEdit]? {
        var edits: [FileEdit] = []
        var files: [String] = []
        for repair in finding.repairs where !files.contains(repair.file) { files.append(repair.file) }
        for file in files {
            let source = sources[file]
            let (here, lines) = (finding.repairs.filter { $0.file == file }, source.lines)
            var splices: [TextSplice] = []
            var renamed: String?
            for repair in here {
                if case .move(let name) = repair.change {
                    renamed = name
                } else if let splice = source.splice(repair) {
                    splices.append(splice)
                } else {
                    return nil
                }
            }
            var made = TextSplice.groups(splices).map { TextSplice.edit($0, of: file, lines) }
            if let renamed {
                if made.isEmpty { made = [FileEdit(file: file, line: 1)] }
                made[made.count - 1].renamed = renamed
            }
            edits += made
        }
        return edits.isEmpty ? nil : edits
    }
}

/// Texts for edits, each parsed once.
final class EditableSources {
    private let texts: SchemaTexts
    private var sources: [String: EditableSource] = [:]

    init(_ texts: SchemaTexts) { self.texts = texts }

    subscript(file: String) -> EditableSource {
        if let source = sources[file] { return source }
        let source = EditableSource(file, texts.lines(path: file))
        sources[file] = source
        return source
    }
}

/// A replacement of the characters between two locations; lines and columns are counted from 0.
struct TextSplice {
    var from: LineColumn
    var to: LineColumn
    var text: String
    /// The index of the finding that it fixes, if there are several.
    var owner = 0

    /// The splices in the order of the text, grouped by the lines that they touch.
    static func groups(_ splices: [TextSplice]) -> [[TextSplice]] {
        var groups: [[TextSplice]] = []
        for splice in splices.sorted(by: { ($0.from.line, $0.from.column) < ($1.from.line, $1.from.column) }) {
            if let last = groups.last?.last, splice.from.line <= last.to.line {
                groups[groups.count - 1].append(splice)
            } else {
                groups.append([splice])
            }
        }
        return groups
    }

    /// The edit of whole lines for splices that touch a common line.
    static func edit(_ splices: [TextSplice], of file: String, _ lines: [[Unicode.Scalar]]) -> FileEdit {
        let (first, last) = (splices[0].from.line, splices[splices.count - 1].to.line)
        func text(_ line: Int) -> String { line < lines.count ? String(String.UnicodeScalarView(lines[line])) : "" }
        func text(_ line: Int, _ columns: Range<Int>) -> String {
            line < lines.count ? String(String.UnicodeScalarView(lines[line][columns.clamped(to: 0 ..< lines[line].count)])) : ""
        }
        var result = ""
        var place = LineColumn(line: first, column: 0)
        for splice in splices {
            // Within a group, the text between two splices lies on a single line.
            result += text(place.line, place.column ..< max(place.column, splice.from.column)) + splice.text
            place = splice.to
        }
        result += text(place.line, place.column ..< Int.max)
        var old = (first ... last).map(text)
        var new = result.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // The last line of a text is the empty text after its last line break.
        if last >= lines.count - 1, old.last == "", new.last == "" {
            old.removeLast()
            new.removeLast()
        }
        let same = zip(old, new).prefix { $0 == $1 }.count
        (old, new) = (Array(old[same...]), Array(new[same...]))
        while let end = old.last, end == new.last {
            old.removeLast()
            new.removeLast()
        }
        return FileEdit(file: file, line: first + same + 1, remove: old, insert: new)
    }
}

/// A file's text with its parsed nodes, used to locate the start and end of values.
struct EditableSource {
    let lines: [[Unicode.Scalar]]
    let isJSON: Bool
    /// Nil if the text can't be parsed; only repairs of characters and lines can then be applied.
    private let read: (root: FileNode, source: YAMLSource)?

    init(_ file: String, _ lines: [[Unicode.Scalar]]) {
        self.lines = lines
        isJSON = file.hasSuffix(".json") || file.hasSuffix(SchemaLock.fileName)
        let text = String(String.UnicodeScalarView(lines.joined(separator: ["\n"])))
        do {
            let root = try FileReader.read(text: Array(text.utf8), file: file)
            read = (root, YAMLSource(text, root))
        } catch { read = nil }
    }

    /// The text edit for a repair; nil if the text has no value at the repair's location.
    func splice(_ repair: Repair) -> TextSplice? {
        let mark = FileLocation(file: repair.file, line: repair.line, column: repair.column)
        let here = LineColumn(mark)
        switch repair.change {
        case .text(let count, let text):
            return TextSplice(from: here, to: LineColumn(line: here.line, column: here.column + count), text: text)
        case .lines(let new): return appended(new)
        case .rename(let name):
            guard let end = read?.source.end(ofScalarAt: mark) else { return nil }
            return TextSplice(from: here, to: end, text: isJSON ? JSONValue.string(name).text : name.yamlScalar)
        case .cut: return TextSplice(from: LineColumn(line: here.line, column: 0), to: LineColumn(line: here.line + 1, column: 0), text: "")
        case .move: return nil
        case .set, .swap, .append, .remove: break
        }
        guard let read, var chain = read.root.chain(to: mark) else { return nil }
        var path = repair.path
        if case .set(let value, let before) = repair.change {
            let name = path.popLast()
            guard follow(path, &chain), let node = chain.last, let value = Self.value(value) else { return nil }
            guard let name else { return replaced(node, by: value) }
            if let child = node.child(name) { return replaced(child, by: value) }
            return added(name, value, to: node, before: before)
        }
        guard follow(path, &chain), let node = chain.last else { return nil }
        switch repair.change {
        case .swap(let old, let new):
            guard let scalar = node.first(scalar: old), let value = Self.value(new) else { return nil }
            return replaced(scalar, by: value)
        case .append(let item): return Self.value(item).flatMap { appended($0, to: node, within: chain.dropLast().last) }
        case .remove: return chain.dropLast().last.flatMap { removed(node, from: $0) }
        default: return nil
        }
    }

    private static func value(_ text: String) -> JSONValue? {
        do { return try JSONValue(parsing: Array(text.utf8).lent) } catch { return nil }
    }

    private func follow(_ path: [String], _ chain: inout [FileNode]) -> Bool {
        for name in path {
            if name == ".." {
                chain.removeLast()
                continue
            }
            guard let child = chain.last?.child(name) else { return false }
            chain.append(child)
        }
        return true
    }

    private func appended(_ new: [String]) -> TextSplice {
        let text = new.joined(separator: "\n")
        guard let last = lines.indices.last else {
            return TextSplice(from: LineColumn(line: 0, column: 0), to: LineColumn(line: 0, column: 0), text: text + "\n")
        }
        let end = LineColumn(line: last, column: lines[last].count)
        return TextSplice(from: end, to: end, text: lines[last].isEmpty ? text + "\n" : "\n" + text)
    }

    // MARK: Values

    /// A value in flow style, as it appears inside braces and brackets.
    func flow(_ value: JSONValue) -> String { isJSON ? value.text : value.flow }

    func flow(_ name: String, _ value: JSONValue) -> String {
        isJSON ? "\(JSONValue.string(name).text): \(value.text)" : "\(name.yamlScalar): \(value.flow)"
    }

    func isFlow(_ node: FileNode) -> Bool { read?.source.isFlow(node) ?? false }

    func start(of node: FileNode) -> LineColumn { LineColumn(node.mark) }

    /// The location behind a node.
    func end(of node: FileNode) -> LineColumn? {
        let last: FileNode?
        let bracket: Unicode.Scalar
        switch node.kind {
        case .list(let nodes): (last, bracket) = (nodes.last, "]")
        case .map(let members): (last, bracket) = (members.last?.value, "}")
        default: return read?.source.end(ofScalarAt: node.mark)
        }
        guard isFlow(node) else { return last.flatMap(end) }
        var place = start(of: node)
        if let last {
            guard let end = end(of: last) else { return nil }
            place = end
        } else {
            place = LineColumn(line: place.line, column: place.column + 1)
        }
        while place.line < lines.count {
            let line = lines[place.line]
            if place.column < line.count, line[place.column] == bracket { return LineColumn(line: place.line, column: place.column + 1) }
            let isOver = place.column >= line.count || line[place.column] == "#"
            place = isOver ? LineColumn(line: place.line + 1, column: 0) : LineColumn(line: place.line, column: place.column + 1)
        }
        return nil
    }

    private func replaced(_ node: FileNode, by value: JSONValue) -> TextSplice? {
        guard let end = end(of: node) else { return nil }
        let isBlock = if case .map = node.kind { !isJSON && !isFlow(node) } else { false }
        let indent = "\n" + String(repeating: " ", count: node.mark.column - 1)
        let text = isBlock ? value.yaml.split(separator: "\n").joined(separator: indent) : flow(value)
        return TextSplice(from: start(of: node), to: end, text: text)
    }
}

extension FileNode {
    /// The nodes from this one down to the one at a location.
    fileprivate func chain(to mark: FileLocation) -> [FileNode]? {
        if mark.line == 0 || self.mark.line == mark.line && self.mark.column == mark.column { return [self] }
        return child(before: mark)?.chain(to: mark).map { [self] + $0 }
    }

    /// The last child that begins at or before a location; children are in the order of the text.
    private func child(before mark: FileLocation) -> FileNode? {
        func last(_ count: Int, _ child: (Int) -> FileNode) -> FileNode? {
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) / 2
                let place = child(middle).mark
                if (place.line, place.column) <= (mark.line, mark.column) { low = middle + 1 } else { high = middle }
            }
            return low > 0 ? child(low - 1) : nil
        }
        return switch kind {
        case .list(let nodes): last(nodes.count) { nodes[$0] }
        case .map(let members): last(members.count) { members[$0].value }
        default: nil
        }
    }

    fileprivate func child(_ name: String) -> FileNode? {
        if case .list(let nodes) = kind, let index = Int(name), nodes.indices.contains(index) { return nodes[index] }
        if case .map(let members) = kind, name == "*" { return members.count == 1 ? members[0].value : nil }
        return member(name)
    }

    fileprivate func first(scalar text: String) -> FileNode? {
        switch kind {
        case .string(text), .number(text): self
        case .list(let nodes): nodes.lazy.compactMap { $0.first(scalar: text) }.first
        case .map(let members): members.lazy.compactMap { $0.value.first(scalar: text) }.first
        default: nil
        }
    }
}

extension EditableSource {
    func added(_ name: String, _ value: JSONValue, to map: FileNode, before: String?) -> TextSplice? {
        guard case .map(let members) = map.kind else { return nil }
        let text = flow(name, value)
        guard let last = members.last else { return end(of: map).map { TextSplice(from: start(of: map), to: $0, text: "{\(text)}") } }
        let next = members.first { $0.name == before }
        if isFlow(map) {
            if let next { return inserted(text + ", ", at: LineColumn(next.place)) }
            // A map with one line for each member gets another line.
            let gap = last.place.line == map.mark.line ? " " : "\n" + String(repeating: " ", count: last.place.column - 1)
            return end(of: last.value).flatMap { inserted("," + gap + text, at: $0) }
        }
        let block = JSONValue.object([.init(name: name, value: value)]).yaml
        if let next, next.place != members[0].place || start(of: map).column == leading(next.place.line - 1) {
            let here = LineColumn(line: next.place.line - 1, column: 0)
            return inserted(indented(block, members[0].place.column - 1).joined(separator: "\n") + "\n", at: here)
        }
        return below(map, block, members[0].place.column - 1)
    }

    func appended(_ item: JSONValue, to list: FileNode, within holder: FileNode?) -> TextSplice? {
        guard case .list(let nodes) = list.kind, let end = end(of: list) else { return nil }
        let block = JSONValue.array([item]).yaml
        if let last = nodes.last {
            if !isFlow(list) { return below(list, block, list.mark.column - 1) }
            return self.end(of: last).flatMap { inserted(", " + flow(item), at: $0) }
        }
        guard let holder, !isFlow(holder), !isJSON, end.line == list.mark.line - 1 else {
            return TextSplice(from: start(of: list), to: end, text: "[\(flow(item))]")
        }
        // The first item of an empty list is placed on a line of its own, below any comment on the list's line.
        let rest = String(String.UnicodeScalarView(lines[end.line][end.column...]))
        let text = ([rest] + indented(block, holder.mark.column + 1)).joined(separator: "\n")
        let space = list.mark.column >= 2 && lines[end.line][list.mark.column - 2] == " " ? 1 : 0
        return TextSplice(
            from: LineColumn(line: end.line, column: list.mark.column - 1 - space),
            to: LineColumn(line: end.line, column: lines[end.line].count), text: text)
    }

    func removed(_ node: FileNode, from holder: FileNode) -> TextSplice? {
        let parts: [(start: LineColumn, value: FileNode)]
        switch holder.kind {
        case .list(let nodes): parts = nodes.map { (start(of: $0), $0) }
        case .map(let members): parts = members.map { (LineColumn($0.place), $0.value) }
        default: return nil
        }
        guard let index = parts.firstIndex(where: { $0.value.mark == node.mark }), let end = end(of: node), let whole = self.end(of: holder)
        else { return nil }
        let isList = if case .list = holder.kind { true } else { false }
        if parts.count == 1 { return TextSplice(from: start(of: holder), to: whole, text: isList ? "[]" : "{}") }
        guard isFlow(holder) else {
            let from = parts[index].start
            let isAlone = leading(from.line) == from.column || isList
            guard isAlone else { return nil }
            return TextSplice(from: LineColumn(line: from.line, column: 0), to: LineColumn(line: end.line + 1, column: 0), text: "")
        }
        if index + 1 < parts.count { return TextSplice(from: parts[index].start, to: parts[index + 1].start, text: "") }
        return self.end(of: parts[index - 1].value).map { TextSplice(from: $0, to: end, text: "") }
    }

    private func inserted(_ text: String, at place: LineColumn) -> TextSplice { TextSplice(from: place, to: place, text: text) }

    /// Inserts lines below the last line of a block.
    private func below(_ node: FileNode, _ block: String, _ indent: Int) -> TextSplice? {
        guard let end = end(of: node), end.line < lines.count else { return nil }
        let text = indented(block, indent).map { "\n" + $0 }.joined()
        return inserted(text, at: LineColumn(line: end.line, column: lines[end.line].count))
    }

    private func indented(_ block: String, _ indent: Int) -> [String] {
        block.split(separator: "\n").map { String(repeating: " ", count: indent) + $0 }
    }

    /// The number of leading spaces of a line.
    private func leading(_ line: Int) -> Int { lines.indices.contains(line) ? lines[line].prefix { $0 == " " }.count : 0 }
}
