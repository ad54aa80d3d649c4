/// A function or an initializer as it is declared.
struct Signature {
    let file: SourceFile
    let line: Int
    let name: String
    /// What stands before it on its line, such as `public static`.
    let modifiers: String
    /// The line that opens what it is declared in, such as `extension EventStore {`.
    let owner: String
    let parameters: [String]
    /// What stands between the parameters and the body, such as `async throws -> Int`.
    private(set) var effects = ""
    /// Nil where it is a requirement of a protocol.
    private(set) var body: String?

    /// Every one that a file declares.
    static func all(in file: SourceFile) -> [Signature] {
        var text: [UInt8] = []
        var starts: [Int] = []
        for (_, line) in file.code {
            starts.append(text.count)
            text += Array(line.utf8) + [UInt8(ascii: "\n")]
        }
        var owner = ""
        var found: [Signature] = []
        for ((number, line), start) in zip(file.code, starts) {
            if line.first?.isWhitespace == false { owner = line }
            guard let (modifiers, rest) = declaration(in: line) else { continue }
            var reader = Reader(text: text, at: start + line.utf8.count - rest.utf8.count)
            let name = reader.name()
            guard let parameters = reader.parameters() else { continue }
            var signature = Signature(
                file: file, line: number, name: name, modifiers: modifiers, owner: owner, parameters: parameters)
            (signature.effects, signature.body) = reader.effectsAndBody()
            found.append(signature)
        }
        return found
    }

    /// What stands before the name on a line that declares something, and the name with the rest of the line.
    private static func declaration(in line: String) -> (modifiers: String, rest: Substring)? {
        let words = line.split(separator: " ")
        var modifiers: [Substring] = []
        for word in words {
            if word == "func" {
                let rest = line[word.endIndex...].drop { $0 == " " }
                return rest.first?.isLetter == true ? (modifiers.joined(separator: " "), rest) : nil
            }
            if word.hasPrefix("init"), word.dropFirst(4).first.map({ "(<?!".contains($0) }) == true {
                return (modifiers.joined(separator: " "), line[word.startIndex...])
            }
            guard word.first?.isLowercase == true || word.hasPrefix("@"), !word.contains(".") else { return nil }
            modifiers.append(word)
        }
        return nil
    }

    /// Parameters that every call has to give.
    var required: [String] { parameters.filter { !$0.contains(" = ") } }

    /// Whether each parameter has a label, as a type has that only keeps what it is given.
    var isMemberwise: Bool { name == "init" && !parameters.contains { $0.hasPrefix("_ ") } }

    func says(_ word: String) -> Bool { effects.split { !$0.isLetter }.contains(Substring(word)) }

    /// The lines of documentation above it.
    var documentation: String {
        let above = file.lines[..<(line - 1)].reversed().prefix { line in
            let text = line.drop { $0 == " " }
            return text.hasPrefix("///") || text.hasPrefix("@")
        }
        return above.reversed().joined(separator: "\n")
    }

    var description: String { "\(file.path):\(line) \(name)" }
}

/// Goes through the code of a file from a declaration's name on.
private struct Reader {
    let text: [UInt8]
    var at: Int

    init(text: [UInt8], at: Int) { (self.text, self.at) = (text, at) }

    mutating func name() -> String {
        let start = at
        while at < text.count, !"(<?! ".utf8.contains(text[at]) { at += 1 }
        return String(decoding: text[start ..< at], as: UTF8.self)
    }

    /// Nil where there are none: then it is no declaration.
    mutating func parameters() -> [String]? {
        var angles = 0
        while at < text.count, text[at] != UInt8(ascii: "(") || angles > 0 {
            if text[at] == UInt8(ascii: "<") { angles += 1 }
            if text[at] == UInt8(ascii: ">") { angles -= 1 }
            if text[at] == UInt8(ascii: "\n") || text[at] == UInt8(ascii: "{") { return nil }
            at += 1
        }
        at += 1
        var depth = 0
        var (found, current): ([String], [UInt8]) = ([], [])
        while at < text.count {
            let byte = text[at]
            let isArrow = byte == UInt8(ascii: ">") && current.last == UInt8(ascii: "-")
            if depth == 0, byte == UInt8(ascii: ")") { break }
            if "([{<".utf8.contains(byte) { depth += 1 }
            if ")]}>".utf8.contains(byte), !isArrow { depth -= 1 }
            if depth == 0, byte == UInt8(ascii: ",") {
                found.append(Self.trimmed(current))
                current = []
            } else {
                current.append(byte)
            }
            at += 1
        }
        guard at < text.count else { return nil }
        at += 1
        let last = Self.trimmed(current)
        return last.isEmpty ? found : found + [last]
    }

    /// What comes up to the body, and the body with what it holds; no body where the next line begins something else.
    mutating func effectsAndBody() -> (String, String?) {
        let start = at
        while at < text.count, text[at] != UInt8(ascii: "{") {
            if text[at] == UInt8(ascii: "}") { return (Self.trimmed(text[start ..< at]), nil) }
            if text[at] == UInt8(ascii: "\n") {
                let next = Self.trimmed(text[(at + 1)...].prefix(200)).prefix { $0 != "\n" }
                let goesOn = ["async", "throws", "->", "where", "{", ")"].contains { next.hasPrefix($0) }
                if !goesOn { return (Self.trimmed(text[start ..< at]), nil) }
            }
            at += 1
        }
        let effects = Self.trimmed(text[start ..< min(at, text.count)])
        let open = at
        var depth = 0
        while at < text.count {
            if text[at] == UInt8(ascii: "{") { depth += 1 }
            if text[at] == UInt8(ascii: "}") { depth -= 1 }
            at += 1
            if depth == 0 { break }
        }
        return (effects, String(decoding: text[open ..< at], as: UTF8.self))
    }

    private static func trimmed(_ text: some Collection<UInt8>) -> String {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") }
        let text = Array(text.drop(while: isSpace))
        return String(decoding: text.prefix(text.count - text.reversed().prefix(while: isSpace).count), as: UTF8.self)
    }
}
