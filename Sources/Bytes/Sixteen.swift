// Sixteen bytes of a text at a time, in one register.

extension RawSpan {
    /// The bytes at `offset ..< offset + 16`.
    @inlinable
    package func sixteen(at offset: Int) -> SIMD16<UInt8> {
        let end = Swift.max(byteCount - 15, 0)
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: end), "bytes outside the span")
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
    }
}

extension SIMDMask where Storage == SIMD16<Int8> {
    /// The first lane that is true; 16 where none is.
    @inlinable
    package var firstTrue: Int {
        let halves = unsafe unsafeBitCast(self, to: SIMD2<UInt64>.self)
        if halves[0] | halves[1] == 0 { return 16 }
        if halves[0] != 0 { return Int(truncatingIfNeeded: UInt64(littleEndian: halves[0]).trailingZeroBitCount) &>> 3 }
        return 8 &+ Int(truncatingIfNeeded: UInt64(littleEndian: halves[1]).trailingZeroBitCount) &>> 3
    }
}
