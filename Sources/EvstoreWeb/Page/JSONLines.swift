internal import EventModel

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
