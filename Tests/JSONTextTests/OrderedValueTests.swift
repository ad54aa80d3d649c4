import Bytes
import Foundation
import JSONText
import TestSupport
import Testing

@Suite("Bytes in the order of JSON values")
struct OrderedValueTests {
    private func bytes(_ json: String) -> [UInt8] {
        var output = ByteBuffer()
        OrderedValue.append(Array(json.utf8).lent, to: &output)
        return [UInt8](copying: output.bytes)
    }

    /// Values, each below the next.
    private static let rising = [
        "null", "false", "true", "-9.1e999999999", "-9e999999999", "-1e40000", "-1e32000", "-1e400", "-123456789012345678901234567890",
        "-1000.5", "-1000", "-999.99", "-2", "-1.5", "-1", "-0.1", "-0.01", "-1e-400", "-1e-40000", "-1e-999999999", "0", "1e-999999999",
        "1.5e-999999999", "1e-40000", "1e-32001", "1e-400", "0.0099", "0.01", "0.1", "0.100000000000000000001", "0.12", "1", "1.5", "2",
        "9", "10", "11", "99", "99.5", "100", "101", "1000", "1e21", "1e400", "9e31999", "1e32000", "1.1e32000", "1e40000", "1e999999999",
        #""""#, #""\u0000""#, #""\u0000a""#,
        #""a""#, #""a\u0000""#, #""a\u0001""#, #""ab""#,
        #""b""#, #""é""#, #""日""#, "\"\u{10ffff}\"", "[1]", "[]", "{}",
    ]

    @Test("values come in their order, and so they do with what may follow them")
    func order() {
        let all = Self.rising.map(bytes)
        for (index, value) in all.enumerated() {
            for (other, later) in all.enumerated() where other > index {
                #expect(value.lexicographicallyPrecedes(later), "\(Self.rising[index]) before \(Self.rising[other])")
                for end in [UInt8(2), 0x20, 0xf4] {
                    #expect(
                        (value + [end]).lexicographicallyPrecedes(later + [2]),
                        "\(Self.rising[index]), \(end), before \(Self.rising[other])")
                }
            }
        }
    }

    @Test(
        "numbers and texts that mean the same have the same bytes",
        arguments: [
            ["1", "1.0", "1e0", "10e-1", "0.1E1"], ["0", "-0", "0.000", "0e9"], ["-20", "-2e1", "-20.00"],
            ["1e40000", "10e39999", "1E+40000", "0.001e40003"], ["-1.2e-999999999", "-0.12e-999999998"], ["0e999999999", "0"],
            [#""a""#, #""\u0061""#],
            [#"{"a":1,"b":2}"#, #"{"b":2,"a":1.0}"#], ["", "null"],
        ])
    func same(_ texts: [String]) { #expect(Set(texts.map(bytes)).count == 1) }

    @Test("the end of each value is found, whatever follows it, and of no value's part")
    func ends() {
        for json in Self.rising {
            let value = bytes(json)
            #expect(OrderedValue.end(of: value.lent, at: 0) == value.count)
            #expect(OrderedValue.end(of: (value + Array("key".utf8)).lent, at: 0) == value.count)
            // A text with a zero begins as the text before the zero.
            for count in 0 ..< value.count where !json.contains("0000") {
                #expect(OrderedValue.end(of: Array(value.prefix(count)).lent, at: 0) == nil, "\(json) to \(count)")
            }
        }
    }

    @Test("ten thousand pairs of numbers are in the order of their values")
    func numbers() throws {
        var random = SeededGenerator.announced()
        func number() -> Decimal {
            let digits = Decimal(Int.random(in: -99_999 ... 99_999, using: &random))
            return digits * pow(10, Int.random(in: -6 ... 6, using: &random))
        }
        for _ in 0 ..< 10_000 {
            let (a, b) = (number(), number())
            let (x, y) = (bytes("\(a)"), bytes("\(b)"))
            #expect(a == b ? x == y : x.lexicographicallyPrecedes(y) == (a < b), "\(a) and \(b)")
        }
    }
}
