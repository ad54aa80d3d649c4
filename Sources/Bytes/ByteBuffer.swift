/// A growable run of bytes that is written in order and kept between uses, so that a loop that
/// fills it once per event allocates nothing.
//
// Public, although no product exports it: members of a package type are not inlined into other modules.
@safe
public struct ByteBuffer: ~Copyable, @unchecked Sendable {
    // The pointer is owned by this value alone, which is what makes sending it sound.
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline package private(set) var capacity: Int
    @usableFromInline var used: Int

    package init(capacity: Int = 256) {
        self.capacity = Swift.max(capacity, 16)
        unsafe base = .allocate(byteCount: self.capacity, alignment: 16)
        used = 0
    }

    deinit { unsafe base.deallocate() }

    @inlinable
    package var count: Int { used }

    /// What has been written, lent.
    @inlinable
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(base), byteCount: used)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    @inlinable
    package func byte(at offset: Int) -> UInt8 {
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: used), "a byte within the buffer")
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// `count` bytes from `start`, lent.
    @inlinable
    @_lifetime(borrow self)
    package func slice(_ start: Int, _ count: Int) -> RawSpan {
        bytes.slice(start, count)
    }

    /// Removes all bytes and keeps the capacity.
    @inlinable
    package mutating func removeAll() { used = 0 }

    @inlinable
    package mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= used, "a buffer is cut within its bytes")
        used = count
    }

    /// Removes the first `count` bytes and moves the rest to the front.
    package mutating func removeFirst(_ count: Int) {
        precondition(count >= 0 && count <= used, "a buffer is cut within its bytes")
        if count == 0 { return }
        used -= count
        unsafe base.copyMemory(from: base + count, byteCount: used)
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        if used == capacity { grow(by: 1) }
        unsafe base.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
        used &+= 1
    }

    @inlinable
    package mutating func append(_ bytes: RawSpan) {
        let count = bytes.byteCount
        if count > capacity &- used { grow(by: count) }
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe Self.copy(count, from: start, to: base + used) }
        }
        used &+= count
    }

    /// Most appended pieces are short: two loads, which may overlap, cost less than a call.
    @inlinable
    @inline(__always)
    static func copy(_ count: Int, from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        if count > 32 { return unsafe target.copyMemory(from: source, byteCount: count) }
        if count > 16 {
            let first = unsafe source.loadUnaligned(as: SIMD16<UInt8>.self)
            let last = unsafe (source + (count &- 16)).loadUnaligned(as: SIMD16<UInt8>.self)
            unsafe target.storeBytes(of: first, as: SIMD16<UInt8>.self)
            return unsafe target.storeBytes(of: last, toByteOffset: count &- 16, as: SIMD16<UInt8>.self)
        }
        if count >= 8 {
            let (first, last) = unsafe (source.loadUnaligned(as: UInt64.self), (source + (count &- 8)).loadUnaligned(as: UInt64.self))
            unsafe target.storeBytes(of: first, as: UInt64.self)
            return unsafe target.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
        }
        if count >= 4 {
            let (first, last) = unsafe (source.loadUnaligned(as: UInt32.self), (source + (count &- 4)).loadUnaligned(as: UInt32.self))
            unsafe target.storeBytes(of: first, as: UInt32.self)
            return unsafe target.storeBytes(of: last, toByteOffset: count &- 4, as: UInt32.self)
        }
        for offset in 0 ..< count {
            unsafe target.storeBytes(of: source.load(fromByteOffset: offset, as: UInt8.self), toByteOffset: offset, as: UInt8.self)
        }
    }

    @inlinable
    package mutating func append(_ bytes: [UInt8]) { append(bytes.lent) }

    @inlinable
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            let count = utf8.count
            if count > capacity - used { grow(by: count) }
            if count > 0, let start = utf8.baseAddress {
                unsafe (base + used).copyMemory(from: start, byteCount: count)
            }
            used += count
        }
    }

    /// Appends a copy of bytes that this buffer already holds.
    @inlinable
    package mutating func append(copyOf start: Int, _ count: Int) {
        precondition(start >= 0 && count >= 0 && start + count <= used, "a copy from within the buffer")
        if count > capacity - used { grow(by: count) }
        unsafe Self.copy(count, from: base + start, to: base + used)
        used &+= count
    }

    @inlinable
    package mutating func append(zeros count: Int) {
        precondition(count >= 0, "a count is not negative")
        if count > capacity &- used { grow(by: count) }
        unsafe (base + used).initializeMemory(as: UInt8.self, repeating: 0, count: count)
        used &+= count
    }

    @inlinable
    package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        let count = MemoryLayout<T>.size
        if count > capacity &- used { grow(by: count) }
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: used, as: T.self)
        used &+= count
    }

    /// Overwrites bytes that were written before with as many others.
    @inlinable
    package mutating func overwrite(_ bytes: RawSpan, at offset: Int) {
        let count = bytes.byteCount
        precondition(offset >= 0 && offset <= used - count, "bytes within the buffer")
        unsafe bytes.withUnsafeBytes { source in
            if count > 0, let start = source.baseAddress {
                unsafe (base + offset).copyMemory(from: start, byteCount: count)
            }
        }
    }

    /// Overwrites an integer that was written before, little-endian.
    @inlinable
    package mutating func store<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T, at offset: Int) {
        precondition(offset >= 0 && offset <= used - MemoryLayout<T>.size, "a store within the buffer")
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }

    /// Makes room for `count` bytes and lets `write` fill it. Returns what `write` returned: where positive, the number of bytes written.
    @unsafe
    package mutating func extend(by count: Int, _ write: (UnsafeMutableRawPointer, Int) -> Int) -> Int {
        if count > capacity - used { grow(by: count) }
        let written = unsafe write(base + used, count)
        precondition(written <= count, "no more is written than there is room for")
        if written > 0 { used += written }
        return written
    }

    /// An owned copy of what has been written.
    package func array() -> [UInt8] { [UInt8](copying: bytes) }

    @usableFromInline
    @inline(never)
    mutating func grow(by count: Int) {
        let roomier = Swift.max(capacity * 2, used + count)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: roomier, alignment: 16)
        unsafe moved.copyMemory(from: base, byteCount: used)
        unsafe base.deallocate()
        unsafe base = moved
        capacity = roomier
    }
}

