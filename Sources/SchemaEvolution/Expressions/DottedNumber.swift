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
        var offset = 0
        repeat {
            guard let number = Self.number(in: text, at: &offset) else { return nil }
            numbers.append(number)
        } while offset <= text.byteCount
        self.numbers = numbers
    }

    package init?(_ text: String) { self.init(Array(text.utf8).lent) }

    /// Parses the number at the offset and moves the offset behind the dot or end that follows; nil if there is no number.
    private static func number(in text: RawSpan, at offset: inout Int) -> UInt64? {
        let start = offset
        var number: UInt64 = 0
        while offset < text.byteCount, isDigit(text.byte(at: offset)) {
            if offset - start == digitsMax { return nil }
            number = number * 10 + UInt64(text.byte(at: offset) - UInt8(ascii: "0"))
            offset += 1
        }
        guard offset > start, offset == text.byteCount || text.byte(at: offset) == UInt8(ascii: ".") else { return nil }
        offset += 1
        return number
    }

    private func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }

    /// Whether a text is a dotted number below this one; false for other texts. Allocates nothing.
    func isAbove(_ text: RawSpan) -> Bool {
        var isBelow: Bool?
        var (offset, index) = (0, 0)
        repeat {
            guard let other = Self.number(in: text, at: &offset) else { return false }
            if isBelow == nil, other != number(index) { isBelow = other < number(index) }
            index += 1
        } while offset <= text.byteCount
        return isBelow ?? numbers.dropFirst(index).contains { $0 > 0 }
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }

    package static func == (a: DottedNumber, b: DottedNumber) -> Bool { !(a < b) && !(b < a) }

    package static func < (a: DottedNumber, b: DottedNumber) -> Bool {
        for index in 0 ..< max(a.numbers.count, b.numbers.count) where a.number(index) != b.number(index) {
            return a.number(index) < b.number(index)
        }
        return false
    }
}
