public import CBits

// Sixteen bytes of a text at a time, in one register.

extension RawSpan {
    /// The bytes at `offset ..< offset + 16`.
    @inlinable
    package func sixteen(at offset: Int) -> SIMD16<UInt8> {
        let end = Swift.max(byteCount - 15, 0)
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: end), "bytes outside the span")
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
    }

    /// The bytes at `offset ..< offset + 16`, zeros where that is outside the span.
    @inlinable
    @inline(__always)
    package func sixteenOrZeros(at offset: Int) -> SIMD16<UInt8> {
        if UInt(bitPattern: offset) < UInt(bitPattern: Swift.max(byteCount &- 15, 0)) {
            return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
        }
        return sixteenAtEnd(offset)
    }

    @inline(never)
    @usableFromInline
    package func sixteenAtEnd(_ offset: Int) -> SIMD16<UInt8> {
        var bytes = SIMD16<UInt8>(repeating: 0)
        if UInt(bitPattern: offset) >= UInt(bitPattern: byteCount) { return bytes }
        for index in 0 ..< Swift.min(byteCount &- offset, 16) { bytes[index] = byte(at: offset &+ index) }
        return bytes
    }
}

extension SIMDMask where Storage == SIMD16<Int8> {
    /// The first lane that is true; 16 where none is.
    @inlinable
    @inline(__always)
    package var firstTrue: Int { Int(bits_first(unsafe unsafeBitCast(self, to: SIMD16<UInt8>.self))) }
}
