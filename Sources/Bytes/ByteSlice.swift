/// A range of bytes as offset and count; a count of -1 says that there is none.
//
// Public, although no product exports it, for the reason given at `UniqueArray`.
@frozen
public struct ByteSlice: BitwiseCopyable, Sendable {
    @usableFromInline package var offset: Int32
    @usableFromInline package var count: Int32

    @inlinable
    package init(offset: Int32, count: Int32) { (self.offset, self.count) = (offset, count) }

    @inlinable
    package init(_ offset: Int, _ count: Int) { (self.offset, self.count) = (Int32(offset), Int32(count)) }

    @inlinable
    package static var absent: ByteSlice { ByteSlice(offset: 0, count: -1) }

    @inlinable
    package var isPresent: Bool { count >= 0 }

    @inlinable
    package var start: Int { Int(offset) }

    @inlinable
    package var size: Int { Int(count) }
}
