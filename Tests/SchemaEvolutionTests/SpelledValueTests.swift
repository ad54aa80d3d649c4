import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

/// A number as thousandths, and as JSON spells it.
private struct Thousandths {
    let count: Int128

    /// A number of up to 24 digits, often an integer, or one that is near another.
    init(near other: Thousandths?, _ random: inout SeededGenerator) {
        if let other, Bool.random(using: &random) {
            count = other.count + ([-1_000, -1, 0, 0, 1, 1_000].randomElement(using: &random) ?? 0)
            return
        }
        let digits = Int.random(in: 0 ... 21, using: &random)
        var size: Int128 = 0
        for _ in 0 ..< digits { size = size * 10 + Int128(Int.random(in: 0 ... 9, using: &random)) }
        size = Bool.random(using: &random) ? size * 1_000 : size
        count = Bool.random(using: &random) ? -size : size
    }

    /// Without an exponent and needless zeros, or with the point anywhere.
    func spelled(isShort: Bool, _ random: inout SeededGenerator) -> String {
        let digits = String(count.magnitude)
        let point = isShort ? digits.count - 3 : Int.random(in: -2 ... digits.count, using: &random)
        let whole = point > 0 ? String(digits.prefix(point)) : "0"
        var fraction = point > 0 ? String(digits.dropFirst(point)) : String(repeating: "0", count: -point) + digits
        if !isShort { fraction += ["", "0", "000"].randomElement(using: &random) ?? "" }
        while isShort, fraction.hasSuffix("0") { fraction.removeLast() }
        let exponent = digits.count - point - 3
        let sign = count < 0 || count == 0 && Bool.random(using: &random) ? "-" : ""
        let mark = ["e", "E"].randomElement(using: &random) ?? "e"
        return sign + whole + (fraction.isEmpty ? "" : "." + fraction)
            + (exponent == 0 ? "" : mark + (exponent > 0 && Bool.random(using: &random) ? "+" : "") + "\(exponent)")
    }

    func spelled(_ random: inout SeededGenerator) -> String { spelled(isShort: Bool.random(using: &random), &random) }
}

@Suite("Values that are spelled in several ways")
struct SpelledValueTests {
    /// Fails unless a member takes a value, or refuses it, in two passes and in one.
    private func check(_ value: String, of shape: Shape, fits: Bool, _ comment: @autoclosure () -> String) throws {
        let event = EventShape(shape: .object([.init("value", shape)], required: []))
        let text = Array(#"{"value":\#(value)}"#.utf8)
        try #require(try JSONScanner.validate(text.lent, limits: JSONLimits()) == .object, "\(comment()): \(value)")
        var reason = ""
        do { try event.validate(text.lent) } catch { reason = error.reason }
        try #require(reason.isEmpty == fits, "\(comment()): \(value) is \(fits ? "refused: \(reason)" : "accepted")")
        var scratch = PlainPayloadScratch()
        try #require(event.plain()?.accepts(text.lent, JSONLimits(), &scratch) == fits, "\(comment()): \(value) in one pass")
    }

    @Test("a number fits by its value, however it is spelled")
    func numbers() throws {
        var fitting = 0
        for seed in 0 ..< UInt64(rounds(1_500)) {
            var random = SeededGenerator(seed: seed)
            let number = Thousandths(near: nil, &random)
            var shape = Shape(Bool.random(using: &random) ? .integer : .number)
            var fits = shape.kind == .number || number.count % 1_000 == 0
            if Bool.random(using: &random) {
                let least = Thousandths(near: number, &random)
                shape.minimum = DecimalNumber(json: Array(least.spelled(&random).utf8).lent)
                fits = fits && number.count >= least.count
            }
            if Bool.random(using: &random) {
                let most = Thousandths(near: number, &random)
                shape.maximum = DecimalNumber(json: Array(most.spelled(&random).utf8).lent)
                fits = fits && number.count <= most.count
            }
            if Int.random(in: 0 ..< 3, using: &random) == 0 {
                let choices = (0 ..< 3).map { _ in Thousandths(near: number, &random) }
                shape.enumeration = choices.map { .number($0.spelled(&random)) }
                fits = fits && choices.contains { $0.count == number.count }
            }
            for isShort in [true, false, false, false] {
                let limits = "seed \(seed), \(shape.kind), \(String(describing: (shape.minimum, shape.maximum, shape.enumeration)))"
                try check(number.spelled(isShort: isShort, &random), of: shape, fits: fits, limits)
            }
            fitting += fits ? 1 : 0
        }
        #expect(fitting > rounds(300) && fitting < rounds(1_200), "\(fitting)")
    }

    @Test("a text fits by its characters, however they are escaped")
    func texts() throws {
        func some(_ random: inout SeededGenerator) -> [Unicode.Scalar] {
            let scalars: [Unicode.Scalar] = ["a", "b", "\"", "\\", "\n", "é", "e", "\u{301}", "€", "\u{10000}", "\u{10FFFF}", "/"]
            return (0 ..< Int.random(in: 0 ... 3, using: &random)).map { _ in scalars.randomElement(using: &random) ?? "a" }
        }
        func spelled(_ text: [Unicode.Scalar], _ random: inout SeededGenerator) -> String {
            let isPlain = Bool.random(using: &random)
            let parts = text.map { scalar in
                let mustEscape = scalar == "\"" || scalar == "\\" || scalar.value < 0x20
                if !mustEscape, isPlain || Bool.random(using: &random) { return String(scalar) }
                return String(scalar).utf16.map { unit in
                    let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
                    return #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined()
            }
            return "\"\(parts.joined())\""
        }
        var fitting = 0
        for seed in 0 ..< UInt64(rounds(1_500)) {
            var random = SeededGenerator(seed: seed)
            let text = some(&random)
            var (shape, fits) = (Shape(.string), true)
            if Bool.random(using: &random) {
                let choices = (0 ..< 3).map { _ in Bool.random(using: &random) ? some(&random) : text.shuffled(using: &random) }
                shape.enumeration = choices.map { .string(String(String.UnicodeScalarView($0))) }
                fits = choices.contains(text)
            } else {
                let (least, most) = (Int.random(in: 0 ... 2, using: &random), Int.random(in: 1 ... 3, using: &random))
                (shape.minLength, shape.maxLength) = (least, most)
                fits = text.count >= least && text.count <= most
            }
            let limits = "seed \(seed), \(String(describing: (shape.minLength, shape.maxLength, shape.enumeration)))"
            for _ in 0 ..< 4 { try check(spelled(text, &random), of: shape, fits: fits, limits) }
            fitting += fits ? 1 : 0
        }
        #expect(fitting > rounds(300) && fitting < rounds(1_200), "\(fitting)")
    }
}
