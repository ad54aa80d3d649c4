internal import Bytes
internal import EventModel
internal import JSONText

/// The buffers and counts of running ops, reused from event to event so that a warm run allocates nothing.
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
    private var metadata = Splice()
    private var hasMetadata = false

    init() {}

    /// Drops the metadata of the event before.
    mutating func begin() { hasMetadata = false }

    /// Puts the JSON text of a member of the metadata into `output`; false where there is none.
    mutating func writeMetadata(_ pointer: JSONPointer, _ context: borrowing EventContext) -> Bool {
        output.removeAll()
        guard context.metadata.byteCount > 0 else { return false }
        if !hasMetadata {
            // Metadata was validated with the event; text that can't be read has no members.
            do { try metadata.load(context.metadata) } catch { return false }
            hasMetadata = true
        }
        guard let node = metadata.find(pointer, from: metadata.root) else { return false }
        metadata.write(node, into: &output)
        return true
    }
}

extension Splice {
    /// Sets a member to a constant of an op.
    mutating func set(_ name: MemberName, of parent: Node, to json: [UInt8]) { set(name, of: parent, to: json.lent) }

    mutating func replace(_ node: Node, with json: [UInt8]) { replace(node, with: json.lent) }

    func equals(_ node: Node, _ canonical: [UInt8]) -> Bool { equals(node, canonical.lent) }

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
