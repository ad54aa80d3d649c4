package import EventModel
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
            guard groups.allSatisfy(TextSplice.areApart) else { return nil }
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
            var made = TextSplice.edits(splices, of: file, lines)
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
    typealias LineColumn = YAMLSource.LineColumn

    var from: LineColumn
    var to: LineColumn
    var text: String
    /// The index of the finding that it fixes, if there are several.
    var owner = 0

    /// Converts splices to edits of whole lines.
    static func edits(_ splices: [TextSplice], of file: String, _ lines: [[Unicode.Scalar]]) -> [FileEdit] {
        groups(splices).map { edit($0, of: file, lines) }
    }

    /// Whether no sorted splice begins before the end of the previous one.
    static func areApart(_ splices: [TextSplice]) -> Bool {
        zip(splices, splices.dropFirst()).allSatisfy { ($0.to.line, $0.to.column) <= ($1.from.line, $1.from.column) }
    }

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
