internal import Bytes
internal import EventModel

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
        throw FileProblem(FileRule.syntax, "anchors are refused", at: first, fix: "write it out where it is used")
    }
}
