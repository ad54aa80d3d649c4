extension Array where Element == UInt8 {
    /// The bytes, lent for as long as the array is borrowed.
    @inlinable
    package var lent: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }

    /// An owned copy of lent bytes.
    @inlinable
    package init(copying bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }

    /// Appends a copy of lent bytes.
    @inlinable
    package mutating func append(copying bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
