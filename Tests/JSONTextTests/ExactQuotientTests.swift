import Bytes
import JSONText
import TestSupport
import Testing

/// Digits, the most significant first, times ten to a power.
private struct Scientific {
    let isNegative: Bool
    /// "0", or without a zero in front.
    let digits: String
    let power: Int

    init(_ isNegative: Bool, _ digits: String, _ power: Int) {
        let trimmed = digits.drop { $0 == "0" }
        (self.isNegative, self.digits, self.power) = (isNegative, trimmed.isEmpty ? "0" : String(trimmed), power)
    }

    /// Up to 25 digits with up to 12 of them, or zeros, behind the point.
    init(_ random: inout SeededGenerator) {
        let digits = (0 ..< random.pick([1, 2, 5, 15, 18, 19, 20, 25])).map { _ in String(Int.random(in: 0 ... 9, using: &random)) }
        let zeros = random.chance(1, in: 4) ? Int.random(in: 0 ..< digits.count, using: &random) : 0
        self.init(
            Bool.random(using: &random), digits.dropLast(zeros).joined() + String(repeating: "0", count: zeros),
            -Int.random(in: 0 ... 12, using: &random))
    }

    /// The number without an exponent.
    var plain: String { spelled(power) }

    /// The number with its point elsewhere, and the exponent that makes up for that.
    func with(exponent: Int) -> String { spelled(power - exponent) + "e\(exponent)" }

    /// The shortest text without exponent: no zeros at the fraction's end, and no -0.
    var shortest: String {
        if digits == "0" { return "0" }
        return power < 0 ? String(plain.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed()) : plain
    }

    private func spelled(_ power: Int) -> String {
        let sign = isNegative ? "-" : ""
        if power >= 0 { return sign + digits + (digits == "0" ? "" : String(repeating: "0", count: power)) }
        let padded = String(repeating: "0", count: max(1 - digits.count - power, 0)) + digits
        return sign + padded.dropLast(-power) + "." + padded.suffix(-power)
    }
}

@Suite("Numbers of one and of two machine words")
struct ExactQuotientTests {
    private func number(_ json: String) throws -> DecimalNumber { try found(DecimalNumber(json: utf8(json).lent), json) }

    @Test("a number that was computed is written as the same number with an exponent is in a canonical text", arguments: [1, 2, 3])
    func canonical(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "canonical", 0)
        for round in 0 ..< rounds(2_000) {
            let one = Scientific(&random)
            let other = one.with(exponent: random.pick([-9, -2, -1, 0, 1, 3, 15]))
            var computed = ByteBuffer()
            var read = ByteBuffer()
            try number(one.plain).appendCanonical(to: &computed)
            appendCanonical(number: utf8(other).lent, into: &read)
            let (mine, theirs) = (text(computed.array()), text(read.array()))
            #expect(mine == theirs, "seed \(seed), round \(round): \(one.plain) and \(other)")
            // Integers of up to 21 digits are written in full.
            if one.power == 0, one.digits.count <= 21 { #expect(mine == one.shortest, "seed \(seed), round \(round): \(one.plain)") }
        }
    }

    /// The quotient in integers of 128 bits, which hold the scaled dividend and divisor.
    private func quotient(_ one: Scientific, _ divisor: Int, _ digits: Int, _ rounding: DecimalNumber.Rounding) throws -> Scientific {
        func power(_ exponent: Int) -> UInt128 { (0 ..< max(exponent, 0)).reduce(1) { power, _ in power * 10 } }
        let dividend = try #require(UInt128(one.digits)) * power(digits + one.power)
        let scaled = UInt128(divisor.magnitude) * power(-one.power - digits)
        let (down, rest) = dividend.quotientAndRemainder(dividingBy: scaled)
        let isUp =
            switch rounding {
            case .down: false
            case .halfUp: rest * 2 >= scaled
            case .halfEven: rest * 2 > scaled || rest * 2 == scaled && down % 2 == 1
            }
        return Scientific(one.isNegative != (divisor < 0), String(down + (isUp ? 1 : 0)), -digits)
    }

    @Test("a quotient is the exact one, rounded once, to as many digits as are asked for", arguments: [1, 2, 3])
    func division(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "quotient", 0)
        for round in 0 ..< rounds(1_200) {
            let (one, digits) = (Scientific(&random), Int.random(in: 0 ... 12, using: &random))
            // Small divisors and powers of ten make ties.
            let large = Int.random(in: 1 ... .max, using: &random) >> Int.random(in: 0 ..< 62, using: &random)
            let divisor = max(random.pick([2, 4, 5, 8, 20, 1_000, 250_000, large, large]), 1) * (Bool.random(using: &random) ? 1 : -1)
            for rounding in [DecimalNumber.Rounding.down, .halfUp, .halfEven] {
                let found = try number(one.plain).divided(by: divisor, fractionDigits: digits, rounding)
                let wanted = try quotient(one, divisor, digits, rounding).shortest
                let comment = Comment(rawValue: "seed \(seed), round \(round): \(one.plain) / \(divisor), \(digits) digits, \(rounding)")
                #expect(found.description == wanted, comment)
                if found.description != wanted { return }
            }
        }
    }
}
