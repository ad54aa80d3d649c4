internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

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
