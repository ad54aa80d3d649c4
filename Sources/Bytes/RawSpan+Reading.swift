/// Checked reads from lent bytes. Integers are little-endian and need no alignment; an offset
/// outside the span is a programmer error and traps.
extension RawSpan {
    @inlinable
    package func byte(at offset: Int) -> UInt8 {
        // Compared as unsigned numbers: a negative offset is a large one, and one comparison is enough.
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: byteCount), "a byte outside the span")
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// The byte at `offset`; 0 outside the span.
    @inlinable
    @inline(__always)
    package func peek(at offset: Int) -> UInt8 {
        if UInt(bitPattern: offset) >= UInt(bitPattern: byteCount) { return 0 }
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// The little-endian integer at `offset ..< offset + size`; its bytes outside the span are zeros.
    @inlinable
    @inline(__always)
    package func loadOrZeros<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
        if UInt(bitPattern: offset) < UInt(bitPattern: Swift.max(byteCount &- MemoryLayout<T>.size &+ 1, 0)) {
            return T(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: T.self))
        }
        return loadAtEnd(offset)
    }

    @inline(never)
    @usableFromInline
    package func loadAtEnd<T: FixedWidthInteger>(_ offset: Int) -> T {
        var value: T = 0
        for index in 0 ..< MemoryLayout<T>.size { value |= T(truncatingIfNeeded: peek(at: offset &+ index)) << T(8 * index) }
        return value
    }

    /// The little-endian integer at `offset ..< offset + size`.
    @inlinable
    package func load<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
        let end = Swift.max(byteCount - MemoryLayout<T>.size + 1, 0)
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: end), "an integer outside the span")
        return T(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: T.self))
    }

    /// `count` bytes from `start`.
    @inlinable
    @_lifetime(copy self)
    package func slice(_ start: Int, _ count: Int) -> RawSpan {
        // Compared as unsigned numbers: a negative start or count is a large one and lies outside.
        precondition(
            UInt(bitPattern: start) <= UInt(bitPattern: byteCount) && UInt(bitPattern: count) <= UInt(bitPattern: byteCount &- start),
            "bytes outside the span")
        return unsafe extracting(unchecked: Range(uncheckedBounds: (start, start &+ count)))
    }

    package var isZero: Bool {
        let words = byteCount & ~7
        for offset in stride(from: 0, to: words, by: 8) where load(UInt64.self, at: offset) != 0 { return false }
        for offset in words ..< byteCount where byte(at: offset) != 0 { return false }
        return true
    }

    @inlinable
    package func equals(_ other: RawSpan) -> Bool {
        let count = byteCount
        if count != other.byteCount { return false }
        if count < 8 {
            for offset in 0 ..< count where byte(at: offset) != other.byte(at: offset) { return false }
            return true
        }
        // The last word overlaps the one before it.
        var offset = 0
        while offset < count &- 8 {
            if load(UInt64.self, at: offset) != other.load(UInt64.self, at: offset) { return false }
            offset &+= 8
        }
        return load(UInt64.self, at: count &- 8) == other.load(UInt64.self, at: count &- 8)
    }

    @inlinable
    package func equals(utf8 text: String) -> Bool {
        var text = text
        return text.withUTF8 { utf8 in
            guard utf8.count == byteCount else { return false }
            for offset in 0 ..< utf8.count where unsafe utf8[offset] != byte(at: offset) { return false }
            return true
        }
    }

    /// Below, equal or above zero, as these bytes sort before, with or after the others: byte by
    /// byte as unsigned numbers, then the shorter first (the order of LMDB's keys).
    @inlinable
    package func compare(_ other: RawSpan) -> Int {
        let shared = Swift.min(byteCount, other.byteCount)
        var offset = 0
        while offset + 8 <= shared {
            let a = load(UInt64.self, at: offset)
            let b = other.load(UInt64.self, at: offset)
            if a != b { return a.byteSwapped < b.byteSwapped ? -1 : 1 }
            offset += 8
        }
        while offset < shared {
            let a = byte(at: offset)
            let b = other.byte(at: offset)
            if a != b { return a < b ? -1 : 1 }
            offset += 1
        }
        return byteCount - other.byteCount
    }
}

extension String {
    /// The text of strictly valid UTF-8, or nil.
    @inlinable
    package init?(utf8 bytes: RawSpan) {
        // `String(validating:as:)` looks up types at each call, which takes four times as long (Swift 6.3).
        do { self = String(copying: try UTF8Span(validating: unsafe bytes._unsafeView(as: UInt8.self))) } catch { return nil }
    }
}

/// Whether two texts have the same UTF-8 bytes. `==` also finds texts equal that differ in bytes but are canonically equivalent.
package func areSame(_ text: String, _ other: String) -> Bool { unsafe text.utf8Span.span.bytes.equals(other.utf8Span.span.bytes) }

extension Array where Element == UInt8 {
    /// The bytes, lent for as long as the array is borrowed.
    @inlinable
    package var lent: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }

    @inlinable
    package init(copying bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }

    @inlinable
    package mutating func append(copying bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
