import JSONText

/// A decimal number, taken apart: digits without zeros at either end, times ten to a power.
struct NaiveNumber: Equatable {
    private var isNegative = false
    private var digits: [Character] = []
    private var power = 0

    init(_ text: String) {
        let parts = text.lowercased().split(separator: "e")
        var body = Array(parts[0])
        if body[0] == "-" { (isNegative, body) = (true, Array(body.dropFirst())) }
        let point = body.firstIndex(of: ".") ?? body.count
        digits = body.filter { $0 != "." }
        power = point - digits.count + (parts.count > 1 ? Int(parts[1].replacing("+", with: "")) ?? 0 : 0)
        digits = Array(digits.drop { $0 == "0" })
        while digits.last == "0" { (digits, power) = (digits.dropLast(), power + 1) }
        if digits.isEmpty { (isNegative, power) = (false, 0) }
    }

    /// The number's digits where it is an integer.
    var integer: String? {
        power < 0 ? nil : digits.isEmpty ? "0" : (isNegative ? "-" : "") + String(digits) + String(repeating: "0", count: power)
    }

    /// The greatest integer that is not above the number, where that is not very long.
    var floor: Int? {
        if let integer { return Int(integer) }
        guard let whole = digits.count > -power ? Int(String(digits.dropLast(-power))) : 0 else { return nil }
        return isNegative ? -whole - 1 : whole
    }

    /// As RFC 8785 writes it; for the numbers of the tests, none of which is very large or very small.
    var canonical: String {
        if let integer {
            if integer.count <= 21 + (isNegative ? 1 : 0) { return integer }
            let rest = digits.count > 1 ? "." + String(digits.dropFirst()) : ""
            return (isNegative ? "-" : "") + String(digits[0]) + rest + "e+\(digits.count + power - 1)"
        }
        let padded = String(repeating: "0", count: max(1 - digits.count - power, 0)) + String(digits)
        return (isNegative ? "-" : "") + padded.dropLast(-power) + "." + padded.suffix(-power)
    }
}

/// What codecs make of values, for those that the random ops have.
struct NaiveCodec {
    private let name: String
    private let arguments: JSONValue
    private let makesText: Bool
    private let isDown: Bool

    init(_ using: JSONValue, makes type: String, isDown: Bool = false) {
        if case .object(let members) = using {
            (name, arguments) = (members[0].name, members[0].value)
        } else {
            (name, arguments) = (Self.word(using), .null)
        }
        (makesText, self.isDown) = (type == "string", isDown)
    }

    private init(name: String, arguments: JSONValue, makesText: Bool) {
        (self.name, self.arguments, self.makesText, isDown) = (name, arguments, makesText, false)
    }

    private static func word(_ value: JSONValue) -> String {
        switch value {
        case .string(let text), .number(let text): text
        default: ""
        }
    }

    /// The other form of a value, and whether the value was in the codec's own; nil where it has none.
    func convert(_ value: JSONValue) -> (value: JSONValue, isOwnForm: Bool)? {
        switch name {
        case "integer-text": text(value, scale: 0, isDecimal: false)
        case "decimal": text(value, scale: arguments["scale"].flatMap { Int(Self.word($0)) } ?? 0, isDecimal: true)
        case "number-text": number(value)
        case "boolean-text": boolean(value)
        case "epoch-seconds": epoch(value)
        case "table": table(value)
        default: fatalError("the oracle has no \(name)")
        }
    }

