/// A growable array of trivial values without reference counts: reading and writing an element costs no more than its bounds check. One
/// owner fills, empties and refills it.
//
// Public, although no product exports it: members of a package type are not inlined into other modules.
@safe
public struct UniqueArray<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable where Element: Sendable {
    // The pointer is owned by this value alone, which is what makes sending it sound.
    @usableFromInline var base: UnsafeMutablePointer<Element>
    @usableFromInline package private(set) var capacity: Int
    @usableFromInline var used = 0

    package init(capacity: Int = 16) {
        self.capacity = Swift.max(capacity, 1)
        unsafe base = .allocate(capacity: self.capacity)
    }

    package init(_ elements: some Collection<Element>) {
        self.init(capacity: elements.count)
        for element in elements { append(element) }
    }

    package init(repeating element: Element, count: Int) {
        self.init(capacity: count)
        fill(0 ..< count, with: element)
    }

    deinit { unsafe base.deallocate() }

    @inlinable
    package var count: Int { used }

    @inlinable
    package var span: Span<Element> {
        @_lifetime(borrow self)
        get {
            let span = unsafe Span(_unsafeStart: UnsafePointer(base), count: used)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    @inlinable
    package subscript(index: Int) -> Element {
        get {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: used), "a slot outside the row")
            return unsafe base[index]
        }
        _modify {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: used), "a slot outside the row")
            yield unsafe &base[index]
        }
    }

    @inlinable
    package mutating func append(_ element: Element) {
        if used == capacity { grow() }
        unsafe base[used] = element
        used &+= 1
    }

    /// Sets the elements of a range, and makes the array long enough for it first.
    @inlinable
    package mutating func fill(_ range: Range<Int>, with element: Element) {
        while capacity < range.upperBound { grow() }
        if used < range.upperBound {
            unsafe (base + used).initialize(repeating: element, count: range.upperBound - used)
            used = range.upperBound
        }
        precondition(range.lowerBound >= 0, "a slot outside the row")
        unsafe (base + range.lowerBound).update(repeating: element, count: range.count)
    }

    /// Removes the last `count` elements and keeps the capacity.
    @inlinable
    package mutating func removeLast(_ count: Int) {
        precondition(count >= 0 && count <= used, "no more is removed than there is")
        used -= count
    }

    /// Removes all elements and keeps the capacity.
    @inlinable
    package mutating func removeAll() { used = 0 }

    @usableFromInline
    @inline(never)
    mutating func grow() {
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        unsafe moved.update(from: base, count: used)
        unsafe base.deallocate()
        unsafe base = moved
        capacity *= 2
    }
}
