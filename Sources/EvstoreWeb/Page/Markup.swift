internal import EventModel
internal import Synchronization

/// HTML whose texts are escaped: a `String` that is interpolated is text, whatever it holds, and only a `Markup` is markup.
///
/// What might command a display or turn the direction of writing is spelled out as `\u202e`.
struct Markup: ExpressibleByStringInterpolation, Sendable {
    private(set) var text: String
    /// The bytes of it that the page's room was asked for.
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
            case _ where scalar.isTerminalControl: result += scalar.jsonEscape
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

    /// On a narrow screen each row is a list of its cells with their titles. Rows that the page has no room for are left out, and counted.
    /// - Parameter rows: cells, as many as there are titles; the first heads its row.
    static func table(_ caption: String, _ titles: [String], _ rows: [[Markup]], empty: String) -> Markup {
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
            if !PageRoom.take(&line) { break }
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

    /// Facts, each with its name.
    static func facts(_ facts: [(name: String, value: Markup)]) -> Markup {
        let lines = facts.map { "<div><dt>\($0.name)</dt><dd>\($0.value)</dd></div>\n" as Markup }
        return "<dl>\(lines)</dl>"
    }

    /// JSON, on lines of its own members.
    static func json(_ bytes: [UInt8], label: String) -> Markup {
        json(JSONLines(bytes, bytesMax: min(JSONLines.bytesMax, PageRoom.current?.left ?? .max)), label: label)
    }

    /// - Parameter marked: the lines that differ from another text.
    static func json(_ text: JSONLines, label: String, marked: Set<Int> = []) -> Markup {
        let lines = text.lines.enumerated().map { marked.contains($0) ? "<mark>\($1)</mark>\n" : "\($1)\n" as Markup }
        var shown: Markup = "\(lines)"
        let rest: Markup? = text.rest > 0 ? "… \(size(bytes: text.rest)) more" : nil
        if !PageRoom.take(&shown) { shown = "… the page has no room for this: \(size(bytes: shown.text.utf8.count))" }
        return "<pre tabindex=\"0\" aria-label=\"\(label)\"><code>\(shown)\(rest)</code></pre>"
    }

    /// How long ago it was, and the moment itself behind that.
    static func time(_ time: Timestamp) -> Markup { "<time datetime=\"\(time)\" title=\"\(time)\">\(age(since: time))</time>" }

    /// A moment, and how long ago it was.
    static func moment(_ time: Timestamp) -> Markup { "<time datetime=\"\(time)\">\(time)</time> (\(age(since: time)))" }

    /// A part of a whole, as a bar and in words.
    static func share(_ part: UInt64, of whole: UInt64) -> Markup {
        "<meter min=\"0\" max=\"\(String(max(whole, 1)))\" value=\"\(String(part))\">\(part) of \(whole)</meter> \(part)"
    }
}

/// What a page may have yet: whatever a store holds, a browser gets no more than it can show.
final class PageRoom: Sendable {
    @TaskLocal static var current: PageRoom?

    private static let bytesMax = 2 << 20
    private let bytes = Mutex(bytesMax)

    var left: Int { bytes.withLock { $0 } }

    /// Takes room for what of a markup has none yet; false where there is not so much left.
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
