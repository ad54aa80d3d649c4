internal import Bytes

/// Numbers separated by dots, such as `1.10.2`, compared number by number. Missing trailing numbers count as 0, so 1.2 equals 1.2.0.
///
/// The labels of application releases are dotted numbers, and `below` can compare texts as dotted numbers.
package struct DottedNumber: Comparable, Sendable, CustomStringConvertible {
    private let numbers: [UInt64]

    private static let digitsMax = 19

    /// Nil unless the text consists of numbers of at most 19 digits, separated by dots.
    package init?(_ text: RawSpan) {
        var numbers: [UInt64] = []
        var (number, digits): (UInt64, Int) = (0, 0)
        for offset in 0 ... text.byteCount {
            if offset < text.byteCount, isDigit(text.byte(at: offset)) {
                if digits == Self.digitsMax { return nil }
                (number, digits) = (number * 10 + UInt64(text.byte(at: offset) - UInt8(ascii: "0")), digits + 1)
            } else {
                guard digits > 0, offset == text.byteCount || text.byte(at: offset) == UInt8(ascii: ".") else { return nil }
                numbers.append(number)
                (number, digits) = (0, 0)
            }
        }
        self.numbers = numbers
    }

    package init?(_ text: String) { self.init(Array(text.utf8).lent) }

    private func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }

    package var description: String { numbers.map(String.init).joined(separator: ".") }

    package static func == (a: DottedNumber, b: DottedNumber) -> Bool { !(a < b) && !(b < a) }

    package static func < (a: DottedNumber, b: DottedNumber) -> Bool {
        for index in 0 ..< max(a.numbers.count, b.numbers.count) where a.number(index) != b.number(index) {
            return a.number(index) < b.number(index)
        }
        return false
    }
}
