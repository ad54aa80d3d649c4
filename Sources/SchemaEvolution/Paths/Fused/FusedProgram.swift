internal import Bytes
internal import JSONText

/// What a path does to events of the shape that they were born with, as one program: what is found in a scan decides
/// which way it goes, and at the end of each way stands what is written. Where it does not know what to do, the
/// event goes through the path's ops one by one, which say what is right.
final class FusedProgram: Sendable {
    let objects: Row<FusedObject>
    /// As many slots as a run uses: first what is made, then the members of each object.
    let slotCount: Int
    let code: Slots<FusedInstruction>
    let targets: Slots<Int32>
    let pieces: Slots<FusedPiece>
    let actions: Slots<FusedAction>
    let values: Slots<FusedValue>
    let constants: ByteBuffer
    let canonical: Row<[UInt8]>
    let shapes: Row<EventShape>
    let converters: Row<FusedConverter>
    let separators: Row<Cutter>
    let lists: Row<[FusedTools.Text]>
    let choices: Row<[[UInt8]]>
    let ends: Row<PathEnd>

    init(
        objects: [FusedObject], slotCount: Int, code: [FusedInstruction], targets: [Int32], output: FusedOutput, tools: FusedTools
    ) {
        self.objects = Row(objects)
        self.slotCount = slotCount
        canonical = Row(tools.constants)
        shapes = Row(tools.shapes)
        converters = Row(count: tools.converters.count) { FusedConverter(tools.converters[$0]) }
        separators = Row(count: tools.separators.count) { Cutter(copying: tools.separators[$0].cutter) }
        lists = Row(tools.lists)
        choices = Row(tools.values)
        ends = Row(tools.ends)
        self.code = Slots(code)
        self.targets = Slots(targets)
        pieces = Slots(output.pieces)
        actions = Slots(output.actions)
        values = Slots(output.values)
        var constants = ByteBuffer(capacity: output.constants.count)
        constants.append(output.constants)
        self.constants = constants
    }

    /// Slots below this hold what is made.
    static let madeSlots = 32
}

/// An object of the input whose members are looked at.
struct FusedObject: Sendable {
    /// The slot that it stands in; nil for the whole payload.
    let slot: Int?
    /// The slot of its first member.
    let base: Int
    let members: KnownMembers
}

/// One instruction; what follows a branch is found at `targets[c + outcome]`.
struct FusedInstruction: BitwiseCopyable, Sendable {
    enum Code: UInt8, BitwiseCopyable, Sendable {
        /// Goes no further unless the value made in slot `a` is of the kinds `b`.
        case kind
        /// Outcome 1 where the value in slot `a` is null.
        case isNull
        /// Goes no further if the string in slot `a` has escapes.
        case plain
        /// Outcome 1 where slot `a` has no value.
        case isAbsent
        /// Outcome 1 where slot `a` does not mean the same as constant `b`.
        case differs
        /// Outcome 1 where the content of slot `a` is not that of slot `b`.
        case differsFrom
        /// Outcome 1 where the values in slots `a` and `b` do not mean the same.
        case meansOther
        /// Outcome 1 where the value in slot `a` does not fit shape `b`.
        case misfits
        /// Slot `b` becomes what codec `c` makes of slot `a`.
        case convert
        /// The slots from `b & 0xff` on become the parts of slot `a` by the rule `b >> 8`; outcome: how many but one.
        case split
        /// Slot `a` becomes the texts of list `b`, one after the other.
        case concatenate
        /// Slot `b` becomes the first element of slot `a`; outcome 1 where there is none.
        case first
        /// Outcome: the index of the content of slot `a` in list `b`.
        case select
        /// Counts `a` lost values.
        case lose
        case hide, drop
        /// Writes the `b` pieces from `a` on: the image of end `c`.
        case write
        /// Writes the `b` values from `a` on, as many as were asked for of end `c`.
        case read
        /// Hands the event over to the ops.
        case giveUp
    }

    let code: Code
    var a: Int32 = 0
    var b: Int32 = 0
    var c: Int32 = 0
}

/// A part of the output.
struct FusedPiece: BitwiseCopyable, Sendable {
    enum Kind: UInt8, BitwiseCopyable, Sendable {
        /// `b` bytes of the constants from `a` on.
        case constant
        /// The text in slot `a`.
        case slot
        /// The members of object `a` in the input's order, as the actions from `b` on say.
        case members
        /// The same, and what follows begins with a comma that is needed only behind a member.
        case membersBeforeComma
    }

    let kind: Kind
    var a: Int32
    var b: Int32 = 0
}

/// A value that was asked for: the text in a slot, some pieces of the output, or nothing where it is absent.
struct FusedValue: BitwiseCopyable, Sendable {
    /// -1 where it is no slot's.
    var slot: Int32 = -1
    /// Whether the slot's text becomes the value between quotes.
    var isBare = false
    var pieces: Int32 = 0
    var count: Int32 = 0
}

/// What becomes of a member in its place.
struct FusedAction: BitwiseCopyable, Sendable {
    /// Below zero: it is left out. Zero: it is kept as it is. Else it is written as that many pieces.
    var count: Int32
    var pieces: Int32 = 0

    static let keep = FusedAction(count: 0)
    static let leaveOut = FusedAction(count: -1)
}

/// What instructions name by index, as it is put together.
struct FusedTools: Sendable {
    enum Text: Sendable {
        case literal([UInt8])
        case slot(Int)
    }

    struct Converter: Sendable {
        let codec: any BoundCodec
        let direction: Direction
        let counts, isStrict: Bool
    }

    var constants: [[UInt8]] = []
    var shapes: [EventShape] = []
    var converters: [Converter] = []
    var separators: [SeparatedText] = []
    var lists: [[Text]] = []
    var values: [[[UInt8]]] = []
    var ends: [PathEnd] = []
}

/// A codec in one direction.
struct FusedConverter: ~Copyable, Sendable {
    let codec: any BoundCodec
    let direction: Direction
    let counts, isStrict: Bool

    init(_ tool: FusedTools.Converter) {
        (codec, direction, counts, isStrict) = (tool.codec, tool.direction, tool.counts, tool.isStrict)
    }
}
