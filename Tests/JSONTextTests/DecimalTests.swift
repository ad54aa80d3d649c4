import Bytes
import JSONText
import TestSupport
import Testing

extension DecimalNumber {
    fileprivate static let zero = DecimalNumber(0)
}

@Suite struct DecimalTests {
    private func number(_ json: String) throws -> DecimalNumber { try found(DecimalNumber(json: utf8(json).lent), json) }

    @Test("all spellings of a number are one number, written in plain digits")
    func spellings() throws {
        let spellings = [
            ("0", ["-0", "0.000", "0e99999", "-0.0E-3"]), ("1", ["1.0", "1e0", "0.1e1", "10e-1"]), ("-120", ["-1.2e2", "-120.0"]),
            ("0.001", ["1e-3", "0.0010"]), ("1000000000000000000000", ["1e21", "1000000000000000000000.0"]),
            ("12345678901234567890.5", ["12345678901234567890.50", "123456789012345678905e-1"]),
        ]
        for (plain, others) in spellings {
            #expect(try number(plain).description == plain)
            for other in others { #expect(try number(other) == number(plain) && number(other).description == plain) }
        }
    }

    @Test(
        "text that is no JSON number, or too big to be written out, is none",
        arguments: [
            "", "-", "+1", "01", "-01.5", "1.", ".5", "1e", "1 ", " 1", "1a", "1.2.3", "0x1", "1e10000", "1e-10000", "--1", "1-1",
            "1e1234567890",
        ])
    func none(_ json: String) {
        let number = DecimalNumber(json: utf8(json).lent)
        #expect(number == nil)
    }

    @Test("the canonical form is that of JSON texts")
    func canonical() throws {
        for (spelling, form) in CanonicalTests.numbers {
            var output = ByteBuffer()
            try number(spelling).appendCanonical(to: &output)
            #expect(text(output.array()) == form)
        }
    }

    @Test("sums of decimals are exact")
    func sums() throws {
        #expect(try number("0.1") + number("0.2") == number("0.3"))
        #expect(try number("9999999999999999999") + number("1") == number("10000000000000000000"))
        #expect(try number("10000000000000000000") - number("1") == number("9999999999999999999"))
        #expect(try number("1e40") - number("1e40") == .zero)
        #expect(try number("-0.5") - number("-0.75") == number("0.25"))
        #expect(try (number("1e9999") + number("1e-9999")).fractionDigits == 9_999)
    }

    @Test("short texts of large exponents cost what they are long, and not what they would be written out", .timeLimit(.minutes(1)))
    func exponents() throws {
        let (least, middle, most) = (try number("7e9998"), try number("70000000000000000000001e9976"), try number("7.1e9998"))
        #expect(try number("70e9997") == least && number("0.07e9999").description.utf8.count == 9_998)
        #expect(try least + least == number("14e9998") && least - least == .zero && most - least == number("1e9997"))
        #expect(try number("1e9999") * number("-1e-9999") == number("-1") && least.scaled(byPowerOfTen: -9_998).integer == 7)
        #expect(try number("25e9000").scaled(byPowerOfTen: -9_001).rounded(toFractionDigits: 0, .halfEven).integer == 2)
        for _ in 0 ..< 10_000 {
            let number = try number("7e9998")
            if number == least, least < middle, middle < most, -most < -middle, !(most < least) { continue }
            Issue.record("7e9998 is compared wrongly")
        }
    }

    @Test("integers know that they are, and their value where a machine has it")
    func integers() throws {
        #expect(try !number("1.50").isInteger && number("1.50").fractionDigits == 1)
        #expect(try number("2.0").isInteger && number("2.0").integer == 2)
        #expect(try number("9223372036854775807").integer == .max && number("9223372036854775808").integer == nil)
        #expect(try number("-9223372036854775808").integer == .min && number("-9223372036854775809").integer == nil)
        #expect(DecimalNumber(.min).description == "-9223372036854775808")
    }

    @Test("a number is scaled by powers of ten")
    func scaling() throws {
        #expect(try number("12.5").scaled(byPowerOfTen: 3) == number("12500"))
        #expect(try number("12.5").scaled(byPowerOfTen: -3) == number("0.0125"))
        #expect(try number("12500").scaled(byPowerOfTen: -2) == number("125"))
        #expect(DecimalNumber.zero.scaled(byPowerOfTen: 5) == .zero)
    }

    @Test(
        "rounding goes where it is told",
        arguments: [
            ("2.5", 0, "2", "3", "2"), ("3.5", 0, "3", "4", "4"), ("-2.5", 0, "-2", "-3", "-2"), ("2.51", 0, "2", "3", "3"),
            ("0.05", 1, "0", "0.1", "0"),
            ("0.049", 1, "0", "0", "0"), ("99.99", 1, "99.9", "100", "100"), ("1.25", 4, "1.25", "1.25", "1.25"),
            ("0.0005", 1, "0", "0", "0"),
            ("12345678901234567890.5", 0, "12345678901234567890", "12345678901234567891", "12345678901234567890"),
        ])
    func rounding(_ json: String, _ digits: Int, _ down: String, _ halfUp: String, _ halfEven: String) throws {
        #expect(try number(json).rounded(toFractionDigits: digits, .down).description == down)
        #expect(try number(json).rounded(toFractionDigits: digits, .halfUp).description == halfUp)
        #expect(try number(json).rounded(toFractionDigits: digits, .halfEven).description == halfEven)
    }

    @Test("a quotient is rounded once")
    func division() throws {
        #expect(try number("1").divided(by: 3, fractionDigits: 4, .halfUp) == number("0.3333"))
        #expect(try number("2").divided(by: -3, fractionDigits: 4, .halfUp) == number("-0.6667"))
        #expect(try number("0.25").divided(by: 1, fractionDigits: 1, .halfEven) == number("0.2"))
        #expect(try number("0.7500001").divided(by: 3, fractionDigits: 1, .halfEven) == number("0.3"))
        #expect(try number("100000000000000000000000").divided(by: 7, fractionDigits: 0, .down) == number("14285714285714285714285"))
        #expect(try number("10").divided(by: .min, fractionDigits: 2, .down) == .zero)
    }

    @Test("arithmetic agrees with digit columns done by hand, for random numbers of any length")
    func againstColumns() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for round in 0 ..< 400 {
            let (a, b) = (Columns.random(&generator), Columns.random(&generator))
            let (x, y) = (try number(a.text), try number(b.text))
            let comment = Comment(rawValue: "seed \(seed), round \(round): \(a.text) and \(b.text)")
            #expect(x + y == (try number(a.plus(b).text)), comment)
            #expect(x - y == (try number(a.plus(b.negated).text)), comment)
            #expect(x * y == (try number(a.times(b).text)), comment)
            #expect((x < y) == (a.plus(b.negated).isBelowZero), comment)
            #expect((x + y) - y == x && -(-x) == x && x + -x == .zero, comment)
            #expect(try number(x.description) == x && number(x.description).hashValue == x.hashValue, comment)
        }
    }
}

