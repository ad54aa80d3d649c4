internal import Bytes
internal import JSONText

/// Values that are derived from others.
extension SymbolicDocument {
    /// The slot with a value's content: the unescaped text of a string, the JSON text of other values.
    private mutating func content(_ node: Int) -> Int {
        switch nodes[node].value {
        case .text(let slot): return slot
        case .input(let slot), .made(let slot, _):
            let content = makeSlots()
            emit(.content, slot, content)
            return content
        case .constant, .list, .each, .object:
            giveUp()
            return 0
        }
    }

    /// The slot that holds a value's JSON text.
    private mutating func text(_ node: Int) -> Int {
        switch nodes[node].value {
        case .input(let slot), .made(let slot, _): return slot
        case .text, .constant, .list, .each, .object:
            giveUp()
            return 0
        }
    }

    /// The result of a codec: null for null, absent for absent. Nil if the value is known to be null.
    mutating func convert(_ node: Int, _ conversion: Conversion) -> Int? {
        if nodes[node].kind == .null { return nil }
        if case .constant(let json) = nodes[node].value { return convert(json, conversion) }
        let source = content(node)
        let made = makeSlots()
        tools.converters.append(conversion)
        emit(.convert, source, made, tools.converters.count - 1)
        let result = add(.made(made, conversion.makes))
        nodes[result].isNullable = mayBeNull(node)
        return result
    }

    private func mayBeNull(_ node: Int) -> Bool {
        if let kind = nodes[node].kind { return kind == .null }
        switch nodes[node].value {
        case .input: return nodes[node].shape.map { $0.isNullable || $0.kind == .any || $0.kind == .null } ?? true
        case .made: return nodes[node].isNullable
        case .text, .constant, .list, .each, .object: return false
        }
    }

    /// The result of a codec for a constant. Constants that the codec refuses or that are not canonical are left to the op.
    private mutating func convert(_ json: [UInt8], _ conversion: Conversion) -> Int? {
        guard let value = JSONKind(firstByte: json.first ?? 0), value != .null else { return nil }
        var content = ByteBuffer(capacity: 64)
        var output = ByteBuffer(capacity: 64)
        content.append(contentOf: json)
        do {
            guard try conversion.codec.recode(content, value, conversion.direction, into: &output) else {
                giveUp()
                return nil
            }
        } catch {
            giveUp()
            return nil
        }
        return add(.constant([UInt8](copying: output.bytes)))
    }

    mutating func split(_ node: Int, _ rule: SeparatedText) -> [Int] {
        let source = content(node)
        let first = makeSlots(rule.parts.count)
        tools.separators.append(rule)
        let outcome = choose(.split, source, (tools.separators.count - 1) << 8 | first, among: rule.parts.count)
        return (0 ... outcome).map { add(.text(first + $0)) }
    }

    mutating func concatenate(_ pieces: [TextPiece<Int>]) -> Int {
        var list: [ConstantPool.Text] = []
        for piece in pieces {
            switch piece {
            case .literal(let text): list.append(.literal(text))
            case .text(let node):
                if case .constant(let json) = nodes[node].value {
                    var text = ByteBuffer(capacity: 64)
                    _ = appendText(of: json.lent, into: &text)
                    list.append(.literal([UInt8](copying: text.bytes)))
                } else if kind(node) == .number {
                    list.append(.number(content(node)))
                } else {
                    list.append(.slot(content(node)))
                }
            }
        }
        let made = makeSlots()
        tools.lists.append(list)
        emit(.concatenate, made, tools.lists.count - 1)
        return add(.text(made))
    }

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

    mutating func hasContent(_ node: Int, of text: Int) -> Bool {
        let (one, other) = (content(node), content(text))
        return choose(.differsFrom, one, other) == 0
    }

    mutating func means(_ node: Int, _ other: Int) -> Bool {
        let (one, other) = (text(node), text(other))
        return choose(.meansOther, one, other) == 0
    }

    /// Tests whether a value fits. A value that does not fit is known to be present.
    mutating func misfit(_ node: Int, _ shape: EventShape) -> String? {
        tools.shapes.append(shape)
        if choose(.misfits, text(node), tools.shapes.count - 1) == 0 { return nil }
        nodes[node].isSure = true
        return ""
    }

    mutating func isBelow(_ node: Int, _ test: Guard) -> Bool {
        tools.guards.append(test)
        return choose(.fails, content(node), tools.guards.count - 1) == 0
    }

    mutating func holdsBeside(_ test: Guard) -> Bool {
        tools.guards.append(test)
        return choose(.fails, -1, tools.guards.count - 1) == 0
    }

    mutating func beside(_ source: Source) -> Int? {
        let made = makeSlots()
        tools.sources.append(source)
        if choose(.beside, tools.sources.count - 1, made) == 1 { return nil }
        if case .metadata = source { return add(.made(made, nil)) }
        return add(.made(made, .string))
    }

    /// Copies a value; gives up on a value that was opened.
    mutating func copy(_ node: Int) -> Int {
        if case .object = nodes[node].value { giveUp() }
        if case .list = nodes[node].value { giveUp() }
        // Ops on elements are applied once, before the copy is made.
        settleElements { _ in true }
        let copied = add(nodes[node].value, kind: nodes[node].kind)
        (nodes[copied].shape, nodes[copied].isNullable) = (nodes[node].shape, nodes[node].isNullable)
        return copied
    }

    /// The index of a text among the given values. Other texts are left to the ops.
    mutating func select(_ node: Int, among values: [[UInt8]]) -> Int {
        guard kind(node) == .string, !values.isEmpty else {
            giveUp()
            return 0
        }
        tools.values.append(values)
        return choose(.select, content(node), tools.values.count - 1, among: values.count)
    }
}

extension ByteBuffer {
    /// Appends the content of a scalar: the unescaped text of a string, the JSON text of other values.
    fileprivate mutating func append(contentOf json: [UInt8]) {
        guard json.first == UInt8(ascii: "\"") else { return append(json) }
        appendUnescaped(json.lent.slice(1, json.count - 2), into: &self)
    }
}
