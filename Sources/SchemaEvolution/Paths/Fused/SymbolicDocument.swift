internal import EventModel
internal import JSONText

/// A document whose values are not known yet; ops change it as they change a real document. Wherever an op's behaviour depends on the
/// event, the symbolic document picks one outcome and records that there are others, for which the compiler returns later.
struct SymbolicDocument {
    enum Value {
        /// Unchanged text of the input, in a slot.
        case input(Int)
        /// The content of a string that needs no escapes, in a slot.
        case text(Int)
        /// JSON text that was made, in a slot, and its kind if that is known.
        case made(Int, JSONKind?)
        case constant([UInt8])
        case list(Int)
        /// The list or map in a slot, with pending ops on its elements.
        case each(Int, FusedElements)
        /// Children in order; those that keep their position in an object of the input come first.
        case object([Int], Int?)
    }

    struct Entry {
        var value: Value
        var name: MemberName?
        var parent: Int?
        /// The slot of a member of the input.
        var slot: Int?
        var shape: Shape?
        var kind: JSONKind?
        var isInPlace = false
        var isRenamed = false
        /// Whether the value is known to be present: because this was tested, because it was made, or because the scan rejects objects
        /// without it.
        var isSure = true
        /// Whether a made value may be null.
        var isNullable = false
    }

    /// The objects of the input that are examined on any branch.
    struct Layout {
        var objects: [FusedObject] = []
        var slotCount = FusedProgram.madeSlots
        /// The slots of members that are personal, contain personal values or lie within one.
        var persons: Set<Int> = []
        /// Those of them that are personal or lie within a personal value: of the latter, even whether they are there is personal.
        var ownPersons: Set<Int> = []
    }

    var nodes: [Entry] = []
    var layout: Layout
    var tools: ConstantPool
    /// The instructions so far; those that are choices correspond to `choices`, in order.
    private(set) var trace: [(instruction: FusedInstruction, isChoice: Bool)] = []
    private(set) var choices: [(outcome: Int, count: Int)] = []
    private let script: [Int]
    private var madeCount = 0
    /// Set when nothing more happens to the event, or to the current part.
    private(set) var isOver = false
    /// Whether the event is left to the ops.
    private(set) var isGivenUp = false
    /// The value to which ops are applied.
    private(set) var root = 0
    private let isElement: Bool

    typealias Node = Int

    /// A symbolic event.
    init(_ shape: Shape, layout: Layout, tools: ConstantPool, script: [Int]) {
        (self.layout, self.tools, self.script) = (layout, tools, script)
        isElement = false
        nodes = [Entry(value: .object([], nil))]
        open(root, shape, slot: nil)
    }

    /// A symbolic element of a list or map.
    init(element shape: Shape, layout: Layout, tools: ConstantPool, script: [Int]) {
        (self.layout, self.tools, self.script) = (layout, tools, script)
        isElement = true
        nodes = [Entry(value: .input(FusedProgram.elementSlot), shape: shape)]
        // Ops skip null elements.
        nodes[0].shape?.isNullable = false
    }

    /// Performs the body with another value as root.
    mutating func at(_ node: Int, _ body: (inout SymbolicDocument) -> Void) {
        let outer = root
        root = node
        body(&self)
        root = outer
    }

    /// Performs the body on a copy of the values. Afterwards, the values are restored; only the recorded decisions remain.
    mutating func aside(_ body: (inout SymbolicDocument) -> Void) {
        let (before, outer) = (nodes, root)
        body(&self)
        (nodes, root) = (before, outer)
        isOver = isGivenUp
    }

    /// A detached object.
    mutating func makeObject() -> Int { add(.object([], nil), kind: .object) }

    /// Continues with another object as the event.
    mutating func begin(_ object: Int) { root = object }

    mutating func emit(_ code: FusedInstruction.Code, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0) {
        if !isOver { trace.append((FusedInstruction(code: code, a: Int32(a), b: Int32(b), c: Int32(c)), false)) }
    }

    /// Records a choice and returns the outcome that this branch takes.
    mutating func choose(_ code: FusedInstruction.Code, _ a: Int, _ b: Int = 0, among count: Int = 2) -> Int {
        if isOver { return 0 }
        let outcome = choices.count < script.count ? script[choices.count] : 0
        choices.append((outcome, count))
        trace.append((FusedInstruction(code: code, a: Int32(a), b: Int32(b)), true))
        return outcome
    }

    /// Emits the last instruction for the event, or for the current part.
    mutating func end(_ code: FusedInstruction.Code, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0) {
        emit(code, a, b, c)
        isOver = true
    }

    /// Ends without an image, after everything that may still fail.
    mutating func leaveOut(_ code: FusedInstruction.Code) {
        // Whether an element hides its event depends on earlier elements, so the ops must decide.
        if isElement { return giveUp() }
        settleElements { _ in false }
        end(code)
    }

    /// Leaves the event to the ops.
    mutating func giveUp() {
        end(.giveUp)
        isGivenUp = true
    }

    /// Leaves the event to the ops, and returns what stands for a result that is not used any more.
    mutating func giveUp<Result>(returning result: Result) -> Result {
        giveUp()
        return result
    }

    /// Ends as an op requests: without an image, or left to the ops, which report why they refuse the event.
    mutating func stop(_ stop: OpStop) {
        switch stop {
        case .hidden: leaveOut(.hide)
        case .failed, .programNeeded: giveUp()
        }
    }

    mutating func finish() {
        isOver = isGivenUp
        end(.done)
    }

    mutating func lose(_ count: Int) { emit(.lose, count) }

    /// Allocates consecutive slots for made values.
    mutating func makeSlots(_ count: Int = 1) -> Int {
        if madeCount + count > FusedProgram.madeSlots { return giveUp(returning: 0) }
        madeCount += count
        return madeCount - count
    }

    mutating func add(_ value: Value, kind: JSONKind? = nil) -> Int {
        nodes.append(Entry(value: value, kind: kind))
        return nodes.count - 1
    }

    /// Opens an object of the input: creates its members, each of which is known to be present or not yet tested.
    mutating func open(_ node: Int, _ shape: Shape, slot: Int?) {
        let object: Int
        if let known = layout.objects.firstIndex(where: { $0.slot == slot }) {
            object = known
        } else {
            guard !shape.isMap, let members = KnownMembers(shape.properties.map { KnownMember($0, of: shape) }) else { return giveUp() }
            object = layout.objects.count
            layout.objects.append(FusedObject(slot: slot, base: layout.slotCount, members: members))
            let isOwn = shape.isPersonal || slot.map { layout.ownPersons.contains($0) } ?? false
            for (index, property) in shape.properties.enumerated() where isOwn || property.shape.hasPersons {
                layout.persons.insert(layout.slotCount + index)
                if isOwn || property.shape.isPersonal { layout.ownPersons.insert(layout.slotCount + index) }
            }
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
