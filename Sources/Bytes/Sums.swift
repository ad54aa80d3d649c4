// Arithmetic on numbers that a file, a row, a server or a caller says. Where the machine's would end the program, it stays at the end of
// the type: what is beyond every store is named as damage by who reads it, and never ends the process of who has to say so.

extension FixedWidthInteger {
    /// The sum; the largest or the smallest number where it lies beyond.
    @inlinable
    @inline(__always)
    package func plus(_ other: Self) -> Self {
        let (sum, isBeyond) = addingReportingOverflow(other)
        if isBeyond { return other < 0 ? .min : .max }
        return sum
    }

    /// The difference; the smallest or the largest number where it lies beyond: of numbers without a sign, 0 where the other one is larger.
    @inlinable
    @inline(__always)
    package func minus(_ other: Self) -> Self {
        let (difference, isBeyond) = subtractingReportingOverflow(other)
        if isBeyond { return other < 0 ? .max : .min }
        return difference
    }

    /// The product; the largest or the smallest number where it lies beyond.
    @inlinable
    package func times(_ other: Self) -> Self {
        let (product, isBeyond) = multipliedReportingOverflow(by: other)
        if isBeyond { return (self < 0) == (other < 0) ? .max : .min }
        return product
    }
}

extension Sequence {
    /// The sum of a number of each element; the largest or the smallest number where it lies beyond.
    @inlinable
    package func sum<Number: FixedWidthInteger>(_ number: (Element) throws -> Number) rethrows -> Number {
        var sum: Number = 0
        for element in self { sum = sum.plus(try number(element)) }
        return sum
    }
}
