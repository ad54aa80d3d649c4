internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension DeclarativeFold {
    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        try Self.prepare(
            facts, rules[call.rule], call.rule, image: image, values: call.values, metadata: call.metadata, &workspace, into: &operations)
    }

    private static func prepare(
        _ facts: borrowing EventFacts, _ rule: Rule, _ number: Int, image: borrowing Image, values: Int, metadata: RawSpan,
        _ workspace: inout FoldWorkspace, into operations: inout OperationBuffer
    ) throws(FoldError) {
        let payload = image.payload
        if !image.isWhole {
            if rule.isDirect {
                return try prepare(facts.position, payload, image.places, from: values, rule, number, into: &operations)
            }
            workspace.payloadPicks.removeAll()
            for index in 0 ..< rule.payload.count { workspace.payloadPicks.append(image.places[values &+ index]) }
        } else {
            rule.payload.pick(payload, into: &workspace.payloadPicks)
            if rule.isDirect {
                return try prepare(facts.position, payload, workspace.payloadPicks.span, from: 0, rule, number, into: &operations)
            }
        }
        if rule.metadata.count > 0 { rule.metadata.pick(metadata, into: &workspace.metadataPicks) }
        guard let each = rule.each else {
            let view = EventView(payload: payload, metadata: metadata, item: payload)
            return try prepare(facts, view, rule, number, &workspace, into: &operations)
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
            rule.item.pick(item, into: &workspace.itemPicks)
            let view = EventView(payload: payload, metadata: metadata, item: item)
            try prepare(facts, view, rule, number, &workspace, into: &operations)
        }
    }

    /// The same as below, where the key and all inputs are values of the payload and nothing is asked before.
    ///
    /// - Parameter places: a slice for each value of the payload; the rule's are those after the first `skipped`.
    private static func prepare(
        _ position: Position, _ payload: RawSpan, _ places: Span<ByteSlice>, from skipped: Int, _ rule: Rule, _ number: Int,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        operations.begin(rule: number, mask: 1, position: position)
        guard try ValuePlan.appendText(payload, places[skipped &+ rule.keyPick], into: &operations.bytes) else {
            throw FoldError("the event has no key")
        }
        try operations.endKey()
        let sizes = operations.bytes.count
        for index in 0 ..< rule.picks.count {
            operations.bytes.append(littleEndian: places[skipped &+ rule.picks[index]].count)
        }
        for index in 0 ..< rule.picks.count {
            let slice = places[skipped &+ rule.picks[index]]
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

    /// Writes one operation: the sizes of its inputs in the rule's order (i32, -1 where one is absent), then their JSON texts.
    private static func prepare(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ rule: Rule, _ number: Int,
        _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let mask = try candidates(facts, event, rule, &workspace)
        if mask == 0 { return }
        operations.begin(rule: number, mask: mask, position: facts.position)
        guard try rule.key.appendText(facts, event, workspace, into: &operations.bytes) else { throw FoldError("the event has no key") }
        try operations.endKey()
        let sizes = operations.bytes.count
        for _ in 0 ..< rule.picks.count { operations.bytes.append(littleEndian: Int32(-1)) }
        for index in 0 ..< rule.picks.count {
            let start = operations.bytes.count
            if rule.picks[index] >= 0 {
                let slice = workspace.payloadPicks[rule.picks[index]]
                if !slice.isPresent { continue }
                appendCompact(event.payload.slice(slice.start, slice.size), into: &operations.bytes)
            } else {
                guard try rule.inputs[index].appendJSON(facts, event, workspace, into: &operations.bytes) else { continue }
            }
            operations.bytes.store(littleEndian: Int32(operations.bytes.count - start), at: sizes + index * 4)
        }
        operations.end()
    }

    /// A bit for each fold that may run: none after the first that surely does.
    private static func candidates(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ rule: Rule, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> UInt64 {
        var mask: UInt64 = 0
        for index in 0 ..< rule.folds.count {
            let fold = rule.folds[index]
            if let test = fold.eventGuard {
                guard try holds(test, facts, event, &workspace) else { continue }
            }
            mask |= 1 << UInt64(index)
            if fold.rowGuard == nil { break }
        }
        return mask
    }

    private static func holds(
        _ given: CompiledGuard<ValuePlan>, _ facts: borrowing EventFacts, _ event: borrowing EventView, _ workspace: inout FoldWorkspace
    ) throws(FoldError) -> Bool {
        if case .payloadPick(let index) = given.place {
            let value = workspace.payloadPicks[index]
            return value.isPresent ? given.test.holds(event.payload.slice(value.start, value.size)) : given.test.holdsWhereAbsent
        }
        var text = ByteBuffer(capacity: 64)
        return try given.place.appendJSON(facts, event, workspace, into: &text) ? given.test.holds(text.bytes) : given.test.holdsWhereAbsent
    }
}
