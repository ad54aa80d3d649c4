internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// How events become rows, in two steps: `prepare` writes what an event does to rows, on any thread and in any order; `apply` does it
/// to each row in the order of the log.
///
/// Between two events a row is a *state*, bytes in the fold's own form, which says the same as the
/// row's JSON text: `render(open(text)) == text`, so that it makes no difference where rows are kept.
protocol Fold: AnyObject, Sendable {
    /// The number by which `prepare` knows an event type; nil where it is not consumed.
    func rule(of type: String) -> Int?

    /// Whether the fold reads `EventFacts.stream`, and `EventFacts.id`.
    var readsStream: Bool { get }
    var readsID: Bool { get }

    /// The parts of the payload that `prepare` reads, as pointers; nil where it reads the whole payload.
    func reads(_ rule: Int) -> [JSONPointer]?

    /// Writes the operations of an image: one for each row that it may touch.
    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer) throws(FoldError)

    /// Applies an operation to the state of its row (empty where there is no row), and leaves the new
    /// state in `workspace.output` where it says `changed`.
    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome

    /// Appends the state of a row that was rendered before.
    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError)

    /// Appends a state as JSON text.
    func render(_ state: RawSpan, into json: inout ByteBuffer)
}

enum FoldOutcome { case unchanged, changed, deleted }

/// Why an event does not fold.
struct FoldError: Error, Hashable, Sendable {
    var reason: String
    /// The member of the event or of the row, where it is about one.
    var pointer: String?

    init(_ reason: String, at pointer: String? = nil) { (self.reason, self.pointer) = (reason, pointer) }
}

/// Which rule of a fold an image goes to, and what the rule reads beside the image and its facts.
struct RuleCall: ~Escapable {
    /// The number that `Fold.rule(of:)` returned.
    let rule: Int
    /// Which value of an image that is not whole is the first of those that the rule `reads`.
    let values: Int
    let metadata: RawSpan

    @_lifetime(copy metadata)
    init(rule: Int, values: Int, metadata: RawSpan) { (self.rule, self.values, self.metadata) = (rule, values, metadata) }
}

/// What is known of an image beside its payload and metadata: one for all events of a block, which fill it in turn.
struct EventFacts: ~Copyable {
    let epoch: Epoch
    let version: SchemaVersion
    var position = Position.start
    var revision = Revision.first
    /// The type's name at `version`, and its index there.
    private(set) var type = ""
    private var typeIndex = -1
    /// The stream's name at `version`; empty where no fold reads it.
    var stream = ""
    var time = Timestamp(microseconds: 0)
    /// Nil where no fold reads it.
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
