internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A definition of a projection file, compiled for the shapes of one version.
final class DeclarativeFold: Fold {
    final class Rule: Sendable {
        /// Its index among the rules of the fold.
        let number: Int
        let key: ValuePlan
        /// The inputs that operations of this type carry, in order.
        let inputs: [ValuePlan]
        /// For each input, a bit mask of the folds that read it; inputs of folds that can't run are not evaluated.
        let readers: UniqueArray<UInt64>
        let folds: FixedArray<CompiledFold>
        /// The index of the pick that is the list of `each`.
        let each: Int?
        let payload, item, metadata: PointerPicker
        /// The pointers of the payload's picks; nil if the whole payload is read too.
        let reads: [JSONPointer]?
        /// For each input, the index of the payload pick that it is; -1 if it is something else.
        let picks: UniqueArray<Int>
        /// The index of the payload pick that is the key; -1 if the key is something else.
        let keyPick: Int
        /// Whether an event yields one operation that consists only of payload picks.
        let isDirect: Bool

        init(
            number: Int, key: ValuePlan, inputs: [ValuePlan], readers: [UInt64], folds: [CompiledFold], each: Int?, payload: PointerPicker,
            reads: [JSONPointer]?, item: PointerPicker, metadata: PointerPicker
        ) {
            (self.number, self.reads) = (number, reads)
            (self.key, self.inputs, self.each) = (key, inputs, each)
            self.readers = UniqueArray(readers)
            self.folds = FixedArray(folds)
            picks = UniqueArray(inputs.map(\.payloadPick))
            keyPick = key.payloadPick
            isDirect =
                each == nil && metadata.count == 0 && keyPick >= 0 && inputs.allSatisfy { $0.payloadPick >= 0 }
                && folds.first.map { $0.eventGuard == nil && $0.rowGuard == nil } == true
            (self.payload, self.item, self.metadata) = (payload, item, metadata)
        }
    }

    final class CompiledFold: Sendable {
        /// Evaluated on the event alone, before the row is read.
        let eventGuard: CompiledGuard<ValuePlan>?
        let rowGuard: CompiledGuard<RowPlace>?
        let edits: [CompiledEdit]
        let deletes: Bool
        let onlyExisting: Bool
        /// The new value of each slot, in order, if all edits are plain; otherwise empty.
        let sources: UniqueArray<SlotSource>

        init(
            slots: Int, eventGuard: CompiledGuard<ValuePlan>?, rowGuard: CompiledGuard<RowPlace>?, edits: [CompiledEdit], deletes: Bool,
            onlyExisting: Bool
        ) {
            (self.eventGuard, self.rowGuard, self.edits) = (eventGuard, rowGuard, edits)
            (self.deletes, self.onlyExisting) = (deletes, onlyExisting)
            sources = SlotSource.sources(of: edits, slots: slots)
        }
    }

    struct CompiledGuard<Place: Sendable>: Sendable {
        var place: Place
        var test: Guard.Test
    }

    /// A change of one target. A class, since a fold iterates over all of its edits for each event.
    final class CompiledEdit: Sendable {
        let kind: Edit.Kind
        let slot: Int
        let within: [Token]
        let value: Operand
        let order: ValueOrder
        let keep: Int?
        let pointer: String

        init(kind: Edit.Kind, slot: Int, within: [Token], value: Operand, order: ValueOrder, keep: Int?, pointer: String) {
            (self.kind, self.slot, self.within, self.value) = (kind, slot, within, value)
            (self.order, self.keep, self.pointer) = (order, keep, pointer)
        }

        enum Token: Sendable {
            case name(MemberName)
            /// An input that holds a JSON string.
            case input(Int)
        }
    }

    enum Operand: Sendable {
        case input(Int)
        case constant([UInt8])
        case row(RowPlace)
    }

    /// A location in the row: a slot, a value inside a slot, or an object that contains slots.
    enum RowPlace: Sendable {
        case slot(Int)
        case within(Int, PointerPicker)
        case object(Range<Int>, depth: Int)
    }

    private let numbers: [Name: Int]
    let rules: FixedArray<Rule>
    let layout: RowLayout
    let initial: [UInt8]
    let readsStream: Bool
    func reads(_ rule: Int) -> [JSONPointer]? { rules[rule].reads }
    var readsID: Bool { false }

    init(_ projection: DeclaredProjection, at version: SchemaVersion, _ history: History) {
        let slots = RowSlots(projection)
        (layout, initial) = (slots.layout, slots.start)
        var (numbers, rules, readsStream): ([Name: Int], [Rule], Bool) = ([:], [], false)
        for (type, folds) in projection.on.sorted(by: { $0.key < $1.key }) {
            var compiler = FoldCompiler(layout: layout, shape: history.shape(of: type.text, at: version)?.shape ?? .any)
            numbers[type] = rules.count
            rules.append(compiler.rule(number: rules.count, key: projection.key(of: type).source, folds))
            readsStream = readsStream || compiler.readsStream
        }
        (self.numbers, self.readsStream) = (numbers, readsStream)
        self.rules = FixedArray(rules)
    }

