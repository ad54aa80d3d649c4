internal import EventModel

/// HTML whose texts are escaped: a `String` that is interpolated is text, whatever it holds, and only a `Markup` is markup.
///
/// What might command a display or turn the direction of writing is spelled out as `\u202e`.
struct Markup: ExpressibleByStringInterpolation, Sendable {
    private(set) var text: String

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity + interpolationCount * 16) }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ words: String) { text += Markup.escaped(words) }
        mutating func appendInterpolation(_ markup: Markup?) { text += markup?.text ?? "" }
        mutating func appendInterpolation(_ list: [Markup]) { for markup in list { text += markup.text } }
        mutating func appendInterpolation(_ number: some BinaryInteger) { text += grouped(number) }
        mutating func appendInterpolation(_ value: some CustomStringConvertible) { text += Markup.escaped(value.description) }
    }

    /// Text as it stands between tags, and between the quotes of an attribute.
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
            case _ where scalar.commandsTerminals: result += scalar.jsonEscape
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Shapes that several places show.
extension Markup {
    /// A name or a value from the store, which the words around it don't turn.
    static func name(_ text: String) -> Markup { "<bdi>\(text)</bdi>" }

    static func link(_ path: String, _ words: String) -> Markup { "<a href=\"\(path)\"><bdi>\(words)</bdi></a>" }

    /// - Parameter rows: cells, as many as there are titles; the first heads its row.
    static func table(_ caption: String, _ titles: [String], _ rows: [[Markup]], empty: String) -> Markup {
        if rows.isEmpty { return "<p class=\"none\">\(empty)</p>" }
        let head = titles.map { "<th scope=\"col\">\($0)</th>" as Markup }
        let lines = rows.map { cells in
            let others = cells.dropFirst().map { "<td>\($0)</td>" as Markup }
            return "<tr><th scope=\"row\">\(cells[0])</th>\(others)</tr>\n" as Markup
        }
        return """
            <div class="wide" role="region" aria-label="\(caption)" tabindex="0"><table><caption>\(caption)</caption>
            <thead><tr>\(head)</tr></thead>
            <tbody>\(lines)</tbody></table></div>
            """
    }

    /// Facts, each with its name.
    static func facts(_ facts: [(name: String, value: Markup)]) -> Markup {
        let lines = facts.map { "<div><dt>\($0.name)</dt><dd>\($0.value)</dd></div>\n" as Markup }
        return "<dl>\(lines)</dl>"
    }

    /// JSON as it is stored, on lines of its own members.
    static func json(_ bytes: [UInt8], label: String) -> Markup {
        let lines = JSONLines.lines(of: bytes).map { "\($0)\n" as Markup }
        return "<pre tabindex=\"0\" aria-label=\"\(label)\"><code>\(lines)</code></pre>"
    }

    static func time(_ time: Timestamp) -> Markup { "<time>\(time)</time>" }

    /// How long ago a moment was.
    static func age(_ time: Timestamp) -> String {
        let seconds = Double(Timestamp.now.microseconds - time.microseconds) / 1e6
        if seconds < 0 { return "in the future" }
        return (seconds < 2 * 86_400 ? duration(seconds: seconds) : counted(Int(seconds / 86_400), "day")) + " ago"
    }

    /// A part of a whole, as a bar and in words.
    static func share(_ part: UInt64, of whole: UInt64) -> Markup {
        "<meter min=\"0\" max=\"\(String(max(whole, 1)))\" value=\"\(String(part))\">\(part) of \(whole)</meter> \(part)"
    }
}

/// Breaks JSON text into lines; its values stay as they are spelled.
enum JSONLines {
    /// What is longer is cut off, and says so.
    static let bytesMax = 256 << 10

    static func lines(of bytes: [UInt8]) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        var (depth, isString, isEscape) = (0, false, false)
        func end(_ depth: Int) {
            lines.append(String(decoding: line, as: UTF8.self))
            line = Array(repeating: UInt8(ascii: " "), count: 2 * max(0, depth))
        }
        let shown = bytes.prefix(bytesMax)
        for (index, byte) in shown.enumerated() {
            if isString {
                line.append(byte)
                (isEscape, isString) = (!isEscape && byte == UInt8(ascii: "\\"), isEscape || byte != UInt8(ascii: "\""))
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isString = true
                line.append(byte)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                line.append(byte)
                // Each space is passed once here, and once on the way.
                let next = shown.dropFirst(index + 1).first { !isSpace($0) }
                if next != UInt8(ascii: "}"), next != UInt8(ascii: "]") { end(depth) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                let isEmpty = line.last == UInt8(ascii: "{") || line.last == UInt8(ascii: "[")
                if !isEmpty { end(depth) }
                line.append(byte)
            case UInt8(ascii: ","):
                line.append(byte)
                end(depth)
            case UInt8(ascii: ":"): line += Array(": ".utf8)
            case _ where isSpace(byte): break
            default: line.append(byte)
            }
        }
        end(0)
        if bytes.count > bytesMax { lines.append("… \(size(bytes: bytes.count - bytesMax)) more") }
        return lines
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09 ... 0x0d).contains(byte) }
}
