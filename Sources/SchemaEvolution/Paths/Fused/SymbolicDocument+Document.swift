internal import Bytes
internal import EventModel
internal import JSONText

extension SymbolicDocument: Document {
    mutating func kind(_ node: Int) -> JSONKind {
        if let kind = nodes[node].kind { return kind }
        var kind = JSONKind.null
        switch nodes[node].value {
        case .text: kind = .string
        case .list: kind = .array
        case .object: kind = .object
        case .constant(let json): kind = json.first.flatMap(JSONKind.init(firstByte:)) ?? .null
        case .made(let slot, let expected):
            if nodes[node].isNullable, choose(.isNull, slot) == 1 {
                kind = .null
                break
            }
            guard let expected else { return giveUp(returning: .null) }
            kind = expected
            emit(.kind, slot, expected.bits)
        case .input(let slot), .each(let slot, _):
            guard let shape = nodes[node].shape, let expected = shape.kind.jsonKind else { return giveUp(returning: .null) }
            // The scan rejects values of other kinds.
            kind = shape.isNullable && choose(.isNull, slot) == 1 ? .null : expected
        }
        nodes[node].kind = kind
        return kind
    }

    private mutating func children(_ node: Int) -> [Int] {
        guard kind(node) == .object else { return [] }
        if case .input(let slot) = nodes[node].value, let shape = nodes[node].shape { open(node, shape, slot: slot) }
        guard case .object(let children, _) = nodes[node].value else { return giveUp(returning: []) }
        return children
    }

    mutating func member(_ name: MemberName, of parent: Int) -> Int? {
        for child in children(parent) where nodes[child].name == name { return isThere(child) ? child : nil }
        return nil
    }

    /// A member of an object; nil if the object certainly lacks it. Does not test whether the member is present.
    mutating func child(_ name: MemberName, of parent: Int) -> Int? {
        children(parent).first { nodes[$0].name == name }
    }

    mutating func isEmpty(_ node: Int) -> Bool {
        if kind(node) != .object { return giveUp(returning: true) }
        for child in children(node) where isThere(child) { return false }
        return true
    }

    /// Whether a member of an object is present; tested only once per branch.
    private mutating func isThere(_ node: Int) -> Bool {
        if nodes[node].isSure { return true }
        guard let slot = nodes[node].slot else { return true }
        if choose(.isAbsent, slot) == 1 {
            detach(node)
            return false
        }
        nodes[node].isSure = true
        return true
    }

    mutating func equals(_ node: Int, anyOf constants: [[UInt8]]) -> Bool {
        if case .constant(let json) = nodes[node].value { return constants.contains { json.means($0) } }
        let possible = constants.filter { mayBe($0, node) }
        if possible.isEmpty { return false }
        guard let slot = slot(of: node) else { return giveUp(returning: false) }
        tools.values.append(possible)
        return choose(.differs, slot, tools.values.count - 1) == 0
    }

    mutating func lose(_ node: Int, unless canonical: [UInt8]?) {
        if case .constant(let json) = nodes[node].value {
            if !(canonical.map { json.means($0) } ?? false) { lose(1) }
            return
        }
        if let slot = slot(of: node) ?? (canonical == nil ? nodes[node].slot : nil) {
            tools.values.append(canonical.map { [$0] } ?? [])
            emit(.loseUnless, slot, tools.values.count - 1)
        } else if canonical == nil, nodes[node].isSure {
            lose(1)
        } else {
            giveUp()
        }
    }

    /// The slot that holds the text of a value.
    private func slot(of node: Int) -> Int? {
        switch nodes[node].value {
        case .input(let slot), .made(let slot, _), .text(let slot): slot
        case .each, .list, .object, .constant: nil
        }
    }

    /// Whether a value may have the kind of a constant.
    private func mayBe(_ canonical: [UInt8], _ node: Int) -> Bool {
        guard let kind = canonical.first.flatMap(JSONKind.init(firstByte:)) else { return false }
        if let known = nodes[node].kind { return known == kind || known == .true && kind == .false }
        switch nodes[node].value {
        case .text: return kind == .string
        case .input: return (nodes[node].shape?.kindBits ?? .max) >> kind.rawValue & 1 != 0
        default: return true
        }
    }

    mutating func detach(_ node: Int) {
        guard let parent = nodes[node].parent, case .object(let children, let object) = nodes[parent].value else { return }
        nodes[parent].value = .object(children.filter { $0 != node }, object)
        nodes[node].parent = nil
        nodes[node].isInPlace = false
    }

    mutating func attach(_ node: Int, as name: MemberName, to parent: Int) {
        if let other = member(name, of: parent) { detach(other) }
        append(node, as: name, to: parent)
    }