/// Signed columns of decimal digits around a point that is always at the same place: slow and plain.
struct Columns {
    static let fraction = 30
    /// The last column first; each may hold any number until the columns are carried.
    var columns: [Int]

    static func random(_ generator: inout some RandomNumberGenerator) -> Columns {
        let digits = generator.pick([1, 3, 9, 18, 19, 20, 25])
        let start = Int.random(in: 0 ... 15, using: &generator) + fraction - 15
        var columns = [Int](repeating: 0, count: 120)
        let sign = Bool.random(using: &generator) ? 1 : -1
        for index in start ..< start + digits { columns[index] = sign * Int.random(in: 0 ... 9, using: &generator) }
        return Columns(columns: columns)
    }

    var negated: Columns { Columns(columns: columns.map { -$0 }) }

    func plus(_ other: Columns) -> Columns { Columns(columns: zip(columns, other.columns).map(+)) }

    /// The product has twice the fraction: the columns are moved down, which loses nothing as `text` is told.
    func times(_ other: Columns) -> Product {
        var product = [Int](repeating: 0, count: columns.count * 2)
        for (i, x) in columns.enumerated() { for (j, y) in other.columns.enumerated() where x != 0 && y != 0 { product[i + j] += x * y } }
        return Product(columns: product)
    }

    var isBelowZero: Bool { Columns.sign(columns) < 0 }

    var text: String { Columns.text(columns, fraction: Columns.fraction) }

    struct Product {
        var columns: [Int]
        var text: String { Columns.text(columns, fraction: 2 * Columns.fraction) }
    }

    private static func carried(_ columns: [Int]) -> (digits: [Int], rest: Int) {
        var carry = 0
        let digits = columns.map { column in
            let value = column + carry
            let digit = ((value % 10) + 10) % 10
            carry = (value - digit) / 10
            return digit
        }
        return (digits, carry)
    }

    private static func sign(_ columns: [Int]) -> Int {
        let (digits, rest) = carried(columns)
        return rest < 0 ? -1 : digits.contains { $0 != 0 } || rest > 0 ? 1 : 0
    }

    private static func text(_ columns: [Int], fraction: Int) -> String {
        let isNegative = sign(columns) < 0
        let digits = carried(isNegative ? columns.map { -$0 } : columns).digits
        func joined(_ digits: ArraySlice<Int>) -> String { Array(digits.reversed()).map { String($0) }.joined() }
        let whole = joined(digits[fraction...]).drop { $0 == "0" }
        return (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole) + "." + joined(digits[..<fraction])
    }
}
