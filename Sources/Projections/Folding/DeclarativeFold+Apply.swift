internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

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
        layout.write(workspace.slots, old: base, operation: operation, scratch: workspace.scratch, into: &workspace.output)
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

    /// Appends the value of an operand to the scratch buffer.
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
        case .set: workspace.slots[edit.slot] = SlotValue(slice: value, home: .scratch)
        case .initial: if !current.slice.isPresent { workspace.slots[edit.slot] = SlotValue(slice: value, home: .scratch) }
        default:
            takeCurrent(current, operation, base, &workspace)
            if let new = try edit.result(isPresent: current.slice.isPresent, value, &workspace) {
                workspace.slots[edit.slot] = SlotValue(slice: new, home: .scratch)
            }
        }
    }

    private func takeCurrent(_ current: SlotValue, _ operation: RawSpan, _ base: RawSpan, _ workspace: inout FoldWorkspace) {
        workspace.spare.removeAll()
        guard current.slice.isPresent else { return }
        switch current.home {
        case .state: workspace.spare.append(base.slice(current.slice.start, current.slice.size))
        case .operation: workspace.spare.append(operation.slice(current.slice.start, current.slice.size))
        case .scratch: workspace.spare.append(current.slice, of: workspace.scratch)
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
        takeCurrent(slot, operation, base, &workspace)
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
        workspace.slots[edit.slot] = SlotValue(slice: ByteSlice(start, workspace.scratch.count - start), home: .scratch)
    }
}

extension FoldWorkspace {
    /// Writes the new state to `output` if all edits are plain. Returns false if they turn out not to be.
    fileprivate mutating func write(_ sources: borrowing UniqueArray<SlotSource>, _ base: RawSpan, _ operation: RawSpan) -> Bool {
        RowLayout.write(sources, old: base, operation: operation, inputs: inputs, into: &output)
    }
}
