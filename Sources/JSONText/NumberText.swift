internal import Bytes

/// A parsed JSON number: its digits without leading and trailing zeros, and the location of the point.
struct NumberText {
    var isNegative = false
    /// Digits 0 to 9, most significant first; empty for zero.
    var digits: [UInt8] = []
    /// The power of ten by which `0.digits` is multiplied.
    var point = 0
    /// The exponent as written in the text.
    var exponent = 0

    init(isNegative: Bool, digits: [UInt8], point: Int) {
        self.isNegative = isNegative
        self.digits = digits
        self.point = point
    }

    /// Parses a text that is a complete JSON number; nil for other text.
    init?(_ text: RawSpan) {
        var offset = 0
        func current() -> UInt8 { offset < text.byteCount ? text.byte(at: offset) : 0 }
        if current() == UInt8(ascii: "-") {
            isNegative = true
            offset += 1
        }
        let whole = offset
        while isDigit(current()) {
            append(digit: current(), beforePoint: true)
            offset += 1
        }
        guard offset > whole, offset == whole + 1 || text.byte(at: whole) != UInt8(ascii: "0") else { return nil }
        if current() == UInt8(ascii: ".") {
            offset += 1
            let fraction = offset
            while isDigit(current()) {
                append(digit: current(), beforePoint: false)
                offset += 1
            }
            guard offset > fraction else { return nil }
        }
        if current() | 0x20 == UInt8(ascii: "e") {
            offset += 1
            let isBelow = current() == UInt8(ascii: "-")
            if isBelow || current() == UInt8(ascii: "+") { offset += 1 }
            guard isDigit(current()) else { return nil }
            while isDigit(current()) {
                exponent = exponent * 10 + Int(current() - UInt8(ascii: "0"))
                guard exponent < 1_000_000_000 else { return nil }
                offset += 1
            }
            if isBelow { exponent = -exponent }
        }
        guard offset == text.byteCount else { return nil }
        point += exponent
        while digits.last == 0 { digits.removeLast() }
        if digits.isEmpty {
            isNegative = false
            point = 0
        }
    }

    private mutating func append(digit: UInt8, beforePoint: Bool) {
        let value = digit - UInt8(ascii: "0")
        if digits.isEmpty && value == 0 {
            if !beforePoint { point -= 1 }
            return
        }
        digits.append(value)
        if beforePoint { point += 1 }
    }

    /// Appends the number in the layout of ECMAScript's `Number::toString`.
    func appendCanonical(to output: inout ByteBuffer) {
        guard !digits.isEmpty else { return output.append(UInt8(ascii: "0")) }
        if isNegative { output.append(UInt8(ascii: "-")) }
        switch point {
        case 1 ... 21:
            append(digits[..<min(point, digits.count)], to: &output)
            for _ in 0 ..< max(point - digits.count, 0) { output.append(UInt8(ascii: "0")) }
            if digits.count > point {
                output.append(UInt8(ascii: "."))
                append(digits[point...], to: &output)
            }
        case -5 ... 0:
            output.append("0.")
            for _ in point ..< 0 { output.append(UInt8(ascii: "0")) }
            append(digits[...], to: &output)
        default:
            append(digits[..<1], to: &output)
            if digits.count > 1 {
                output.append(UInt8(ascii: "."))
                append(digits[1...], to: &output)
            }
            output.append(point > 0 ? "e+" : "e-")
            output.append(String(abs(point - 1)))
        }
    }

    private func append(_ digits: ArraySlice<UInt8>, to output: inout ByteBuffer) {
        for digit in digits { output.append(UInt8(ascii: "0") + digit) }
    }
}
