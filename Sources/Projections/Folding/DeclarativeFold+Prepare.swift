internal import Bytes

extension DeclarativeFold {
    func prepare(
        _ facts: EventFacts, rule number: Int, payload: RawSpan, metadata: RawSpan, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let rule = rules[number]
        rule.payload.pick(payload, into: &workspace.payloadPicks)
        if rule.metadata.count > 0 { rule.metadata.pick(metadata, into: &workspace.metadataPicks) }
        guard let each = rule.each else {
            let view = EventView(facts: facts, payload: payload, metadata: metadata, item: payload)
            return try prepare(view, rule, number, &workspace, into: &operations)
        }
        let list = workspace.payloadPicks[each]
        guard list.isPresent else { return }
        let text = payload.slice(list.start, list.size)
        guard JSONCursor.elements(text, into: &workspace.elements) else {
            // A nullable list that is null has no elements.
            if text.byteCount == 4, text.byte(at: 0) == UInt8(ascii: "n") { return }
            throw FoldError("what each goes through should be a list, found \(ValueOrder.Kind.words(text))")
        }
        for index in workspace.elements.indices {
            let item = text.slice(workspace.elements[index].start, workspace.elements[index].size)
            rule.item.pick(item, into: &workspace.itemPicks)
            let view = EventView(facts: facts, payload: payload, metadata: metadata, item: item)
            try prepare(view, rule, number, &workspace, into: &operations)
        }
    }

    /// Writes one operation: its inputs are, in the rule's order, a size (u32, 0xffffffff where absent) and JSON text.
    private func prepare(
        _ event: borrowing EventView, _ rule: Rule, _ number: Int, _ workspace: inout FoldWorkspace, into operations: inout OperationBuffer
    ) throws(FoldError) {
        let mask = try candidates(event, rule, &workspace)
        if mask == 0 { return }
        operations.begin(rule: number, mask: mask, position: event.facts.position)
        try operations.write { (bytes) throws(FoldError) in
            guard try rule.key.appendText(event, workspace, into: &bytes) else { throw FoldError("the event has no key") }
        }
        try operations.endKey()
        try operations.write { (bytes) throws(FoldError) in
            for index in 0 ..< rule.picks.count {
                let start = bytes.count
                bytes.append(littleEndian: UInt32.max)
                if rule.picks[index] >= 0 {
                    let slice = workspace.payloadPicks[rule.picks[index]]
                    if !slice.isPresent { continue }
                    JSONCursor.appendCompact(event.payload.slice(slice.start, slice.size), into: &bytes)
                    bytes.store(littleEndian: UInt32(bytes.count - start - 4), at: start)
                } else if try rule.inputs[index].appendJSON(event, workspace, into: &bytes) {
                    bytes.store(littleEndian: UInt32(bytes.count - start - 4), at: start)
                }
            }
        }
        operations.end()
    }

    /// A bit for each fold that may run: none after the first that surely does.
    private func candidates(_ event: borrowing EventView, _ rule: Rule, _ workspace: inout FoldWorkspace) throws(FoldError) -> UInt64 {
        var mask: UInt64 = 0
        for index in 0 ..< rule.folds.count {
            if let test = rule.folds[index].eventGuard {
                guard try holds(test, event, &workspace) else { continue }
            }
            mask |= 1 << UInt64(index)
            if rule.folds[index].rowGuard == nil { break }
        }
        return mask
    }

    private func holds(
        _ given: CompiledGuard<ValuePlan>, _ event: borrowing EventView, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> Bool {
        if case .payloadPick(let index) = given.place {
            let value = workspace.payloadPicks[index]
            return value.isPresent ? given.test.holds(event.payload.slice(value.start, value.size)) : given.test.holdsWhereAbsent
        }
        var text = ByteBuffer(capacity: 64)
        return try given.place.appendJSON(event, workspace, into: &text) ? given.test.holds(text.bytes) : given.test.holdsWhereAbsent
    }
}
