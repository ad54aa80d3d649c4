internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension CodecStatement {
    /// A short description of the codec. Only that of a table depends on the direction.
    func words(_ direction: Direction) -> String {
        switch self {
        case .text: "a text <-> its value"
        case .decimal(let scale): "a decimal text <-> whole units, \(scale) digits"
        case .epochSeconds(let origin): "seconds since \(origin == 0 ? "1970" : "second \(origin) of 1970") <-> RFC 3339"
        case .epochMillis: "milliseconds since 1970 <-> RFC 3339"
        case .dateOfTime: "a moment <-> its day"
        case .localTime: "a local time <-> RFC 3339"
        case .scale(let num, let den, let rounding): "times \(num) / \(den), and back" + (rounding.map { ", rounded \($0.words)" } ?? "")
        case .table(let table): table.words(direction)
        }
    }
}

extension DecimalNumber.Rounding {
    fileprivate var words: String {
        switch self {
        case .down: "down"
        case .halfUp: "half up"
        case .halfEven: "half to even"
        }
    }
}

extension Table {
    fileprivate func words(_ direction: Direction) -> String {
        var words: [String] = []
        switch direction {
        case .up:
            words = rows.map { "\($0.key.inWords) is \($0.value.inWords)" }
            if case .value(let value) = otherwise { words.append("anything else is \(value.inWords)") }
        case .down:
            words = down.map { "\($0.key.inWords) is \($0.value.inWords)" }
            // If several keys have equal values, the way down produces the first key.
            var known = Set(down.map(\.key))
            for row in rows where known.insert(row.value.word).inserted { words.append("\(row.value.inWords) is \(row.key.inWords)") }
        }
        if case .keep = otherwise { words.append("anything else stays") }
        return words.joined(separator: ", ")
    }
}

extension String {
    /// A text as an explanation shows it: in quotes, unless it is a single plain word.
    var inWords: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || "-_./".unicodeScalars.contains($0)
        }
        return !isEmpty && isPlain ? self : JSONValue.string(self).text
    }
}

extension JSONValue {
    /// A scalar as an explanation shows it: a text that could be read as a number or JSON literal is quoted.
    fileprivate var inWords: String {
        guard case .string(let text) = self, case .string = Shape.value(text, .any) else { return self.text }
        return text.inWords
    }
}

extension Guard {
    /// The test as a clause.
    func words(in holder: JSONPointer = JSONPointer()) -> String {
        let what =
            switch source {
            case .pointer(let pointer): JSONPointer(tokens: holder.tokens + pointer.tokens).description
            case .metadata(let pointer): "$metadata\(pointer)"
            default: "$time"
            }
        return switch test {
        case .oneOf(let values): "\(what) is \(values.map { String(decoding: $0.canonical, as: UTF8.self) }.joined(separator: " or "))"
        case .exists(let wanted): wanted ? "\(what) is there" : "\(what) is absent"
        case .below(.number(let limit)): "\(what) is below \(limit)"
        case .below(.dotted(let limit)): "\(what) is below \(limit)"
        case .below(.moment(let time)): "\(what) is before \(time)"
        case .below(.unordered(let text)): "\(what) is below \(quoted(text))"
        }
    }
}
