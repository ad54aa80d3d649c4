internal import JSONText

/// Values that are made from others.
extension FusedDraft {
    /// The slot whose content is read: a string without escapes, or the text of another scalar.
    private mutating func content(_ node: Int) -> Int {
        let kind = kind(node)
        switch nodes[node].value {
        case .text(let slot): return slot
        case .input(let slot), .made(let slot, _):
            if kind == .string { emit(.plain, slot) }
            return slot
        case .constant, .list, .object:
            giveUp()
            return 0
        }
    }

    /// The slot that holds a value's JSON text.
    private mutating func text(_ node: Int) -> Int {
        switch nodes[node].value {
        case .input(let slot), .made(let slot, _): return slot
        case .text, .constant, .list, .object:
            giveUp()
            return 0
        }
    }

    /// What a codec makes of a value; nil for null.
    mutating func convert(
        _ node: Int, _ codec: any BoundCodec, _ direction: Direction, counts: Bool, isStrict: Bool = false, makes kind: JSONKind?
    ) -> Int? {
        if self.kind(node) == .null { return nil }
        let source = content(node)
        let made = makeSlots()
        tools.converters.append(FusedTools.Converter(codec: codec, direction: direction, counts: counts, isStrict: isStrict))
        emit(.convert, source, made, tools.converters.count - 1)
        return add(.made(made, kind))
    }

    /// The parts of a text, as many as there are.
    mutating func split(_ node: Int, _ rule: SeparatedText) -> [Int] {
        let source = content(node)
        let first = makeSlots(rule.parts.count)
        tools.separators.append(rule)
        let outcome = choose(.split, source, (tools.separators.count - 1) << 8 | first, among: rule.parts.count)
        return (0 ... outcome).map { add(.text(first + $0)) }
    }

    enum Part {
        case literal([UInt8])
        case content(Int)
    }

    /// One text of several.
    mutating func concatenate(_ parts: [Part]) -> Int {
        var list: [FusedTools.Text] = []
        for part in parts {
            switch part {
            case .literal(let text):
                if text.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) { giveUp() }
                list.append(.literal(text))
            case .content(let node): list.append(.slot(content(node)))
            }
        }
        let made = makeSlots()
        tools.lists.append(list)
        emit(.concatenate, made, tools.lists.count - 1)
        return add(.text(made))
    }

    /// The first element of a list; nil where it is empty. The others are lost.
    mutating func first(of node: Int) -> Int? {
        if case .list(let element) = nodes[node].value { return element }
        if case .constant(let json) = nodes[node].value, json == Array("[]".utf8) { return nil }
        guard case .input(let slot) = nodes[node].value else {
            giveUp()
            return nil
        }
        let made = makeSlots()
        if choose(.first, slot, made) == 1 { return nil }
        return add(.made(made, nodes[node].shape?.items.flatMap { $0.isNullable ? nil : $0.kind.jsonKind }))
    }

    /// Whether the content of a value is that of a text.
    mutating func hasContent(_ node: Int, of text: Int) -> Bool {
        let (one, other) = (content(node), content(text))
        return choose(.differsFrom, one, other) == 0
    }

    /// Whether two values mean the same.
    mutating func means(_ node: Int, _ other: Int) -> Bool {
        let (one, other) = (text(node), text(other))
        return choose(.meansOther, one, other) == 0
    }

    /// Whether a value fits a shape.
    mutating func fits(_ node: Int, _ shape: EventShape) -> Bool {
        tools.shapes.append(shape)
        return choose(.misfits, text(node), tools.shapes.count - 1) == 0
    }

    /// An independent copy of a value that was not opened, detached.
    mutating func copy(_ node: Int) -> Int {
        if case .object = nodes[node].value { giveUp() }
        if case .list = nodes[node].value { giveUp() }
        let copied = add(nodes[node].value, kind: nodes[node].kind)
        nodes[copied].shape = nodes[node].shape
        return copied
    }

    /// Which of the values a text is; one that is none of them is left to the ops.
    mutating func select(_ node: Int, among values: [[UInt8]]) -> Int {
        guard kind(node) == .string, !values.isEmpty else {
            giveUp()
            return 0
        }
        tools.values.append(values)
        return choose(.select, content(node), tools.values.count - 1, among: values.count)
    }
}
