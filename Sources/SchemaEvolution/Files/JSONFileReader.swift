internal import Bytes
internal import EventModel
internal import JSONText

/// JSON text as nodes with places.
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
        var offset = 0
        do { return try node(text.lent, &offset, &lines) } catch {
            throw FileProblem(FileRule.syntax, "not valid JSON: \(error.reason)", at: lines.mark(of: error.offset, in: text.lent))
        }
    }

    private static func node(_ text: RawSpan, _ offset: inout Int, _ lines: inout LineCounter) throws(JSONError) -> FileNode {
        offset = text.afterSpace(offset)
        let mark = lines.mark(of: offset, in: text)
        switch text.peek(offset) {
        case UInt8(ascii: "{"):
            var members: [FileNode.Member] = []
            offset = text.afterSpace(offset + 1)
            while text.peek(offset) == UInt8(ascii: "\"") {
                let place = lines.mark(of: offset, in: text)
                guard case .string(let name) = try scalar(text, &offset) else { break }
                offset = text.afterSpace(offset) + 1
                members.append(.init(name: name, place: place, value: try node(text, &offset, &lines)))
                offset = text.afterComma(offset)
            }
            offset += 1
            return FileNode(.map(members), at: mark)
        case UInt8(ascii: "["):
            var nodes: [FileNode] = []
            offset = text.afterSpace(offset + 1)
            while offset < text.byteCount, text.peek(offset) != UInt8(ascii: "]") {
                nodes.append(try node(text, &offset, &lines))
                offset = text.afterComma(offset)
            }
            offset += 1
            return FileNode(.list(nodes), at: mark)
        default:
            return FileNode(try scalar(text, &offset), at: mark)
        }
    }

    private static func scalar(_ text: RawSpan, _ offset: inout Int) throws(JSONError) -> FileNode.Kind {
        let end = text.afterValue(offset)
        defer { offset = end }
        return switch try JSONValue(parsing: text.slice(offset, end - offset)) {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text)
        case .string(let text): .string(text)
        case .array, .object: throw JSONError("a value was expected", at: offset)
        }
    }
}

/// Turns byte offsets, asked for in order, into lines and columns.
private struct LineCounter {
    let file: String
    private var offset = 0
    private var line = 1
    private var column = 1

    init(file: String) { self.file = file }

    mutating func mark(of target: Int, in text: RawSpan) -> Mark {
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
        return Mark(file: file, line: line, column: column)
    }
}
