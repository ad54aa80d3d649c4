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
    let shapes: Row<EventShape>
    let converters: Row<FusedConverter>
    let separators: Row<TextSplitter>
    let lists: Row<[FusedTools.Text]>
    let choices: Row<[[UInt8]]>
    let guards: Row<Guard>
    let sources: Row<Source>
    /// For the elements of lists and the values of maps.
    let programs: Row<FusedProgram>
    let ends: Row<PathEnd>
    /// Whether it looks at what an event carries beside its payload.
    let readsBeside: Bool
    /// The kinds of values that the program of an element takes, a bit for each; the others are left to the ops.
    let kinds: UInt8

    init(
        objects: [FusedObject], slotCount: Int, code: [FusedInstruction], targets: [Int32], output: FusedOutput, tools: FusedTools,
        kinds: UInt8
    ) {
        self.kinds = kinds
        self.objects = Row(objects)
        self.slotCount = slotCount
        shapes = Row(tools.shapes)
        converters = Row(count: tools.converters.count) { FusedConverter(tools.converters[$0]) }
        separators = Row(count: tools.separators.count) { TextSplitter(copying: tools.separators[$0].splitter) }
        lists = Row(tools.lists)
        choices = Row(tools.values)
        guards = Row(tools.guards)
        sources = Row(tools.sources)
        readsBeside =
            !tools.sources.isEmpty || tools.programs.contains(where: \.readsBeside)
            || code.contains { if case .fails = $0.code { $0.a < 0 } else { false } }
        programs = Row(tools.programs)
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
    static let madeSlots = 192
    /// Where the program of an element finds that.
    static let elementSlot = madeSlots

    /// Whether the program can refuse nothing and counts nothing.
    var isSilent: Bool {
        for index in 0 ..< code.count {
            switch code[index].code {
            case .isNull, .isAbsent, .write, .done: continue
            default: return false
            }
        }
        return true
    }
}

/// An object of the input whose members are looked at.
struct FusedObject: Sendable {
    /// The slot that it stands in; nil for the whole payload.
    let slot: Int?
    /// The slot of its first member.
    let base: Int
    let members: KnownMembers
}

/// A part of the output.
struct FusedPiece: BitwiseCopyable, Sendable {
    enum Kind: UInt8, BitwiseCopyable, Sendable {
        /// `b` bytes of the constants from `a` on.
        case constant
        /// The text in slot `a`.
        case slot
        /// The content in slot `a` as a string.
        case quoted
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
        /// A number, in canonical form.
        case number(Int)
    }

    var shapes: [EventShape] = []
    var converters: [Conversion] = []
    var separators: [SeparatedText] = []
    var lists: [[Text]] = []
    var values: [[[UInt8]]] = []
    var guards: [Guard] = []
    var sources: [Source] = []
    var programs: [FusedProgram] = []
    /// Nil where there is no such program.
    var elementPrograms: [[ElementKey]: Int?] = [:]
    var ends: [PathEnd] = []
}

/// A codec in one direction.
struct FusedConverter: ~Copyable, Sendable {
    let codec: any BoundCodec
    let direction: Direction
    let counts, isStrict: Bool

    init(_ conversion: Conversion) {
        (codec, direction, counts, isStrict) = (conversion.codec, conversion.direction, conversion.counts, conversion.isStrict)
    }
}