    func rule(of type: String) -> Int? { numbers[type] }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) {
        layout.open(json, into: &state, &workspace.rowPicks)
    }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { layout.render(state, into: &json) }
}

extension DeclarativeFold {
    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        try rules[call.rule].prepare(facts, image, call, &workspace, into: &operations)
    }
}

extension DeclarativeFold.Rule {
    @inline(__always)
    fileprivate func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let payload = image.payload
        if !image.isWhole {
            let places = image.places.extracting(droppingFirst: call.values)
            if isDirect { return try prepare(facts.position, payload, places, into: &operations) }
            workspace.payloadPicks.removeAll()
            for index in 0 ..< self.payload.count { workspace.payloadPicks.append(places[index]) }
        } else {
            self.payload.pick(payload, into: &workspace.payloadPicks)
            if isDirect { return try prepare(facts.position, payload, workspace.payloadPicks.span, into: &operations) }
        }
        if metadata.count > 0 { metadata.pick(call.metadata, into: &workspace.metadataPicks) }
        guard let each else {
            let view = EventView(payload: payload, metadata: call.metadata, item: payload)
            return try prepare(facts, view, &workspace, into: &operations)
        }
        let list = workspace.payloadPicks[each]
        guard list.isPresent else { return }
        let text = payload.slice(list.start, list.size)
        guard findElements(of: text, into: &workspace.elements) else {
            // A nullable list that is null has no elements.
            if text.byteCount == 4, text.byte(at: 0) == UInt8(ascii: "n") { return }
            throw FoldError("what each goes through should be a list, found \(ValueOrder.Kind.words(text))")
        }
        for index in workspace.elements.indices {
            let item = text.slice(workspace.elements[index].start, workspace.elements[index].size)
            self.item.pick(item, into: &workspace.itemPicks)
            let view = EventView(payload: payload, metadata: call.metadata, item: item)
            try prepare(facts, view, &workspace, into: &operations)
        }
    }

    /// Fast path: the key and all inputs are values of the payload, and no guard has to be evaluated.
    ///
    /// - Parameter places: a slice for each value of the payload that the rule picks.
    private func prepare(
        _ position: Position, _ payload: RawSpan, _ places: Span<ByteSlice>, into operations: inout OperationBuffer
    ) throws(FoldError) {
        operations.begin(rule: number, mask: 1, position: position)
        guard try ValuePlan.appendText(payload, places[keyPick], into: &operations.bytes) else {
            throw FoldError("the event has no key")
        }
        try operations.endKey()
        let sizes = operations.bytes.count
        for index in 0 ..< picks.count { operations.bytes.append(littleEndian: places[picks[index]].count) }
        for index in 0 ..< picks.count {
            let slice = places[picks[index]]
            if !slice.isPresent { continue }
            let value = payload.slice(slice.start, slice.size)
            let first = value.byte(at: 0)
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                let start = operations.bytes.count
                appendCompact(value, into: &operations.bytes)
                operations.bytes.store(littleEndian: Int32(truncatingIfNeeded: operations.bytes.count &- start), at: sizes &+ index &* 4)
            } else {
                operations.bytes.append(value)
            }
        }
        operations.end()
    }

    /// Writes one operation: the sizes of its inputs in the rule's order (i32, -1 if absent), followed by their JSON texts.
    private func prepare(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let mask = try candidates(facts, event, &workspace)
        if mask == 0 { return }
        operations.begin(rule: number, mask: mask, position: facts.position)
        guard try key.appendText(facts, event, workspace, into: &operations.bytes) else { throw FoldError("the event has no key") }
        try operations.endKey()
        let sizes = operations.bytes.count
        for _ in 0 ..< picks.count { operations.bytes.append(littleEndian: Int32(-1)) }
        for index in 0 ..< picks.count where readers[index] & mask != 0 {
            let start = operations.bytes.count
            if picks[index] >= 0 {
                let slice = workspace.payloadPicks[picks[index]]
                if !slice.isPresent { continue }
                appendCompact(event.payload.slice(slice.start, slice.size), into: &operations.bytes)
            } else {
                guard try inputs[index].appendJSON(facts, event, workspace, into: &operations.bytes) else { continue }
            }
            operations.bytes.store(littleEndian: Int32(operations.bytes.count - start), at: sizes + index * 4)
        }
        operations.end()
    }

    /// A bit mask of the folds that may run: none after the first one that certainly does.
    private func candidates(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> UInt64 {
        var mask: UInt64 = 0
        for index in 0 ..< folds.count {
            let fold = folds[index]
            if let test = fold.eventGuard {
                guard try holds(test, facts, event, &workspace) else { continue }
            }
            mask |= 1 << UInt64(index)
            if fold.rowGuard == nil { break }
        }
        return mask
    }

    private func holds(
        _ given: DeclarativeFold.CompiledGuard<ValuePlan>, _ facts: borrowing EventFacts, _ event: borrowing EventView,
        _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> Bool {
        if case .payloadPick(let index) = given.place {
            let value = workspace.payloadPicks[index]
            return value.isPresent ? given.test.holds(event.payload.slice(value.start, value.size)) : given.test.holdsWhereAbsent
        }
        var text = ByteBuffer(capacity: 64)
        return try given.place.appendJSON(facts, event, workspace, into: &text) ? given.test.holds(text.bytes) : given.test.holdsWhereAbsent
    }
}

extension DeclarativeFold {
    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome {
        if state.byteCount > 0 {
            return try apply(rules[Operation.rule(operation)], operation, state, exists: true, &workspace)
        }
        let initial = initial
        return try apply(rules[Operation.rule(operation)], operation, initial.lent, exists: false, &workspace)
    }

    private static func readInputs(_ operation: RawSpan, _ count: Int, _ inputs: inout UniqueArray<ByteSlice>) {
        inputs.removeAll()
        let sizes = Operation.bodyStart(operation)
        var offset = sizes &+ 4 &* count
        for index in 0 ..< count {
            let size = Int(operation.load(Int32.self, at: sizes &+ 4 &* index))
            inputs.append(ByteSlice(offset, size))
            offset &+= max(size, 0)
        }
    }

    /// - Parameter base: the row before the event, or the initial row if it does not exist.
    private func apply(
        _ rule: Rule, _ operation: RawSpan, _ base: RawSpan, exists: Bool, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> FoldOutcome {
        Self.readInputs(operation, rule.picks.count, &workspace.inputs)
        workspace.scratch.removeAll()
        guard let index = chosen(rule, Operation.mask(operation), base, &workspace) else { return .unchanged }
        return try apply(rule.folds[index], operation, base, exists: exists, &workspace)
    }

    private func apply(
        _ fold: CompiledFold, _ operation: RawSpan, _ base: RawSpan, exists: Bool, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> FoldOutcome {
        if fold.deletes { return exists ? .deleted : .unchanged }
        if fold.edits.isEmpty || fold.onlyExisting && !exists { return .unchanged }
        workspace.output.removeAll()
        if fold.sources.count > 0, workspace.write(fold.sources, base, operation) { return .changed }
        layout.read(base, into: &workspace.slots)
        for edit in fold.edits {
            do throws(FoldError) { try make(edit, operation, base, &workspace) } catch {
                throw FoldError(error.reason, at: edit.pointer)
            }
        }
        workspace.output.removeAll()
        layout.write(workspace.slots, old: base, scratch: workspace.scratch, into: &workspace.output)
        return .changed
    }

    /// The first of the candidate folds whose guard on the row holds.
    private func chosen(_ rule: Rule, _ mask: UInt64, _ base: RawSpan, _ workspace: inout FoldWorkspace) -> Int? {
        var rest = mask
        while rest != 0 {
            let index = rest.trailingZeroBitCount
            rest &= rest - 1
            guard let test = rule.folds[index].rowGuard else { return index }
            let start = workspace.scratch.count
            let isPresent = append(test.place, base, &workspace)
            let holds =
                isPresent
                ? test.test.holds(workspace.scratch.slice(start, workspace.scratch.count - start)) : test.test.holdsWhereAbsent
            workspace.scratch.truncate(to: start)
            if holds { return index }
        }
        return nil
    }

    /// Appends the value at a location of the row to the scratch buffer. Returns false if there is none.
    private func append(_ place: RowPlace, _ base: RawSpan, _ workspace: inout FoldWorkspace) -> Bool {
        switch place {
        case .slot(let slot):
            let slice = layout.slice(of: slot, in: base)
            if slice.isPresent { workspace.scratch.append(base.slice(slice.start, slice.size)) }
            return slice.isPresent
        case .within(let slot, let picker):
            let slice = layout.slice(of: slot, in: base)
            guard slice.isPresent else { return false }
            let text = base.slice(slice.start, slice.size)
            picker.pick(text, into: &workspace.rowPicks)
            let inner = workspace.rowPicks[0]
            if inner.isPresent { workspace.scratch.append(text.slice(inner.start, inner.size)) }
            return inner.isPresent
        case .object(let range, let depth):
            guard range.contains(where: { layout.slice(of: $0, in: base).isPresent }) else { return false }
            layout.render(base, range, depth: depth, into: &workspace.scratch)
            return true
        }
    }

    private func append(_ operand: Operand, _ operation: RawSpan, _ base: RawSpan, _ workspace: inout FoldWorkspace) -> ByteSlice {
        let start = workspace.scratch.count
        switch operand {
        case .constant(let text): workspace.scratch.append(text)
        case .input(let index):
            let slice = workspace.inputs[index]
            guard slice.isPresent else { return .absent }
            workspace.scratch.append(operation.slice(slice.start, slice.size))
        case .row(let place):
            guard append(place, base, &workspace) else { return .absent }
        }
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private func make(_ edit: CompiledEdit, _ operation: RawSpan, _ base: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) {
        let value = edit.kind == .unset ? ByteSlice.absent : append(edit.value, operation, base, &workspace)
        // An absent source leaves its target unchanged.
        if edit.kind != .unset && !value.isPresent { return }
        if !edit.within.isEmpty { return try make(edit, within: value, operation, base, &workspace) }
        let current = workspace.slots[edit.slot]
        switch edit.kind {
        case .unset: workspace.slots[edit.slot] = .absent
        case .set: workspace.slots[edit.slot] = SlotValue(slice: value, isNew: true)
        case .initial: if !current.slice.isPresent { workspace.slots[edit.slot] = SlotValue(slice: value, isNew: true) }
        default:
            takeCurrent(current, base, &workspace)
            if let new = try edit.result(isPresent: current.slice.isPresent, value, &workspace) {
                workspace.slots[edit.slot] = SlotValue(slice: new, isNew: true)
            }
        }
    }

    private func takeCurrent(_ current: SlotValue, _ base: RawSpan, _ workspace: inout FoldWorkspace) {
        workspace.spare.removeAll()
        guard current.slice.isPresent else { return }
        if current.isNew {
            workspace.spare.append(current.slice, of: workspace.scratch)
        } else {
            workspace.spare.append(base.slice(current.slice.start, current.slice.size))
        }
    }

    /// Changes a member inside a slot, by parsing the slot's text and writing it again.
    private func make(
        _ edit: CompiledEdit, within value: ByteSlice, _ operation: RawSpan, _ base: RawSpan, _ workspace: inout FoldWorkspace
    ) throws(FoldError) {
        var names: [MemberName] = []
        for token in edit.within {
            switch token {
            case .name(let name): names.append(name)
            case .input(let index):
                let slice = workspace.inputs[index]
                guard slice.isPresent else { return }
                guard let text = decodedString(operation.slice(slice.start, slice.size)) else {
                    throw FoldError("a name that is no text")
                }
                names.append(MemberName(text))
            }
        }
        let slot = workspace.slots[edit.slot]
        takeCurrent(slot, base, &workspace)
        if !slot.slice.isPresent { workspace.spare.append("{}") }
        do { try workspace.splice.load(workspace.spare) } catch { throw FoldError("the row is malformed: \(error.reason)") }
        guard let name = names.popLast() else { return }
        var (parent, missing): (JSONEditor.Node, ArraySlice<MemberName>) = (workspace.splice.root, names[...])
        while workspace.splice.kind(parent) == .object, let next = missing.first,
            let child = workspace.splice.member(next, of: parent)
        {
            (parent, missing) = (child, missing.dropFirst())
        }
        guard workspace.splice.kind(parent) == .object else { throw FoldError("what should hold \(quoted(name.text)) is no object") }
        let leaf = missing.isEmpty ? workspace.splice.member(name, of: parent) : nil
        if edit.kind == .unset {
            guard let leaf else { return }
            workspace.splice.detach(leaf)
        } else {
            workspace.spare.removeAll()
            if let leaf { workspace.splice.write(leaf, into: &workspace.spare) }
            guard let new = try edit.result(isPresent: leaf != nil, value, &workspace) else { return }
            for name in missing { parent = workspace.splice.makeObject(name, of: parent) }
            workspace.splice.set(name, of: parent, to: new, of: workspace.scratch)
        }
        let start = workspace.scratch.count
        workspace.splice.write(workspace.splice.root, into: &workspace.scratch)
        workspace.slots[edit.slot] = SlotValue(slice: ByteSlice(start, workspace.scratch.count - start), isNew: true)
    }
}

extension FoldWorkspace {
    /// Writes the new state to `output` if all edits are plain. Returns false if they turn out not to be.
    fileprivate mutating func write(_ sources: borrowing UniqueArray<SlotSource>, _ base: RawSpan, _ operation: RawSpan) -> Bool {
        RowLayout.write(sources, old: base, operation: operation, inputs: inputs, into: &output)
    }
}