    /// Between an integer and a text with so many digits behind the point.
    private func text(_ value: JSONValue, scale: Int, isDecimal: Bool) -> (JSONValue, Bool)? {
        if makesText {
            guard case .number(let spelled) = value, let integer = NaiveNumber(spelled).integer else { return nil }
            if scale == 0 { return (.string(integer), integer == spelled) }
            let sign = integer.hasPrefix("-") ? "-" : ""
            var digits = String(integer.drop { $0 == "-" })
            digits = String(repeating: "0", count: max(scale + 1 - digits.count, 0)) + digits
            return (.string(sign + digits.dropLast(scale) + "." + digits.suffix(scale)), integer == spelled)
        }
        guard case .string(let text) = value else { return nil }
        let body = text.first == "+" || text.first == "-" ? String(text.dropFirst()) : text
        let parts = body.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= (isDecimal ? 2 : 1), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { ("0" ... "9").contains($0) } }) else {
            return nil
        }
        guard let number = NaiveNumber((text.first == "-" ? "-" : "") + body).scaled(by: scale).integer else { return nil }
        if number == "0", text.first == "-" { return nil }
        let own = NaiveCodec(name: name, arguments: arguments, makesText: true).convert(.number(number))
        return (.number(number), own?.value == value)
    }

    /// Between a number and its spelling.
    private func number(_ value: JSONValue) -> (JSONValue, Bool)? {
        switch value {
        case .number(let spelled) where makesText: return (.string(spelled == "-0" ? "0" : spelled), spelled != "-0")
        case .string(let text) where !makesText:
            let unsigned = text.first == "+" || text.first == "-" ? String(text.dropFirst()) : text
            let parts = unsigned.lowercased().split(separator: "e", omittingEmptySubsequences: false)
            let exponent = parts.count > 1 ? parts[1].drop { $0 == "+" || $0 == "-" } : "0"
            let digits = parts[0].split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count <= 2, digits.count <= 2,
                (digits + [exponent]).allSatisfy({ !$0.isEmpty && $0.allSatisfy { ("0" ... "9").contains($0) } })
            else { return nil }
            if NaiveNumber(unsigned) == NaiveNumber("0"), text.first == "-" || parts.count > 1 { return nil }
            var plain = unsigned
            while plain.count > 1, plain.hasPrefix("0"), plain.dropFirst().first != ".", plain.dropFirst().first != "e" {
                plain.removeFirst()
            }
            if text.first == "-" { plain = "-" + plain }
            return (.number(plain), plain == text)
        default: return nil
        }
    }

    private func boolean(_ value: JSONValue) -> (JSONValue, Bool)? {
        switch value {
        case .bool(let flag) where makesText: (.string(flag ? "true" : "false"), true)
        case .string(let text) where !makesText && ["true", "false"].contains(text.lowercased()):
            (.bool(text.lowercased() == "true"), text == text.lowercased())
        default: nil
        }
    }

    private func epoch(_ value: JSONValue) -> (JSONValue, Bool)? {
        if makesText {
            guard case .number(let spelled) = value, let seconds = NaiveNumber(spelled).floor else { return nil }
            let isWhole = NaiveNumber(spelled).integer != nil
            return Self.date(seconds).map { (.string($0), isWhole) }
        }
        guard case .string(let text) = value else { return nil }
        return Self.seconds(text).map { (.number("\($0)"), true) }
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Counts years and months from 1970 on, or back from it.
    private static func date(_ seconds: Int) -> String? {
        guard (-62_167_219_200 ... 253_402_300_799).contains(seconds) else { return nil }
        var (year, rest) = (1970, seconds)
        while rest < 0 {
            year -= 1
            rest += (isLeap(year) ? 366 : 365) * 86_400
        }
        while rest >= (isLeap(year) ? 366 : 365) * 86_400 {
            rest -= (isLeap(year) ? 366 : 365) * 86_400
            year += 1
        }
        var month = 0
        let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while rest >= lengths[month] * 86_400 {
            rest -= lengths[month] * 86_400
            month += 1
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let years = String(repeating: "0", count: 4 - "\(year)".count) + "\(year)"
        return "\(years)-\(two(month + 1))-\(two(rest / 86_400 + 1))T\(two(rest / 3_600 % 24)):\(two(rest / 60 % 60)):\(two(rest % 60))Z"
    }

    /// The seconds of a moment in UTC, counted second by second of the year that `date` gives; nil for what is none.
    private static func seconds(_ text: String) -> Int? {
        guard let year = Int(text.prefix(4)), (0 ... 9999).contains(year) else { return nil }
        let start = (1970 ..< max(year, 1970)).reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
        let before = (min(year, 1970) ..< 1970).reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
        return (0 ..< 366).lazy.map { (start - before + $0) * 86_400 }.first { date($0)?.prefix(10) == text.prefix(10) }.flatMap { day in
            (0 ..< 86_400).lazy.map { day + $0 }.first { date($0) == text }
        }
    }

    private func table(_ value: JSONValue) -> (JSONValue, Bool)? {
        guard case .object(let members)? = arguments["map"] else { return nil }
        let rows = members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
        guard case .string(let text) = value else {
            if case .number = value { return (value, true) }
            if case .bool = value { return (value, true) }
            return nil
        }
        let found = isDown ? rows.first { $0.value == value }.map { JSONValue.string($0.name) } : rows.first { $0.name == text }?.value
        // `otherwise: keep`: what the table lacks stays.
        return (found ?? value, true)
    }
}

extension NaiveNumber {
    fileprivate func scaled(by digits: Int) -> NaiveNumber {
        var number = self
        number.shift(digits)
        return number
    }

    private mutating func shift(_ digits: Int) { if canonical != "0" { power += digits } }
}
