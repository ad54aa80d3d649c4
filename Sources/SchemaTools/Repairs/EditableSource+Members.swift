internal import JSONText
internal import SchemaEvolution

/// Adds and removes members and items.
extension EditableSource {
    func added(_ name: String, _ value: JSONValue, to map: FileNode, before: String?) -> TextSplice? {
        guard case .map(let members) = map.kind else { return nil }
        let text = flow(name, value)
        guard let last = members.last else { return end(of: map).map { TextSplice(from: start(of: map), to: $0, text: "{\(text)}") } }
        let next = members.first { $0.name == before }
        if isFlow(map) {
            if let next { return inserted(text + ", ", at: LineColumn(line: next.place.line - 1, column: next.place.column - 1)) }
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
        case .map(let members):
            parts = members.map { (LineColumn(line: $0.place.line - 1, column: $0.place.column - 1), $0.value) }
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
