internal import Bytes
internal import JSONText

/// The conversion of a path for events with a known birth shape, compiled to one program. The values that a scan finds determine the
/// branch, which ends with writing the output. If the program can't handle an event, the path's ops convert it one by one; they define the
/// correct result.
final class FusedProgram: Sendable {
    let objects: FixedArray<FusedObject>
    /// The number of slots that a run uses: first those for made values, then those for the members of each object.
    let slotCount: Int
    let code: UniqueArray<FusedInstruction>
    let targets: UniqueArray<Int32>
    let pieces: UniqueArray<FusedPiece>
    let actions: UniqueArray<FusedAction>
    let values: UniqueArray<FusedValue>
    let constants: ByteBuffer
    let shapes: FixedArray<EventShape>
    let converters: FixedArray<FusedConverter>
    let separators: FixedArray<TextSplitter>
    let lists: FixedArray<[ConstantPool.Text]>
    let choices: FixedArray<[[UInt8]]>
    let guards: FixedArray<Guard>
    let sources: FixedArray<Source>
    /// The programs for elements of lists and values of maps.
    let programs: FixedArray<FusedProgram>
    let ends: FixedArray<PathEnd>
    /// Whether the program reads what an event carries beside its payload.
    let readsBeside: Bool
    /// Whether the program examines or writes a personal value. If it does not, its images are the same for an event whose personal values
    /// were replaced by others of their shapes.
    let readsPersons: Bool
    /// The kinds of values that the program of an element accepts, as a bit mask; others are left to the ops.
    let kinds: UInt8

    init(
        _ layout: SymbolicDocument.Layout, code: [FusedInstruction], targets: [Int32], output: FusedOutput, tools: ConstantPool,
        kinds: UInt8 = .max
    ) {
        self.kinds = kinds
        objects = FixedArray(layout.objects)
        slotCount = layout.slotCount
        readsPersons = layout.persons.contains { slot in
            code.contains { $0.examines(slot, orPresence: layout.ownPersons.contains(slot)) }
                || tools.lists.contains { $0.contains { $0.slot == slot } } || output.writes(slot, of: layout.objects)
        }
        shapes = FixedArray(tools.shapes)
        converters = FixedArray(count: tools.converters.count) { FusedConverter(tools.converters[$0]) }
        separators = FixedArray(count: tools.separators.count) { TextSplitter(copying: tools.separators[$0].splitter) }
        lists = FixedArray(tools.lists)
        choices = FixedArray(tools.values)
        guards = FixedArray(tools.guards)
        sources = FixedArray(tools.sources)
        readsBeside =
            !tools.sources.isEmpty || tools.programs.contains(where: \.readsBeside)
            || code.contains { if case .fails = $0.code { $0.a < 0 } else { false } }
        programs = FixedArray(tools.programs)
        ends = FixedArray(tools.ends)
        self.code = UniqueArray(code)
        self.targets = UniqueArray(targets)
        pieces = UniqueArray(output.pieces)
        actions = UniqueArray(output.actions)
        values = UniqueArray(output.values)
        var constants = ByteBuffer(capacity: output.constants.count)
        constants.append(output.constants)
        self.constants = constants
    }

    /// The slots below this number hold values that the program makes.
    static let madeSlots = 192
    /// The slot in which the program of an element finds the element.
    static let elementSlot = madeSlots

    /// Whether the program can't fail and counts nothing.
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

/// An object of the input whose members are examined.
struct FusedObject: Sendable {
    /// The slot of the object; nil for the whole payload.
    let slot: Int?
    /// The slot of its first member.
    let base: Int
    let members: KnownMembers
}

/// A piece of the output.
struct FusedPiece: BitwiseCopyable, Sendable {
    enum Kind: UInt8, BitwiseCopyable, Sendable {
        /// The `b` bytes of the constants from `a` on.
        case constant
        /// The text in slot `a`.
        case slot
        /// The content of slot `a` as a string literal.
        case quoted
        /// The members of object `a` in the input's order, treated as the actions from `b` on say.
        case members
        /// As `members`, followed by a constant that begins with a comma, which is needed only after a member.
        case membersBeforeComma
    }

    let kind: Kind
    var a: Int32
    var b: Int32 = 0
}

/// A requested value: the text in a slot, some pieces of the output, or nothing if it is absent.
struct FusedValue: BitwiseCopyable, Sendable {
    /// -1 if the value is not in a slot.
    var slot: Int32 = -1
    /// Whether the slot's text must be quoted to become the value.
    var isBare = false
    var pieces: Int32 = 0
    var count: Int32 = 0
}

/// The action for a member that keeps its position.
struct FusedAction: BitwiseCopyable, Sendable {
    /// Negative: the member is left out. Zero: it is copied unchanged. Otherwise, the number of pieces to write.
    var count: Int32
    var pieces: Int32 = 0

    static let keep = FusedAction(count: 0)
    static let leaveOut = FusedAction(count: -1)
}

/// The constants that instructions refer to by index, while a program is being compiled.
struct ConstantPool: Sendable {
    enum Text: Sendable {
        case literal([UInt8])
        case slot(Int)
        /// A number, in canonical form.
        case number(Int)

        /// The slot whose text is read, if any.
        var slot: Int? {
            switch self {
            case .literal: nil
            case .slot(let slot), .number(let slot): slot
            }
        }
    }

    var shapes: [EventShape] = []
    var converters: [Conversion] = []
    var separators: [SeparatedText] = []
    var lists: [[Text]] = []
    var values: [[[UInt8]]] = []
    var guards: [Guard] = []
    var sources: [Source] = []
    var programs: [FusedProgram] = []
    /// Nil marks a list of ops without a program.
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
