internal import Bytes
internal import JSONText

/// The buffers that folding reuses from event to event: one for each thread.
struct FoldWorkspace: ~Copyable {
    /// The state that `Fold.apply` made.
    var output = ByteBuffer(capacity: 1 << 12)
    /// Values that come up while one operation is done.
    var scratch = ByteBuffer(capacity: 1 << 12)
    /// A value on its way from one buffer to another.
    var spare = ByteBuffer(capacity: 1 << 10)
    var splice = Splice()
    var slots = Slots<SlotValue>()
    var inputs = Slots<ByteSlice>()
    var payloadPicks = Slots<ByteSlice>()
    var itemPicks = Slots<ByteSlice>()
    var metadataPicks = Slots<ByteSlice>()
    var rowPicks = Slots<ByteSlice>()
    var elements: [ByteSlice] = []
    /// Where the rows of some operations stand, and a number that keeps the look at them from being left out.
    var places = Slots<Int>(capacity: 32)
    var touched = 0
}

// Two buffers of one workspace are handed over as they are: spans of one would count as a use of the whole.
extension ByteBuffer {
    /// Appends a piece of another buffer.
    mutating func append(_ slice: ByteSlice, of source: borrowing ByteBuffer) { append(source.slice(slice.start, slice.size)) }
}

extension Splice {
    mutating func load(_ source: borrowing ByteBuffer) throws(JSONError) { try load(source.bytes) }

    mutating func set(_ name: MemberName, of parent: Node, to slice: ByteSlice, of source: borrowing ByteBuffer) {
        set(name, of: parent, to: source.slice(slice.start, slice.size))
    }
}

func findElements(of source: borrowing ByteBuffer, into found: inout [ByteSlice]) -> Bool { findElements(of: source.bytes, into: &found) }

/// What a slot of the row at hand holds, and which buffer holds it.
struct SlotValue: BitwiseCopyable {
    enum Home: BitwiseCopyable {
        /// The state that the operation began with.
        case state
        case operation
        /// `FoldWorkspace.scratch`.
        case scratch
    }

    var slice: ByteSlice
    var home: Home

    static let absent = SlotValue(slice: .absent, home: .state)
}
