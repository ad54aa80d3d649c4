// Saturating arithmetic for numbers that come from a file, a row, a server or a caller: where plain arithmetic would trap, the result is
// clamped to the range of the type. A number that no store can reach is then reported as damage by its reader, and the process goes on.

extension FixedWidthInteger {
    /// The sum, clamped to the range of the type.
    @inlinable
    @inline(__always)
    package func plus(_ other: Self) -> Self {
        let (sum, isBeyond) = addingReportingOverflow(other)
        if isBeyond { return other < 0 ? .min : .max }
        return sum
    }

    /// The difference, clamped to the range of the type: for unsigned numbers 0 where `other` is larger.
    @inlinable
    @inline(__always)
    package func minus(_ other: Self) -> Self {
        let (difference, isBeyond) = subtractingReportingOverflow(other)
        if isBeyond { return other < 0 ? .max : .min }
        return difference
    }

    /// The product, clamped to the range of the type.
    @inlinable
    package func times(_ other: Self) -> Self {
        let (product, isBeyond) = multipliedReportingOverflow(by: other)
        if isBeyond { return (self < 0) == (other < 0) ? .max : .min }
        return product
    }
}

extension Sequence {
    /// The sum of a number of each element, clamped to the range of the type.
    @inlinable
    package func sum<Number: FixedWidthInteger>(_ number: (Element) throws -> Number) rethrows -> Number {
        var sum: Number = 0
        for element in self { sum = sum.plus(try number(element)) }
        return sum
    }
}
