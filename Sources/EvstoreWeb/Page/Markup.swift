internal import EventModel
internal import Synchronization

/// HTML whose texts are escaped: an interpolated `String` is always text, and only a `Markup` is markup.
///
/// A character that could control a display or change the direction of writing is shown as an escape such as `\u202e`.
struct Markup: ExpressibleByStringInterpolation, Sendable {
    private(set) var text: String
    /// The bytes of it that were already counted against the page's room.
    fileprivate var taken = 0

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation: StringInterpolation) { (text, taken) = (stringInterpolation.text, stringInterpolation.taken) }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var taken = 0

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity + interpolationCount * 16) }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ words: String) { text += Markup.escaped(words) }
        mutating func appendInterpolation(_ markup: Markup?) { if let markup { append(markup) } }
        mutating func appendInterpolation(_ list: [Markup]) { for markup in list { append(markup) } }
        mutating func appendInterpolation(_ number: some BinaryInteger) { text += grouped(number) }
        mutating func appendInterpolation(_ value: some CustomStringConvertible) { text += Markup.escaped(value.description) }

        private mutating func append(_ markup: Markup) {
            text += markup.text
            taken += markup.taken
        }
    }

    /// Escapes a text for use between tags, and between the quotes of an attribute.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where scalar.isTerminalControl: result += scalar.jsonEscape
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Markup {
    /// A name or a value from the store, isolated so that the text around it does not change its direction.
    static func name(_ text: String) -> Markup { "<bdi>\(text)</bdi>" }

    static func link(_ path: String, _ words: String) -> Markup { "<a href=\"\(path)\"><bdi>\(words)</bdi></a>" }

    /// A link to the event at a position, seen at a version where one is given.
    static func event(_ position: Position, at version: SchemaVersion? = nil) -> Markup {
        link("/events/\(position.rawValue)" + (version.map { "?at=\($0)" } ?? ""), grouped(position.rawValue))
    }

    static func item(_ path: String, _ words: Markup, isCurrent: Bool = false) -> Markup {
        "<li><a href=\"\(path)\"\(isCurrent ? " aria-current=\"true\"" : nil as Markup?)>\(words)</a></li>"
    }

    /// A table; on a narrow screen each row is a list of its cells with their titles. Rows that exceed the page's room are left out and
    /// counted.
    /// - Parameter rows: as many cells as there are titles; the first cell is the row's heading. A lazy collection makes no row for which
    ///   there is no room.
    static func table(_ caption: String, _ titles: [String], _ rows: some Collection<[Markup]>, empty: String) -> Markup {
        if rows.isEmpty { return "<p class=\"none\">\(empty)</p>" }
        let head = titles.map { "<th role=\"columnheader\" scope=\"col\">\($0)</th>" as Markup }
        var lines: [Markup] = []
        for cells in rows {
            let others = zip(titles, cells).dropFirst().map { title, cell in
                cell.text.isEmpty
                    ? "<td role=\"cell\"></td>" : "<td role=\"cell\" data-title=\"\(title)\"><div>\(cell)</div></td>" as Markup
            }
            var line: Markup = """
                <tr role="row"><th role="rowheader" scope="row" data-title="\(titles[0])"><div>\(cells[0])</div></th>\(others)</tr>

                """
            if !PageBudget.take(&line) { break }
            lines.append(line)
        }
        let left = rows.count - lines.count
        let rest: Markup? = left > 0 ? "<p class=\"bad\">The page has no room for \(counted(left, "row")) more.</p>" : nil
        return """
            <div class="wide" role="region" aria-label="\(caption)" tabindex="0"><table role="table"><caption>\(caption)</caption>
            <thead role="rowgroup"><tr role="row">\(head)</tr></thead>
            <tbody role="rowgroup">\(lines)</tbody></table></div>\(rest)
            """
    }

    static func facts(_ facts: [(name: String, value: Markup)]) -> Markup {
        let lines = facts.map { "<div><dt>\($0.name)</dt><dd>\($0.value)</dd></div>\n" as Markup }
        return "<dl>\(lines)</dl>"
    }

    static func failure(_ error: any Error) -> Markup {
        guard let error = error as? EvstoreError else { return "<p class=\"bad\">\("\(error)")</p>" }
        return "<p class=\"bad\">\(error.message)</p>\(error.fix.map { "<p>\($0)</p>" as Markup })"
    }

    static func json(_ bytes: [UInt8], label: String) -> Markup { json(JSONLines(onPage: bytes), label: label) }

    /// - Parameter marked: the lines that differ from another text.
    static func json(_ text: JSONLines, label: String, marked: Set<Int> = []) -> Markup {
        let lines = text.lines.enumerated().map { marked.contains($0) ? "<mark>\($1)</mark>\n" : "\($1)\n" as Markup }
        var shown: Markup = "\(lines)"
        let rest: Markup? = text.rest > 0 ? "… \(size(bytes: text.rest)) more" : nil
        if !PageBudget.take(&shown) { shown = "… the page has no room for this: \(size(bytes: shown.text.utf8.count))" }
        return "<pre tabindex=\"0\" aria-label=\"\(label)\"><code>\(shown)\(rest)</code></pre>"
    }

    static func time(_ time: Timestamp) -> Markup { "<time datetime=\"\(time)\" title=\"\(time)\">\(age(since: time))</time>" }

    static func moment(_ time: Timestamp) -> Markup { "<time datetime=\"\(time)\">\(time)</time> (\(age(since: time)))" }

    /// A share of a whole, as a bar and as a number.
    static func share(_ part: UInt64, of whole: UInt64) -> Markup {
        "<meter min=\"0\" max=\"\(String(max(whole, 1)))\" value=\"\(String(part))\">\(part) of \(whole)</meter> \(part)"
    }
}

