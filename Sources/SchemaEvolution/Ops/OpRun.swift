internal import Bytes
internal import EventModel
internal import JSONText

/// The state of running ops on one event: what they read beside the payload, their counts, and buffers that are reused for every event.
struct OpRun: ~Copyable {
    var counts = PathCounts()
    /// How often adoption dropped each member, by pointer; nil if the caller does not need the list.
    var leftBehind: [String: Int]?
    /// The content of the value that is being read; unescaped if it is a string.
    var content = ByteBuffer()
    /// The parts of a text that is being split.
    var slices = UniqueArray<TextPart>(capacity: 8)
    /// The JSON text of the value that is written next.
    var output = ByteBuffer()
    /// The members that are passed to a Swift step.
    var members = StepMembers()
    /// When the event was appended.
    private(set) var time = Timestamp(microseconds: 0)
    /// The name of the event's stream at the version of the current op; nil if the path does not read it.
    var stream: String?
    private var metadata = ByteBuffer()
    private var opened = JSONEditor()
    private var isOpened = false

    init() {}

    /// Takes over what the next event carries beside its payload.
    @inline(__always)
    mutating func begin(_ context: borrowing EventContext) {
        (time, stream, isOpened) = (context.time, context.stream, false)
        metadata.removeAll()
        if context.metadata.byteCount > 0 { metadata.append(context.metadata) }
    }

    /// Writes the JSON text of a metadata member to `output`. Returns false if the member is absent.
    mutating func writeMetadata(_ pointer: JSONPointer) -> Bool {
        output.removeAll()
        guard metadata.count > 0 else { return false }
        if !isOpened {
            // Metadata was validated with the event. Unreadable text is treated as having no members.
            do { try opened.load(metadata, 0 ..< metadata.count) } catch { return false }
            isOpened = true
        }
        guard let node = opened.find(pointer, from: opened.root) else { return false }
        opened.write(node, into: &output)
        return true
    }
}

extension JSONEditor {
    /// Appends the content of a value: the unescaped text of a string, the JSON text of other values.
    func content(of node: Node, into buffer: inout ByteBuffer) {
        if case .string = kind(node) { decode(node, into: &buffer) } else { write(node, into: &buffer) }
    }

    /// A short description of a value for messages.
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