/// Text that is written often, without a `String` in between.
extension ByteBuffer {
    /// Appends a UUID of two halves as lower-case text.
    package mutating func append(uuid: (UInt64, UInt64)) {
        let dash = UInt8(ascii: "-")
        let middle = hexDigits(UInt32(truncatingIfNeeded: uuid.0))
        let second = hexDigits(UInt32(truncatingIfNeeded: uuid.1 >> 32))
        append(littleEndian: hexDigits(UInt32(truncatingIfNeeded: uuid.0 >> 32)))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: middle))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: middle >> 32))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: second))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: second >> 32))
        append(littleEndian: hexDigits(UInt32(truncatingIfNeeded: uuid.1)))
    }

    /// Appends valid JSON text with each line break replaced by a space. Its meaning stays, since strings hold line breaks only escaped.
    package mutating func append(onOneLine text: RawSpan) {
        var start = 0
        while let lineBreak = text.firstLineBreak(from: start) {
            append(text.slice(start, lineBreak - start))
            append(UInt8(ascii: " "))
            start = lineBreak + 1
        }
        append(text.slice(start, text.byteCount - start))
    }
}

/// Eight digits of lower-case hexadecimal text as they lie in memory, the most significant first.
private func hexDigits(_ number: UInt32) -> UInt64 {
    // One nibble into each byte, all eight at once.
    var word = UInt64(number)
    word = (word | word << 16) & 0x0000_ffff_0000_ffff
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f
    let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).byteSwapped
}

extension RawSpan {
    /// The offset of the first line feed from one on; nil where there is none.
    package func firstLineFeed(from start: Int) -> Int? { first(UInt8(ascii: "\n"), UInt8(ascii: "\n"), from: start) }

    /// The offset of the first line feed or carriage return from one on; nil where there is none.
    func firstLineBreak(from start: Int) -> Int? { first(UInt8(ascii: "\n"), UInt8(ascii: "\r"), from: start) }

    @inline(__always)
    private func first(_ a: UInt8, _ b: UInt8, from start: Int) -> Int? {
        let everyByte: UInt64 = 0x0101_0101_0101_0101
        var offset = start
        while offset + 8 <= byteCount {
            let word = load(UInt64.self, at: offset)
            let zeros = zeroBytes(word ^ (everyByte &* UInt64(a))) | zeroBytes(word ^ (everyByte &* UInt64(b)))
            if zeros != 0 { return offset + (zeros.trailingZeroBitCount >> 3) }
            offset += 8
        }
        while offset < byteCount {
            let byte = byte(at: offset)
            if byte == a || byte == b { return offset }
            offset += 1
        }
        return nil
    }
}

/// Marks the zero bytes of a word: the lowest set bit lies in the first zero byte; higher bits may be false positives.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 }