    private mutating func append(_ node: Int, as name: MemberName, to parent: Int) {
        guard case .object(let children, let object) = nodes[parent].value else { return giveUp() }
        nodes[parent].value = .object(children + [node], object)
        nodes[node].parent = parent
        nodes[node].name = name
        nodes[node].isSure = true
    }

    mutating func addObject(_ name: MemberName, to parent: Int) -> Int {
        let node = add(.object([], nil), kind: .object)
        _ = children(parent)
        append(node, as: name, to: parent)
        return node
    }

    /// Renames a member. Tests whether the member is present only if it replaces another one.
    mutating func rename(_ old: MemberName, to name: MemberName, in parent: Int) {
        guard let node = child(old, of: parent) else { return }
        if child(name, of: parent) != nil {
            guard isThere(node) else { return }
            if let other = member(name, of: parent), other != node { detach(other) }
        }
        nodes[node].name = name
        nodes[node].isRenamed = true
    }

    mutating func wrapInArray(_ node: Int) {
        let element = add(nodes[node].value, kind: nodes[node].kind)
        (nodes[element].shape, nodes[element].isNullable) = (nodes[node].shape, nodes[node].isNullable)
        change(node, to: .list(element))
    }

    mutating func set(_ name: MemberName, of parent: Int, to json: [UInt8]) { set(name, of: parent, toValueOf: add(.constant(json))) }

    mutating func replace(_ node: Int, with json: [UInt8]) { change(node, to: .constant(json)) }

    mutating func replace(_ node: Int, withValueOf other: Int) {
        let entry = nodes[other]
        change(node, to: entry.value, kind: entry.kind)
        (nodes[node].shape, nodes[node].isNullable) = (entry.shape, entry.isNullable)
    }

    mutating func run(_ op: any BoundOp, at object: Int, _ direction: Direction) {
        if !isOver { at(object) { op.fuse(&$0, direction) } }
    }

    /// The program gives up on such events; the op then runs on each of them and reports the reason itself.
    func refusal(at pointer: JSONPointer, expected: @autoclosure () -> String, found: @autoclosure () -> Found<Int>) -> OpStop {
        .failed(pointer: "", expected: "", found: "")
    }

    private mutating func change(_ node: Int, to value: Value, kind: JSONKind? = nil) {
        if case .object = value { giveUp() }
        nodes[node].value = value
        nodes[node].kind = kind
        (nodes[node].shape, nodes[node].isNullable) = (nil, false)
    }
}

extension [UInt8] {
    /// Whether JSON text equals a constant in canonical form.
    fileprivate func means(_ canonical: [UInt8]) -> Bool {
        do { return try Canonical.bytes(of: lent) == canonical } catch { return false }
    }
}

extension Shape {
    /// A bit mask over `JSONKind.rawValue` of the kinds that a value may have.
    var kindBits: UInt8 { kind.bits(orNull: isNullable) }
}

extension JSONKind {
    /// A bit mask of the kinds that a value with this expected kind may have.
    var bits: Int {
        self == .true ? 1 << Int(JSONKind.true.rawValue) | 1 << Int(JSONKind.false.rawValue) : 1 << Int(rawValue)
    }
}

extension Shape.Kind {
    /// A bit mask over `JSONKind.rawValue` of the kinds of its values, optionally with null.
    func bits(orNull isNullable: Bool) -> UInt8 {
        guard let expected = jsonKind else { return .max }
        return UInt8(expected.bits | (isNullable ? JSONKind.null.bits : 0))
    }

    /// The JSON kind of its values; `true` stands for both booleans, nil for any kind.
    var jsonKind: JSONKind? {
        switch self {
        case .object: .object
        case .array: .array
        case .string: .string
        case .integer, .number: .number
        case .boolean: .true
        case .null: .null
        case .any: nil
        }
    }
}

extension SymbolicDocument {
    /// The slot with a value's content: the unescaped text of a string, the JSON text of other values.
    private mutating func content(_ node: Int) -> Int {
        switch nodes[node].value {
        case .text(let slot): return slot
        case .input(let slot), .made(let slot, _):
            let content = makeSlots()
            emit(.content, slot, content)
            return content
        case .constant, .list, .each, .object: return giveUp(returning: 0)
        }
    }

    /// The slot that holds a value's JSON text.
    private mutating func text(_ node: Int) -> Int {
        switch nodes[node].value {
        case .input(let slot), .made(let slot, _): return slot
        case .text, .constant, .list, .each, .object: return giveUp(returning: 0)
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
            guard try conversion.codec.recode(content, value, conversion.direction, into: &output) else { return giveUp(returning: nil) }
        } catch { return giveUp(returning: nil) }
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
        guard case .input(let slot) = nodes[node].value else { return giveUp(returning: nil) }
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
        guard kind(node) == .string, !values.isEmpty else { return giveUp(returning: 0) }
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
