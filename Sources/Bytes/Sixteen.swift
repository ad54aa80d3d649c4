public import CBits

// Sixteen bytes of a text at a time, in one register.

extension RawSpan {
    /// The bytes at `offset ..< offset + 16`, zeros where that is outside the span.
    @inlinable
    @inline(__always)
    package func sixteenOrZeros(at offset: Int) -> SIMD16<UInt8> {
        if UInt(bitPattern: offset) < UInt(bitPattern: Swift.max(byteCount &- 15, 0)) {
            return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
        }
        return sixteenAtEnd(offset)
    }

    /// Loads the bytes from `offset` to the end of the span, zeros behind them. Where it can, it shifts the span's last eight bytes.
    @inline(never)
    @usableFromInline
    package func sixteenAtEnd(_ offset: Int) -> SIMD16<UInt8> {
        if UInt(bitPattern: offset) >= UInt(bitPattern: byteCount) { return SIMD16<UInt8>(repeating: 0) }
        let count = byteCount &- offset
        var low: UInt64 = 0
        var high: UInt64 = 0
        if byteCount >= 8 {
            let last = load(UInt64.self, at: byteCount &- 8)
            low = count >= 8 ? load(UInt64.self, at: offset) : last &>> UInt64(64 &- 8 &* count)
            if count > 8 { high = last &>> UInt64(128 &- 8 &* count) }
        } else {
            for index in 0 ..< count { low |= UInt64(byte(at: offset &+ index)) &<< UInt64(8 &* index) }
        }
        return unsafe unsafeBitCast(SIMD2(low.littleEndian, high.littleEndian), to: SIMD16<UInt8>.self)
    }
}

extension SIMDMask where Storage == SIMD16<Int8> {
    /// The first lane that is true; 16 where none is.
    @inlinable
    @inline(__always)
    package var firstTrue: Int { Int(bits_first(unsafe unsafeBitCast(self, to: SIMD16<UInt8>.self))) }
}