/// The room that is left on a page: whatever a store holds, a browser gets no more than it can show.
final class PageBudget: Sendable {
    @TaskLocal static var current: PageBudget?

    private static let bytesMax = 2 << 20
    private let bytes = Mutex(bytesMax)
    private let steps = Mutex(4_000_000)

    var left: Int { bytes.withLock { $0 } }

    /// Takes steps of work for what the page compares; returns false where it has compared enough, so that no page takes long.
    static func compares(_ count: Int) -> Bool {
        current?.steps.withLock { left in
            let isEnough = count <= left
            if isEnough { left -= count }
            return isEnough
        } ?? true
    }

    /// Takes room for those bytes of a markup that are not counted yet; returns false where not enough room is left.
    static func take(_ markup: inout Markup) -> Bool {
        guard let room = current else { return true }
        let (whole, taken) = (markup.text.utf8.count, markup.taken)
        let hasRoom = room.bytes.withLock { left in
            let isEnough = whole - taken <= left
            if isEnough { left -= whole - taken }
            return isEnough
        }
        if hasRoom { markup.taken = whole }
        return hasRoom
    }
}

/// JSON text broken into lines for people. Values keep their form, but escaped letters (`\u05d0`) are shown as letters.
struct JSONLines: Equatable {
    /// The most bytes of the lines, with their indentation; further text is left out.
    static let bytesMax = 256 << 10

    private(set) var lines: [String] = []
    /// The bytes of the text that are left out.
    private(set) var rest = 0

    private var line: [UInt8] = []
    private var bytes = 0
    private var depth = 0

