internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// How events become rows, in two stages: `prepare` writes what an event does to rows, on any thread and in any order; `apply` does it to
/// each row, in the order of the log.
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

    /// Applies an operation to the state of its row, which is empty if there is no row. If it returns `changed`, the new state is in
    /// `workspace.output`.
    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome

    /// Appends the state of a row that was rendered before.
    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError)

    /// Appends a state as JSON text.
    func render(_ state: RawSpan, into json: inout ByteBuffer)
}

enum FoldOutcome { case unchanged, changed, deleted }

/// Why an event can't be folded.
struct FoldError: Error, Hashable, Sendable, CustomStringConvertible {
    var reason: String
    /// The member of the event or row that is at fault, if any.
    var pointer: String?

    init(_ reason: String, at pointer: String? = nil) { (self.reason, self.pointer) = (reason, pointer) }

    var description: String { pointer.map { "\($0): \(reason)" } ?? reason }
}

/// The rule that processes an image, and what it reads beside the image and its facts.
struct RuleCall: ~Escapable {
    /// The number that `Fold.rule(of:)` returned.
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
