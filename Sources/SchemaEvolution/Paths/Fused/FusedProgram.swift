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

struct FusedConverter: ~Copyable, Sendable {
    let codec: any BoundCodec
    let direction: Direction
    let counts, isStrict: Bool

    init(_ conversion: Conversion) {
        (codec, direction, counts, isStrict) = (conversion.codec, conversion.direction, conversion.counts, conversion.isStrict)
    }
}

/// One instruction. The instruction after a branch is at `targets[c + outcome]`.
struct FusedInstruction: BitwiseCopyable, Sendable {
    enum Code: UInt8, BitwiseCopyable, Sendable {
        /// Gives up unless the made value in slot `a` has one of the kinds `b`.
        case kind
        /// Outcome 1 if the value in slot `a` is null.
        case isNull
        /// Sets slot `b` to the content of slot `a`: the unescaped text of a string, the JSON text of other values.
        case content
        /// Outcome 1 if slot `a` has no value.
        case isAbsent
        /// Outcome 1 if slot `a` equals none of the constants `b`.
        case differs
        /// Outcome 1 if guard `b` does not hold for the content of slot `a`. If `a` is negative, the guard applies to what the event
        /// carries beside its payload.
        case fails
        /// Outcome 1 if the contents of slots `a` and `b` differ.
        case differsFrom
        /// Outcome 1 if the values in slots `a` and `b` are not equal.
        case meansOther
        /// Outcome 1 if the value in slot `a` is present and does not fit shape `b`.
        case misfits
        /// Sets slot `b` to the result of codec `c` for slot `a`; null and absent values stay unchanged.
        case convert
        /// Sets the slots from `b & 0xff` on to the parts of slot `a` by rule `b >> 8`. The outcome is the number of parts minus one.
        case split
        /// Sets slot `a` to the concatenation of the texts in list `b`.
        case concatenate
        /// Sets slot `b` to the first element of slot `a`. Outcome 1 if there is none.
        case first
        /// The outcome is the index of the content of slot `a` in list `b`.
        case select
        /// Counts `a` lost values.
        case lose
        /// Counts the value in slot `a` as lost if it is present and equals none of the constants `b`.
        case loseUnless
        /// Sets slot `b` to source `a`, which the event carries beside its payload. Outcome 1 if the event lacks it.
        case beside
        /// Sets slot `b` to the list or map in slot `a` with program `c` applied to each value in it.
        case each
        /// Counts a hidden or dropped image.
        case hide, drop
        /// Writes the `b` pieces from `a` on: the image of end `c`.
        case write
        /// Returns the `b` values from `a` on, which were requested for end `c`.
        case read
        /// All images are complete.
        case done
        /// Leaves the event to the ops.
        case giveUp
    }

    let code: Code
    var a: Int32 = 0
    var b: Int32 = 0
    var c: Int32 = 0

    /// Whether the instruction depends on the value in a slot of the input. The slots that `concatenate` reads are in its list.
    /// - Parameter orPresence: whether it counts, too, if it only asks whether there is one.
    func examines(_ slot: Int, orPresence: Bool) -> Bool {
        switch code {
        case .isAbsent: orPresence && Int(a) == slot
        case .concatenate, .lose, .beside, .hide, .drop, .write, .read, .done, .giveUp: false
        case .differsFrom, .meansOther: Int(a) == slot || Int(b) == slot
        case .kind, .isNull, .content, .differs, .fails, .misfits, .convert, .split, .first, .select, .loseUnless, .each: Int(a) == slot
        }
    }
}

/// Collects what the branches of a program write.
struct FusedOutput {
    private(set) var pieces: [FusedPiece] = []
    private(set) var actions: [FusedAction] = []
    private(set) var values: [FusedValue] = []
    private(set) var constants: [UInt8] = []

    /// The consecutive pieces that make up a value.
    mutating func write(_ node: Int, of draft: SymbolicDocument) -> Range<Int> {
        var made: [FusedPiece] = []
        add(node, of: draft, to: &made)
        return place(made)
    }

