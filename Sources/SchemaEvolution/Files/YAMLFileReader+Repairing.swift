internal import EventModel

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