    init(_ text: [UInt8], bytesMax: Int = bytesMax) {
        var index = 0
        while index < text.count, bytes + line.count < bytesMax {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""): takeString(text, &index, bytesMax)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                line.append(byte)
                // Each space is read at most twice: once here, and once in the loop.
                let next = text[(index + 1)...].first { !Self.isSpace($0) }
                if next != UInt8(ascii: "}"), next != UInt8(ascii: "]") { end() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                let isEmpty = line.last == UInt8(ascii: "{") || line.last == UInt8(ascii: "[")
                if !isEmpty { end() }
                line.append(byte)
            case UInt8(ascii: ","):
                line.append(byte)
                end()
            case UInt8(ascii: ":"): line += Array(": ".utf8)
            case _ where Self.isSpace(byte): break
            default: line.append(byte)
            }
            index += 1
        }
        rest = text.count - min(index, text.count)
        end()
    }

    /// As much of the text as the page that is being made has room for.
    init(onPage text: [UInt8]) { self.init(text, bytesMax: min(Self.bytesMax, PageBudget.current?.left ?? .max)) }

    private mutating func end() {
        lines.append(String(decoding: line, as: UTF8.self))
        bytes += line.count + 1
        line = Array(repeating: UInt8(ascii: " "), count: 2 * max(0, depth))
    }

    /// Takes a string from its first quote on, and leaves the index at its last quote, or where the room ends.
    private mutating func takeString(_ text: [UInt8], _ index: inout Int, _ bytesMax: Int) {
        line.append(text[index])
        index += 1
        while index < text.count, bytes + line.count < bytesMax {
            if let (letter, length) = Self.letter(text, at: index) {
                line += Array(String(letter).utf8)
                index += length
                continue
            }
            line.append(text[index])
            if text[index] == UInt8(ascii: "\"") { return }
            if text[index] == UInt8(ascii: "\\"), index + 1 < text.count {
                index += 1
                line.append(text[index])
            }
            index += 1
        }
    }

    /// The letter of an escape beyond ASCII, and the escape's length; two escapes for a letter beyond U+FFFF (RFC 8259, 7). Nil for a
    /// character that could control a display: it stays escaped.
    private static func letter(_ text: [UInt8], at index: Int) -> (Unicode.Scalar, Int)? {
        guard let first = unit(text, at: index) else { return nil }
        let number: UInt32
        var length = 6
        if (0xd800 ..< 0xdc00).contains(first), let second = unit(text, at: index + 6), (0xdc00 ..< 0xe000).contains(second) {
            number = 0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)
            length = 12
        } else {
            number = first
        }
        guard number >= 0x80, let scalar = Unicode.Scalar(number), !scalar.isTerminalControl, scalar.isSeen else { return nil }
        return (scalar, length)
    }

    private static func unit(_ text: [UInt8], at index: Int) -> UInt32? {
        guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else { return nil }
        let digits = text[(index + 2) ..< (index + 6)]
        guard digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09 ... 0x0d).contains(byte) }

    // MARK: Differences

    /// The most lines of two texts that are compared: the time grows with the product of their numbers.
    private static let comparedMax = 1_500

    /// The lines of each text that the other lacks; nil where the comparison would take too long, or the page has compared enough.
    static func differing(_ a: JSONLines, _ b: JSONLines) -> (a: Set<Int>, b: Set<Int>)? {
        guard max(a.lines.count, b.lines.count) <= comparedMax, PageBudget.compares(a.lines.count * b.lines.count) else { return nil }
        var (old, new) = (Set<Int>(), Set<Int>())
        for change in b.lines.map(values).difference(from: a.lines.map(values)) {
            switch change {
            case .remove(let offset, _, _): old.insert(offset)
            case .insert(let offset, _, _): new.insert(offset)
            }
        }
        return (old, new)
    }

    /// The bytes of a line without the comma before a following line: texts that only look alike differ.
    private static func values(_ line: String) -> [UInt8] {
        let bytes = Array(line.utf8)
        return bytes.last == UInt8(ascii: ",") ? bytes.dropLast() : bytes
    }
}

extension Unicode.Scalar {
    /// Whether it has a visible glyph: an invisible one would be overlooked.
    fileprivate var isSeen: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
        default: true
        }
    }
}