    /// Adds the requested values; nil stands for an absent one. Returns the index of the first.
    mutating func write(values nodes: [Int?], of draft: SymbolicDocument) -> Int {
        for node in nodes {
            var value = FusedValue()
            if let node {
                switch draft.nodes[node].value {
                case .input(let slot), .made(let slot, _): value.slot = Int32(slot)
                case .text(let slot): (value.slot, value.isBare) = (Int32(slot), true)
                default:
                    let range = write(node, of: draft)
                    (value.pieces, value.count) = (Int32(range.lowerBound), Int32(range.count))
                }
            }
            values.append(value)
        }
        return values.count - nodes.count
    }

    /// Whether any branch writes the value in a slot of the input, alone or with the object that has it.
    func writes(_ slot: Int, of objects: [FusedObject]) -> Bool {
        values.contains { Int($0.slot) == slot }
            || pieces.contains { piece in
                switch piece.kind {
                case .constant: false
                case .slot, .quoted: Int(piece.a) == slot
                case .members, .membersBeforeComma:
                    (objects[Int(piece.a)].base ..< objects[Int(piece.a)].base + objects[Int(piece.a)].members.count).contains(slot)
                }
            }
    }

    private mutating func place(_ made: [FusedPiece]) -> Range<Int> {
        let first = pieces.count
        pieces += made
        return first ..< pieces.count
    }

    private mutating func add(_ node: Int, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        switch draft.nodes[node].value {
        case .input(let slot), .made(let slot, _): made.append(FusedPiece(kind: .slot, a: Int32(slot)))
        case .text(let slot): made.append(FusedPiece(kind: .quoted, a: Int32(slot)))
        case .constant(let json): add(json, to: &made)
        case .list(let element):
            add([UInt8(ascii: "[")], to: &made)
            add(element, of: draft, to: &made)
            add([UInt8(ascii: "]")], to: &made)
        case .object(let children, let object): add(children, object, of: draft, to: &made)
        case .each: preconditionFailure("what is done to elements is settled before an image is written")
        }
    }

    private mutating func add(_ children: [Int], _ object: Int?, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        let others = children.filter { !draft.nodes[$0].isInPlace }
        add([UInt8(ascii: "{")], to: &made)
        if let object {
            let first = inPlace(children, draft.layout.objects[object], of: draft)
            made.append(FusedPiece(kind: others.isEmpty ? .members : .membersBeforeComma, a: Int32(object), b: Int32(first)))
        }
        for (index, child) in others.enumerated() {
            if index > 0 || object != nil { add([UInt8(ascii: ",")], to: &made) }
            addMember(child, of: draft, to: &made)
        }
        add([UInt8(ascii: "}")], to: &made)
    }

    /// Adds the actions for the members that keep their position. Returns the index of the first action.
    private mutating func inPlace(_ children: [Int], _ object: FusedObject, of draft: SymbolicDocument) -> Int {
        var row = [FusedAction](repeating: .leaveOut, count: object.members.count)
        for child in children where draft.nodes[child].isInPlace {
            let node = draft.nodes[child]
            guard let slot = node.slot else { continue }
            if !node.isRenamed, case .input(slot) = node.value {
                row[slot - object.base] = .keep
            } else {
                var made: [FusedPiece] = []
                addMember(child, of: draft, to: &made)
                let range = place(made)
                row[slot - object.base] = FusedAction(count: Int32(range.count), pieces: Int32(range.lowerBound))
            }
        }
        let first = actions.count
        actions += row
        return first
    }

    private mutating func addMember(_ node: Int, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        add((draft.nodes[node].name?.quoted ?? []) + [UInt8(ascii: ":")], to: &made)
        add(node, of: draft, to: &made)
    }

    /// Merges adjacent constants into one piece.
    private mutating func add(_ text: [UInt8], to made: inout [FusedPiece]) {
        if let last = made.last, last.kind == .constant, Int(last.a + last.b) == constants.count {
            made[made.count - 1].b += Int32(text.count)
        } else {
            made.append(FusedPiece(kind: .constant, a: Int32(constants.count), b: Int32(text.count)))
        }
        constants += text
    }
}
