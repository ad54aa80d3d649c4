internal import Bytes
internal import EventModel
internal import JSONText

/// What ops read beside a payload, and what they count, with buffers that are reused from event to event.
struct OpRun: ~Copyable {
    var counts = PathCounts()
    /// How often adoption left each member behind, by pointer; nil where the caller does not list them.
    var leftBehind: [String: Int]?
    /// The content of the value that is read: unescaped, if it is a string.
    var content = ByteBuffer()
    /// The parts of a text that is split.
    var slices = Slots<TextPart>(capacity: 8)
    /// The JSON text of the value that is written next.
    var output = ByteBuffer()
    /// The members that a Swift step gets.
    var members = StepMembers()
    /// When the event was appended.
    private(set) var time = Timestamp(microseconds: 0)
    /// What the event's stream is called at the version that an op is of; nil where the path does not read it.
    var stream: String?
    private var metadata = ByteBuffer()
    private var opened = Splice()
    private var isOpened = false

    init() {}

    /// Takes what the next event carries beside its payload.
    @inline(__always)
    mutating func begin(_ context: borrowing EventContext) {
        (time, stream, isOpened) = (context.time, context.stream, false)
        metadata.removeAll()
        if context.metadata.byteCount > 0 { metadata.append(context.metadata) }
    }

    /// Puts the JSON text of a member of the metadata into `output`; false where there is none.
    mutating func writeMetadata(_ pointer: JSONPointer) -> Bool {
        output.removeAll()
        guard metadata.count > 0 else { return false }
        if !isOpened {
            // Metadata was validated with the event; text that can't be read has no members.
            do { try opened.load(metadata, 0 ..< metadata.count) } catch { return false }
            isOpened = true
        }
        guard let node = opened.find(pointer, from: opened.root) else { return false }
        opened.write(node, into: &output)
        return true
    }
}

extension Splice {
    /// Appends what a value holds: the unescaped text of a string, the JSON text of anything else.
    func content(of node: Node, into buffer: inout ByteBuffer) {
        if case .string = kind(node) { decode(node, into: &buffer) } else { write(node, into: &buffer) }
    }

    /// A value for a message, shortened.
    func words(_ node: Node?) -> String {
        guard let node else { return "nothing" }
        switch kind(node) {
        case .object: return "an object"
        case .array: return "an array"
        case .string: return string(node).map(quoted) ?? "a string"
        case .number, .true, .false, .null:
            var text = ByteBuffer(capacity: 32)
            write(node, into: &text)
            return String((String(utf8: text.bytes) ?? "").prefix(60))
        }
    }
}
