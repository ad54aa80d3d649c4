internal import Bytes
internal import EventModel
internal import JSONText
internal import Platform
internal import Projections

extension LineInput {
    /// A document is held in memory completely, up to this size.
    private static let documentBytesMax = 1 << 30

    /// The elements of the list at a pointer in a JSON document, one per line; the document itself where the pointer is empty and the
    /// document is an object.
    /// - Parameter places: becomes the line of the document in which each element begins.
    static func elements(
        ofDocument file: borrowing InputFile, at text: String, name: String, _ places: inout [UInt64]?
    ) throws(EvstoreError) -> ByteBuffer {
        let pointer: JSONPointer
        do throws(JSONError) { pointer = try JSONPointer(text) } catch {
            throw .usage(
                "\(quoted(text)) is not a pointer: \(error.reason)",
                fix: "begin it with /, as in /orders, or name the whole document by ''")
        }
        var document = ByteBuffer(capacity: readBytes)
        do {
            while try file.read(into: &document, atMost: readBytes) > 0 {
                guard document.count <= documentBytesMax else { break }
            }
        } catch { throw .ioFailure(doing: "reading \(name)", reason: "\(error)") }
        if document.count > documentBytesMax { throw .usage("\(name) is too large for one document: write its entries as lines") }
        let passedOver = try passedOver(document, of: name)
        document.removeFirst(passedOver)
        var splice = JSONEditor()
        do throws(JSONError) {
            _ = try JSONScanner.validate(document.bytes, limits: .none)
            try splice.load(document.bytes)
        } catch {
            var place = LineCount()
            place.advance(to: error.offset, in: document.bytes)
            throw .refusedLine(place.line, file: name, EvstoreError(error))
        }
        guard let found = find(pointer, in: &splice) else {
            throw .refusedLine(1, file: name, .invalidLine(reason: "is not there", pointer: text))
        }
        let kind = splice.kind(found)
        guard kind == .array || kind == .object && text.isEmpty else {
            throw .refusedLine(1, file: name, .invalidLine(reason: "is of the kind \(kind), and no list", pointer: text))
        }
        var lines = ByteBuffer(capacity: document.count)
        if kind == .object {
            places = [1]
            lines.append(onOneLine: document.bytes)
            lines.append(UInt8(ascii: "\n"))
            return lines
        }
        var (starts, place, child): ([UInt64], LineCount, JSONEditor.Node?) = ([], LineCount(), splice.firstChild(of: found))
        while let element = child {
            place.advance(to: splice.start(of: element), in: document.bytes)
            starts.append(place.line)
            lines.append(onOneLine: splice.text(of: element))
            lines.append(UInt8(ascii: "\n"))
            child = splice.next(after: element)
        }
        places = starts
        return lines
    }

    /// The value at a pointer, which may lead through lists (RFC 6901); nil where there is none.
    private static func find(_ pointer: JSONPointer, in document: inout JSONEditor) -> JSONEditor.Node? {
        var node = document.root
        for token in pointer.tokens {
            let isList = document.kind(node) == .array
            guard let next = isList ? element(token.text, of: node, in: &document) : document.member(token, of: node) else { return nil }
            node = next
        }
        return node
    }

    /// The element of a list at an index, which is written in digits without leading zeros.
    private static func element(_ token: String, of list: JSONEditor.Node, in document: inout JSONEditor) -> JSONEditor.Node? {
        guard let index = Int(token), index >= 0, String(index) == token else { return nil }
        var (child, rest) = (document.firstChild(of: list), index)
        while let node = child, rest > 0 { (child, rest) = (document.next(after: node), rest - 1) }
        return child
    }
}

/// Counts the lines of a text.
private struct LineCount {
    /// The line of the place that was reached last, from 1.
    private(set) var line: UInt64 = 1
    private var reached = 0

    /// Goes on to a place that is not before the last one.
    mutating func advance(to place: Int, in text: RawSpan) {
        let part = text.slice(reached, min(place, text.byteCount) - reached)
        var offset = 0
        while let feed = part.firstLineFeed(from: offset) { (line, offset) = (line + 1, feed + 1) }
        reached += part.byteCount
    }
}
