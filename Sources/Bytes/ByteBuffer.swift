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

    /// The bytes written so far.
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

    /// The byte at `offset`.
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

    /// Removes all but the first `count` bytes.
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

    /// Appends the UTF-8 of a text.
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

    /// Appends zeros.
    @inlinable
    package mutating func append(zeros count: Int) {
        precondition(count >= 0, "a count is not negative")
        if count > capacity &- used { grow(by: count) }
        unsafe (base + used).initializeMemory(as: UInt8.self, repeating: 0, count: count)
        used &+= count
    }

    /// Appends an integer, little-endian.
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

    /// Makes room for `count` bytes and lets `write` fill it. Returns what `write` returned: where that is positive, it is how many bytes
    /// were written.
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
