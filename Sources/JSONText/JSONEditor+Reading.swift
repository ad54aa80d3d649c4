package import Bytes

extension JSONEditor {
    package func kind(_ node: Node) -> JSONKind { records[Int(node.index)].kind }

    /// The member of that name; nil if the parent is no object or lacks it.
    package mutating func member(_ name: MemberName, of parent: Node) -> Node? {
        guard records[Int(parent.index)].kind == .object else { return nil }
        guard records[Int(parent.index)].isOpened else { return openAndSearch(name.forms, of: parent) }
        // The rare path is a tail call at this one place, so that the common search saves no registers for a call.
        let key = name.forms.key
        var index = records[Int(parent.index)].start
        while index >= 0 {
            if records[Int(index)].key == key {
                guard spellsShort(records[Int(index)], in: arena, name.forms) else { return search(name.forms, from: index) }
                return Node(index: index)
            }
            index = records[Int(index)].next
        }
        return nil
    }

    @inline(never)
    private mutating func openAndSearch(_ name: MemberName.Forms, of parent: Node) -> Node? {
        open(parent)
        return search(name, from: records[Int(parent.index)].firstChild)
    }

    @inline(never)
    private mutating func search(_ name: MemberName.Forms, from first: Int32) -> Node? {
        var index = first
        while index >= 0 {
            let record = records[Int(index)]
            if record.key == name.key, spells(record, in: arena, name) { return Node(index: index) }
            index = record.next
        }
        return nil
    }

    /// The value at a pointer that leads through members of objects; nil if there is none.
    package mutating func find(_ pointer: JSONPointer, from node: Node) -> Node? {
        var node = node
        for index in pointer.tokens.indices {
            guard let member = member(pointer.tokens[index], of: node) else { return nil }
            node = member
        }
        return node
    }

    /// The first member of an object or first element of an array.
    package mutating func firstChild(of node: Node) -> Node? {
        open(node)
        return JSONEditor.link(records[Int(node.index)].firstChild)
    }

    /// The next sibling.
    package func next(after node: Node) -> Node? { JSONEditor.link(records[Int(node.index)].next) }

    /// The object or array that contains a node; nil for the root and for detached nodes.
    package func parent(of node: Node) -> Node? { JSONEditor.link(records[Int(node.index)].parent) }

    /// Whether a value has no children, which is also true of scalars.
    package mutating func isEmpty(_ node: Node) -> Bool { firstChild(of: node) == nil }

    /// The number of children of an object or array.
    package mutating func count(of node: Node) -> Int {
        var count = 0
        var child = firstChild(of: node)
        while let node = child {
            count += 1
            child = next(after: node)
        }
        return count
    }

    /// The unescaped name of an object's member.
    package func name(of node: Node) -> String {
        var text = ByteBuffer()
        decodeName(of: node, into: &text)
        return String(utf8: text.bytes) ?? ""
    }

    /// Whether a member has that name, however it is spelled in the text.
    package func hasName(_ node: Node, _ name: MemberName) -> Bool { spells(record(node), in: arena, name.forms) }

    /// Appends the unescaped UTF-8 of a member's name.
    package func decodeName(of node: Node, into output: inout ByteBuffer) {
        let record = record(node)
        if record.nameStart >= 0 { appendUnescaped(nameLiteral(record, in: arena), into: &output) }
    }

    /// The JSON text of a value that no edit has opened (`isOpened`). An opened value must be written instead.
    @_lifetime(borrow self)
    package func text(of node: Node) -> RawSpan {
        let record = record(node)
        precondition(!record.isOpened, "a value that was opened is written, it has no text of its own")
        return arena.slice(Int(record.start), Int(record.count))
    }

    /// Where a value that no edit has opened begins in the text that was loaded.
    package func start(of node: Node) -> Int { Int(record(node).start) }

    /// Whether a value's children are known, which means that it no longer has a text of its own.
    package func isOpened(_ node: Node) -> Bool { records[Int(node.index)].isOpened }

    /// Appends the unescaped UTF-8 of a string.
    package func decode(_ node: Node, into output: inout ByteBuffer) {
        let record = record(node)
        precondition(record.kind == .string, "only strings are decoded")
        appendUnescaped(arena.slice(Int(record.start) + 1, Int(record.count) - 2), into: &output)
    }

    /// The unescaped text of a string; nil for another kind of value.
    package func string(_ node: Node) -> String? {
        guard kind(node) == .string else { return nil }
        var text = ByteBuffer()
        decode(node, into: &text)
        return String(utf8: text.bytes)
    }

    /// Whether a value equals a constant, which is given in canonical form.
    package func equals(_ node: Node, _ canonical: RawSpan) -> Bool {
        let record = record(node)
        guard canonical.byteCount > 0, JSONKind(firstByte: canonical.byte(at: 0)) == record.kind else { return false }
        if !record.isOpened {
            if text(of: node).equals(canonical) { return true }
            if record.kind.rawValue >= JSONKind.true.rawValue { return false }
        }
        var value = ByteBuffer(capacity: 64)
        write(node, into: &value)
        var form = ByteBuffer(capacity: 64)
        do { try Canonical.write(value.bytes, into: &form) } catch { return false }
        return form.bytes.equals(canonical)
    }

    @inline(__always)
    static func link(_ index: Int32) -> Node? { index < 0 ? nil : Node(index: index) }
}

/// The content of a name's literal, without the quotes.
@_lifetime(borrow arena)
private func nameLiteral(_ record: JSONEditor.Record, in arena: borrowing ByteBuffer) -> RawSpan {
    arena.slice(Int(record.nameStart) + 1, Int(record.nameCount) - 2)
}

private func spells(_ record: JSONEditor.Record, in arena: borrowing ByteBuffer, _ name: MemberName.Forms) -> Bool {
    if spellsShort(record, in: arena, name) { return true }
    let literal = nameLiteral(record, in: arena)
    let utf8 = name.utf8
    guard record.nameHasEscapes else { return literal.equals(utf8.lent) }
    var plain = ByteBuffer(capacity: literal.byteCount)
    appendUnescaped(literal, into: &plain)
    return plain.bytes.equals(utf8.lent)
}

/// Whether a record has that name, provided that the name has no escapes and at most eight bytes.
@inline(__always)
private func spellsShort(_ record: JSONEditor.Record, in arena: borrowing ByteBuffer, _ name: MemberName.Forms) -> Bool {
    guard name.count <= 8, !record.nameHasEscapes, Int(record.nameCount) == name.count &+ 2 else { return false }
    return (arena.bytes.load(UInt64.self, at: Int(record.nameStart) &+ 1) ^ name.word) & name.mask == 0
}
