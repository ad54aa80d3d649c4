internal import Bytes
internal import EventModel
internal import Hashing
internal import JSONText
internal import SchemaEvolution

/// How events become rows, in two stages: `prepare` writes what an event does to rows, in any order; `apply` does it in the log's order.
///
/// Between two events, a row is a *state*: bytes in the fold's own format that are equivalent to the row's JSON text: `render(open(text))
/// == text`. Rows can therefore be kept in either form.
protocol Fold: AnyObject, Sendable {
    /// The number that `prepare` uses for an event type; nil if the type is not consumed.
    func rule(of type: String) -> Int?

    /// Whether the fold reads `EventFacts.stream` and `EventFacts.id`.
    var readsStream: Bool { get }
    var readsID: Bool { get }

    /// The parts of the payload that `prepare` reads, as pointers; nil if it reads the whole payload.
    func reads(_ rule: Int) -> [JSONPointer]?

    /// Writes the operations of an image: one for each row that it may change.
    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer) throws(FoldError)

    /// Applies an operation to the state of its row, empty if there is none. After `changed` the new state is in `workspace.output`.
    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome

    /// Appends the state of a row that was rendered before.
    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError)

    func render(_ state: RawSpan, into json: inout ByteBuffer)
}

enum FoldOutcome { case unchanged, changed, deleted }

struct FoldError: Error, Hashable, Sendable, CustomStringConvertible {
    var reason: String
    /// The member of the event or row that is at fault, if any.
    var pointer: String?

    init(_ reason: String, at pointer: String? = nil) { (self.reason, self.pointer) = (reason, pointer) }

    var description: String { pointer.map { "\($0): \(reason)" } ?? reason }
}

/// The rule that processes an image, and what it reads beside the image and its facts.
struct RuleCall: ~Escapable {
    let rule: Int
    /// For an image that is not whole, the index of the first of the values that the rule `reads`.
    let values: Int
    let metadata: RawSpan

    @_lifetime(copy metadata)
    init(rule: Int, values: Int, metadata: RawSpan) { (self.rule, self.values, self.metadata) = (rule, values, metadata) }
}

/// The facts about an image beside its payload and metadata. One instance is reused for all events of a block.
struct EventFacts: ~Copyable {
    let epoch: Epoch
    let version: SchemaVersion
    var position = Position.start
    var revision = Revision.first
    /// The type's name and index at `version`.
    private(set) var type = ""
    private var typeIndex = -1
    /// The stream's name at `version`; empty if no fold reads it.
    var stream = ""
    var time = Timestamp(microseconds: 0)
    /// Nil if no fold reads it.
    var id: EventID?
    var born = SchemaVersion(0)
    private(set) var part = 0

    init(epoch: Epoch, version: SchemaVersion) { (self.epoch, self.version) = (epoch, version) }

    mutating func take(_ image: borrowing Image) {
        part = image.part
        if image.typeIndex == typeIndex { return }
        (type, typeIndex) = (image.type, image.typeIndex)
    }
}

/// The buffers that folding reuses for every event; each thread has its own.
struct FoldWorkspace: ~Copyable {
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
    var tags = TagWorkspace()
    /// The table offsets of the rows of some operations, and a number that keeps the prefetching reads from being optimized away.
    var places = UniqueArray<Int>(capacity: 32)
    var touched = 0
}

// Buffers of one workspace are passed as they are: a span of one would count as an access to the whole workspace.
extension ByteBuffer {
    mutating func append(_ slice: ByteSlice, of source: borrowing ByteBuffer) { append(source.slice(slice.start, slice.size)) }
}

extension JSONEditor {
    mutating func load(_ source: borrowing ByteBuffer) throws(JSONError) { try load(source.bytes) }

    mutating func set(_ name: MemberName, of parent: Node, to slice: ByteSlice, of source: borrowing ByteBuffer) {
        set(name, of: parent, to: source.slice(slice.start, slice.size))
    }
}

func findElements(of source: borrowing ByteBuffer, into found: inout [ByteSlice]) -> Bool { findElements(of: source.bytes, into: &found) }

/// The value of a slot of the current row.
struct SlotValue: BitwiseCopyable {
    var slice: ByteSlice
    /// Whether it lies in `FoldWorkspace.scratch`, and not in the state before the operation.
    var isNew: Bool

    static let absent = SlotValue(slice: .absent, isNew: false)
}

/// A sequence of operations: what prepared events do to rows, in the order of the log.
///
/// Format of an operation, little-endian: total size (u32), size of the key (u16), rule (u16), XXH3-64 of the key (u64), position (u64),
/// number of the operation within its event (u32), folds that may run (u64, one bit each), key, then the fold's own data.
struct OperationBuffer: ~Copyable {
    /// The bytes appended between `begin` and `endKey` are the key; those between `endKey` and `end` are the fold's own data.
    var bytes = ByteBuffer(capacity: 1 << 16)
    private var start = 0
    private var keyStart = 0
    /// The number of the next operation within its event.
    var ordinal: UInt32 = 0
    /// A longer key is a fold error.
    let keyBytesMax: Int

    init(keyBytesMax: Int) { self.keyBytesMax = keyBytesMax }

    /// Begins an operation; the caller then appends the key to `bytes`.
    mutating func begin(rule: Int, mask: UInt64, position: Position) {
        start = bytes.count
        // The sizes and the hash are filled in when they are known.
        bytes.append(littleEndian: UInt128(UInt16(rule)) << 48)
        bytes.append(littleEndian: UInt128(position.rawValue) | UInt128(ordinal) << 64 | UInt128(UInt32(truncatingIfNeeded: mask)) << 96)
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: mask >> 32))
        keyStart = bytes.count
    }

    /// Ends the key, which consists of everything since `begin`.
    mutating func endKey() throws(FoldError) {
        let count = bytes.count - keyStart
        guard count > 0 else { throw FoldError("the key is empty") }
        guard count <= keyBytesMax else { throw FoldError("the key has \(count) bytes; \(keyBytesMax) are the most") }
        let hash = checksum(bytes.slice(keyStart, count))
        bytes.store(littleEndian: UInt16(count), at: start + 4)
        bytes.store(littleEndian: hash, at: start + 8)
    }

    mutating func end() {
        bytes.store(littleEndian: UInt32(bytes.count - start), at: start)
        ordinal += 1
    }
}

/// The locations of an operation's fields.
enum Operation {
    static let headerBytes = 36

    static func size(_ operation: RawSpan, at offset: Int = 0) -> Int { Int(operation.load(UInt32.self, at: offset)) }
    static func hash(_ operation: RawSpan, at offset: Int = 0) -> UInt64 { operation.load(UInt64.self, at: offset + 8) }
    static func keyCount(_ operation: RawSpan, at offset: Int = 0) -> Int { Int(operation.load(UInt16.self, at: offset + 4)) }

    @_lifetime(copy operation)
    static func key(_ operation: RawSpan, at offset: Int = 0) -> RawSpan {
        operation.slice(offset + headerBytes, keyCount(operation, at: offset))
    }

    static func rule(_ operation: RawSpan) -> Int { Int(operation.load(UInt16.self, at: 6)) }
    static func position(_ operation: RawSpan) -> Position { Position(operation.load(UInt64.self, at: 16)) }
    static func ordinal(_ operation: RawSpan) -> UInt32 { operation.load(UInt32.self, at: 24) }
    static func mask(_ operation: RawSpan) -> UInt64 { operation.load(UInt64.self, at: 28) }
    /// The offset of the fold's own data.
    static func bodyStart(_ operation: RawSpan) -> Int { headerBytes + keyCount(operation) }
}
