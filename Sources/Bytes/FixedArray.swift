/// A fixed-size array whose values are used in place: nothing is copied, and so no reference is counted.
//
// Public, although no product exports it: members of a package type are not inlined into other modules.
@safe
public struct FixedArray<Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // The pointer is owned by this value alone, which is what makes sending it sound.
    @usableFromInline let base: UnsafeMutablePointer<Element>
    @usableFromInline package let count: Int

    /// Makes `count` elements in order.
    package init(count: Int, _ make: (Int) -> Element) {
        self.count = count
        unsafe base = .allocate(capacity: Swift.max(count, 1))
        for index in 0 ..< count { unsafe (base + index).initialize(to: make(index)) }
    }

    deinit {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    @inlinable
    package subscript(index: Int) -> Element {
        @_transparent
        unsafeAddress {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "an element outside the row")
            return unsafe UnsafePointer(base + index)
        }
        @_transparent
        unsafeMutableAddress {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "an element outside the row")
            return unsafe base + index
        }
    }
}

extension FixedArray {
    package init(_ elements: [Element]) { self.init(count: elements.count) { elements[$0] } }
}
