internal import EventModel
internal import JSONText

/// A document whose values are not known yet: ops change it as they change a document. Where what they do depends on
/// the event, the draft goes one way and notes that there are others; the compiler comes back for those.
struct FusedDraft {
    enum Value {
        /// Text of the input, as it stands there.
        case input(Int)
        /// The content of a string that needs no escapes.
        case text(Int)
        /// JSON text that was made; its kind, where it is known.
        case made(Int, JSONKind?)
        case constant([UInt8])
        case list(Int)
        /// The list or map in a slot, with ops done to what it holds.
        case each(Int, FusedElements)
        /// Children in order; those in their place in an object of the input come first.
        case object([Int], Int?)
    }

    struct Entry {
        var value: Value
        var name: MemberName?
        var parent: Int?
        /// Of a member of the input.
        var slot: Int?
        var shape: Shape?
        var kind: JSONKind?
        var isInPlace = false
        var isRenamed = false
        /// Whether it is known to be there: because it was asked for, was made, or because the scan refuses objects that lack it.
        var isSure = true
        /// Whether what was made may be null.
        var isNullable = false
    }

    /// The objects of the input that are looked into on any way.
    struct Layout {
        var objects: [FusedObject] = []
        var slotCount = FusedProgram.madeSlots
    }

    struct Choice {
        var outcome: Int
        var count: Int
    }

    var nodes: [Entry] = []
    var layout: Layout
    var tools: FusedTools
    /// The way so far; the instructions that are a choice are counted by `choices`.
    private(set) var way: [(instruction: FusedInstruction, isChoice: Bool)] = []
    private(set) var choices: [Choice] = []
    private let script: [Int]
    private var madeCount = 0
    /// Set where nothing more becomes of the event, or of the part that is followed.
    private(set) var isOver = false
    /// Whether the event is left to the ops.
    private(set) var isGivenUp = false
    /// What ops are done to.
    private(set) var root = 0
    private let isElement: Bool

    typealias Node = Int

    /// A draft of an event.
    init(_ shape: Shape, layout: Layout, tools: FusedTools, script: [Int]) {
        (self.layout, self.tools, self.script) = (layout, tools, script)
        isElement = false
        nodes = [Entry(value: .object([], nil))]
        open(root, shape, slot: nil)
    }

    /// A draft of what a list or map holds.
    init(element shape: Shape, layout: Layout, tools: FusedTools, script: [Int]) {
        (self.layout, self.tools, self.script) = (layout, tools, script)
        isElement = true
        nodes = [Entry(value: .input(FusedProgram.elementSlot), shape: shape)]
        // Ops pass by what is null.
        nodes[0].shape?.isNullable = false
    }

    /// Does something to another value than the event.
    mutating func at(_ node: Int, _ body: (inout FusedDraft) -> Void) {
        let outer = root
        root = node
        body(&self)
        root = outer
    }

    /// Does something to a copy of the draft's values: afterwards they are as before, but for what was decided on the way.
    mutating func aside(_ body: (inout FusedDraft) -> Void) {
        let (before, outer) = (nodes, root)
        body(&self)
        (nodes, root) = (before, outer)
        isOver = isGivenUp
    }

    /// An object that stands nowhere.
    mutating func makeObject() -> Int { add(.object([], nil), kind: .object) }

    /// From here on the event is an object with other members.
    mutating func begin(_ object: Int) { root = object }

    mutating func emit(_ code: FusedInstruction.Code, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0) {
        if !isOver { way.append((FusedInstruction(code: code, a: Int32(a), b: Int32(b), c: Int32(c)), false)) }
    }

    /// Which of the outcomes this way takes.
    mutating func choose(_ code: FusedInstruction.Code, _ a: Int, _ b: Int = 0, among count: Int = 2) -> Int {
        if isOver { return 0 }
        let outcome = choices.count < script.count ? script[choices.count] : 0
        choices.append(Choice(outcome: outcome, count: count))
        way.append((FusedInstruction(code: code, a: Int32(a), b: Int32(b)), true))
        return outcome
    }

    /// Does the last that becomes of the event, or of the part that is followed.
    mutating func end(_ code: FusedInstruction.Code, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0) {
        emit(code, a, b, c)
        isOver = true
    }

    /// Ends with no image, once nothing before it can fail any more.
    mutating func leaveOut(_ code: FusedInstruction.Code) {
        // Whether an element hides its event depends on those before: the ops tell.
        if isElement { return giveUp() }
        settleElements { _ in false }
        end(code)
    }

    /// Leaves the event to the ops.
    mutating func giveUp() {
        end(.giveUp)
        isGivenUp = true
    }

    /// Ends as an op wants it: with no image, or left to the ops, which say why they refuse the event.
    mutating func stop(_ stop: OpStop) {
        switch stop {
        case .hidden: leaveOut(.hide)
        case .failed, .programNeeded: giveUp()
        }
    }

    /// The end of the way.
    mutating func finish() {
        isOver = isGivenUp
        end(.done)
    }

    mutating func lose(_ count: Int) { emit(.lose, count) }

    /// Slots for what is made, one after the other.
    mutating func makeSlots(_ count: Int = 1) -> Int {
        if madeCount + count > FusedProgram.madeSlots {
            giveUp()
            return 0
        }
        madeCount += count
        return madeCount - count
    }

    mutating func add(_ value: Value, kind: JSONKind? = nil) -> Int {
        nodes.append(Entry(value: value, kind: kind))
        return nodes.count - 1
    }

    /// Makes an object of the input one with members, each known or not yet known to be there.
    mutating func open(_ node: Int, _ shape: Shape, slot: Int?) {
        let object: Int
        if let known = layout.objects.firstIndex(where: { $0.slot == slot }) {
            object = known
        } else {
            guard !shape.isMap, let members = KnownMembers(shape.properties.map { KnownMember($0, of: shape) }) else { return giveUp() }
            object = layout.objects.count
            layout.objects.append(FusedObject(slot: slot, base: layout.slotCount, members: members))
            layout.slotCount += members.count
        }
        let base = layout.objects[object].base
        var children: [Int] = []
        for (index, property) in shape.properties.enumerated() {
            children.append(nodes.count)
            nodes.append(
                Entry(
                    value: .input(base + index), name: MemberName(property.name), parent: node, slot: base + index, shape: property.shape,
                    isInPlace: true, isSure: shape.required.contains(property.name)))
        }
        nodes[node].value = .object(children, object)
        nodes[node].shape = shape
    }
}

extension KnownMember {
    fileprivate init(_ property: Shape.Property, of shape: Shape) {
        self.init(
            MemberName(property.name), kinds: property.shape.kindBits, isRequired: shape.required.contains(property.name))
    }
}
