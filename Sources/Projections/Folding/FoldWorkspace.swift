internal import Bytes
internal import JSONText

/// The buffers that folding reuses for every event; each thread has its own.
struct FoldWorkspace: ~Copyable {
    /// The state that `Fold.apply` made.
    var output = ByteBuffer(capacity: 1 << 12)
    /// Intermediate values of one operation.
    var scratch = ByteBuffer(capacity: 1 << 12)
    /// A value that is being moved from one buffer to another.
    var spare = ByteBuffer(capacity: 1 << 10)
    var splice = JSONEditor()
    var slots = UniqueArray<SlotValue>()
    var inputs = UniqueArray<ByteSlice>()
    var payloadPicks = UniqueArray<ByteSlice>()
    var itemPicks = UniqueArray<ByteSlice>()
    var metadataPicks = UniqueArray<ByteSlice>()
    var rowPicks = UniqueArray<ByteSlice>()
    var elements: [ByteSlice] = []
    /// The table offsets of the rows of some operations, and a number that keeps the prefetching reads from being optimized away.
    var places = UniqueArray<Int>(capacity: 32)
    var touched = 0
}

// Buffers of one workspace are passed as they are: a span of one would count as an access to the whole workspace.
extension ByteBuffer {
    /// Appends a slice of another buffer.
    mutating func append(_ slice: ByteSlice, of source: borrowing ByteBuffer) { append(source.slice(slice.start, slice.size)) }
}

extension JSONEditor {
    mutating func load(_ source: borrowing ByteBuffer) throws(JSONError) { try load(source.bytes) }

    mutating func set(_ name: MemberName, of parent: Node, to slice: ByteSlice, of source: borrowing ByteBuffer) {
        set(name, of: parent, to: source.slice(slice.start, slice.size))
    }
}

func findElements(of source: borrowing ByteBuffer, into found: inout [ByteSlice]) -> Bool { findElements(of: source.bytes, into: &found) }

/// The value of a slot of the current row, and the buffer that contains it.
struct SlotValue: BitwiseCopyable {
    enum Home: BitwiseCopyable {
        /// The state before the operation.
        case state
        case operation
        /// `FoldWorkspace.scratch`.
        case scratch
    }

    var slice: ByteSlice
    var home: Home

    static let absent = SlotValue(slice: .absent, home: .state)
}
