internal import Bytes
internal import EventModel
internal import JSONText

/// Parses JSON text into nodes with locations.
enum JSONFileReader {
    static func read(_ text: [UInt8], file: String) throws(FileProblem) -> FileNode {
        var lines = LineCounter(file: file)
        do {
            var limits = JSONLimits()
            (limits.bytes, limits.depth, limits.members) = (FileReader.bytesMax, FileReader.depthMax, FileReader.valuesMax)
            _ = try JSONScanner.validate(text.lent, limits: limits)
        } catch {
            throw FileProblem(FileRule.syntax, "not valid JSON: \(error.reason)", at: lines.mark(of: error.offset, in: text.lent))
        }
        var walk = JSONWalker(text.lent)
        walk.skipSpaces()
        do { return try node(&walk, &lines) } catch {
            throw FileProblem(FileRule.syntax, "not valid JSON: \(error.reason)", at: lines.mark(of: error.offset, in: text.lent))
        }
    }

    private static func node(_ walk: inout JSONWalker, _ lines: inout LineCounter) throws(JSONError) -> FileNode {
        let text = walk.text
        let mark = lines.mark(of: walk.offset, in: text)
        if walk.enterObject() {
            var members: [FileNode.Member] = []
            while let name = walk.nextName() {
                let place = lines.mark(of: name.start, in: text)
                members.append(.init(name: decodedString(text.slice(name)) ?? "", place: place, value: try node(&walk, &lines)))
            }
            return FileNode(.map(members), at: mark)
        }
        if walk.enterArray() {
            var nodes: [FileNode] = []
            while walk.nextElement() { nodes.append(try node(&walk, &lines)) }
            return FileNode(.list(nodes), at: mark)
        }
        let found = walk.skipValue()
        return FileNode(try scalar(text.slice(found), at: found.start), at: mark)
    }

    private static func scalar(_ value: RawSpan, at offset: Int) throws(JSONError) -> FileNode.Kind {
        switch try JSONValue(parsing: value) {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text)
        case .string(let text): .string(text)
        case .array, .object: throw JSONError("a value was expected", at: offset)
        }
    }
}

/// Converts byte offsets to lines and columns; fast if the offsets are requested in ascending order.
private struct LineCounter {
    let file: String
    private var offset = 0
    private var line = 1
    private var column = 1

    init(file: String) { self.file = file }

    mutating func mark(of target: Int, in text: RawSpan) -> FileLocation {
        if target < offset { (offset, line, column) = (0, 1, 1) }
        while offset < min(target, text.byteCount) {
            let byte = text.byte(at: offset)
            if byte == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
            offset += 1
        }
        return FileLocation(file: file, line: line, column: column)
    }
}
