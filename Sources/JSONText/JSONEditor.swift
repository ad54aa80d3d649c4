package import Bytes

/// A JSON text that is being edited: parsed where an edit touches it, copied as slices elsewhere.
///
/// Each worker has one and reuses it for every event: once warm, it allocates nothing. The text was validated when it was appended;
/// malformed text is reported as an error nevertheless, and nothing outside the text is ever read.
package struct JSONEditor: ~Copyable {
    /// A value of the loaded text; valid until the next load.
    package struct Node: Hashable, Sendable {
        let index: Int32
    }

    /// What is known about one value. Offsets refer to the arena, links are indexes of records, and -1 means none.
    struct Record: BitwiseCopyable {
        /// `nameKey` of the unescaped name.
        var key: UInt32 = 0
        /// The name's string literal, including its quotes.
        var nameStart: Int32 = -1
        var nameCount: Int32 = 0
        /// The range of the value's text; for an opened container, the indexes of its first and last child.
        var start: Int32
        var count: Int32
        var parent: Int32 = -1
        var next: Int32 = -1
        var kind: JSONKind
        var isOpened = false
        var nameHasEscapes = false
        /// Whether only a colon separates the value from its name.
        var isCompact = false

        var firstChild: Int32 { isOpened ? start : -1 }

        @inline(__always)
        mutating func spell(_ key: UInt32, at start: Int, _ count: Int, hasEscapes: Bool) {
            self.key = key
            nameStart = Int32(truncatingIfNeeded: start)
            nameCount = Int32(truncatingIfNeeded: count)
            nameHasEscapes = hasEscapes
            isCompact = false
        }

        @inline(__always)
        mutating func place(_ kind: JSONKind, _ start: Int, _ count: Int) {
            self.start = Int32(truncatingIfNeeded: start)
            self.count = Int32(truncatingIfNeeded: count)
            self.kind = kind
            isOpened = false
            isCompact = nameStart >= 0 && nameStart &+ nameCount &+ 1 == self.start
        }
    }

    // Each text in the arena is followed by `textEnd`. The arena only grows until the next load, so that slices of it can be shared.
    var arena = ByteBuffer(capacity: 4096)
    var records = UniqueArray<Record>(capacity: 64)

    /// The first malformed text that was met since the load while opening a value; that value has no children.
    package internal(set) var fault: JSONError?

    package init() {}

    /// Copies a text and finds the members of its root. Forgets what was loaded before.
    package mutating func load(_ text: RawSpan) throws(JSONError) {
        records.removeAll()
        fault = nil
        guard let start = takeText(text, into: &arena) else {
            throw JSONError("a text of less than 1 GiB was expected", at: JSONEditor.arenaMax)
        }
        guard let kind = JSONKind(firstByte: arena.bytes.byte(at: start)) else { throw JSONError("a value was expected", at: start) }
        records.append(Record(start: Int32(start), count: 0, kind: kind))
        let end: Int
        if kind.isContainer {
            end = try scanChildren(in: arena, of: 0, into: &records)
        } else {
            var walk = JSONWalker(arena.bytes, at: start)
            end = walk.skipValue().end
            guard !walk.isMalformed else { throw JSONError("a value was expected", at: start) }
            records[0].count = Int32(end - start)
        }
        var rest = JSONWalker(arena.bytes, at: end)
        rest.skipSpaces()
        guard rest.offset == text.byteCount else { throw JSONError("the end of the text was expected", at: rest.offset) }
    }

    /// The root: the value that makes up the whole text.
    package var root: Node { Node(index: 0) }

    static let arenaMax = 1 << 30

    func record(_ node: Node) -> Record { records[Int(node.index)] }
}

extension JSONEditor {
    /// Finds the children of an object or array, once. One whose text is malformed stays unopened, without children, and `fault` is set.
    @inline(__always)
    mutating func open(_ node: Node) {
        let index = Int(node.index)
        if !records[index].isOpened, records[index].kind.isContainer { openText(of: node) }
    }

    @inline(never)
    private mutating func openText(of node: Node) {
        let unopened = record(node)
        let known = records.count
        do throws(JSONError) {
            let found = try scanChildren(in: arena, of: Int(node.index), into: &records)
            guard found == Int(unopened.start + unopened.count) else { throw JSONError("the end of a value was expected", at: found) }
        } catch {
            records.removeLast(records.count - known)
            records[Int(node.index)] = unopened
            if fault == nil { fault = error }
        }
    }
}

/// Opens the container `parent`: records its children in order and returns the offset behind its closing bracket.
func scanChildren(
    in arena: borrowing ByteBuffer, of parent: Int, into records: inout UniqueArray<JSONEditor.Record>
) throws(JSONError) -> Int {
    let text = arena.bytes
    let isObject = records[parent].kind == .object
    let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    var walk = JSONWalker(text, at: Int(records[parent].start) &+ 1)
    var byte = walk.skipSpaces()
    records[parent].isOpened = true
    records[parent].start = -1
    records[parent].count = -1
    if byte == closing { return walk.offset &+ 1 }
    let first = Int32(truncatingIfNeeded: records.count)
    var index = first
    while true {
        var child = JSONEditor.Record(start: 0, count: 0, parent: Int32(truncatingIfNeeded: parent), kind: .null)
        if isObject {
            guard byte == UInt8(ascii: "\"") else { throw JSONError("a member's name was expected", at: walk.offset) }
            let name = walk.skipKeyedName()
            guard !walk.isMalformed else { throw JSONError("a member's name was expected", at: name.start) }
            child.key = name.hasEscapes ? keyOfEscapedName(text.slice(name.start &+ 1, name.end &- name.start &- 2)) : name.key
            child.nameStart = Int32(truncatingIfNeeded: name.start)
            child.nameCount = Int32(truncatingIfNeeded: name.end &- name.start)
            child.nameHasEscapes = name.hasEscapes
            walk.skipColon()
            child.isCompact = walk.offset == name.end &+ 1
        }
        let value = walk.skipValue()
        guard !walk.isMalformed else { throw JSONError("a value was expected", at: value.start) }
        child.kind = value.kind
        child.start = Int32(truncatingIfNeeded: value.start)
        child.count = Int32(truncatingIfNeeded: value.count)
        byte = walk.skipSpaces()
        if byte == UInt8(ascii: ",") {
            index &+= 1
            child.next = index
            records.append(child)
            walk.offset &+= 1
            byte = walk.skipSpaces()
        } else {
            guard byte == closing else { throw JSONError("a comma or the end of a container was expected", at: walk.offset) }
            records.append(child)
            records[parent].start = first
            records[parent].count = index
            return walk.offset &+ 1
        }
    }
}

extension JSONWalker {
    /// Moves behind the name that begins at the offset. Returns the name's range, and its key if it has no escapes.
    @inline(__always)
    @_lifetime(self: copy self)
    fileprivate mutating func skipKeyedName() -> (start: Int, end: Int, key: UInt32, hasEscapes: Bool) {
        let start = offset
        let word = text.loadOrZeros(UInt64.self, at: start &+ 1)
        let special = specialBytes(word)
        // A short name ends within the word, so that its key can be computed from the word up to the quote.
        if special != 0 {
            let end = start &+ 1 &+ special.trailingZeroBitCount >> 3
            if text.peek(at: end) == UInt8(ascii: "\"") {
                offset = end &+ 1
                return (start, offset, nameKey(word & (special ^ (special &- 1)) >> 1), false)
            }
        }
        let hasEscapes = skipString()
        return (start, offset, nameKey(word), hasEscapes)
    }
}

@inline(never)
private func keyOfEscapedName(_ literal: RawSpan) -> UInt32 {
    var plain = ByteBuffer(capacity: literal.byteCount + 16)
    appendUnescaped(literal, into: &plain)
    return nameKey(firstWord(of: plain.bytes))
}

/// The first eight bytes of a name, followed by a quote if the name is shorter.
func firstWord(of name: RawSpan) -> UInt64 {
    let word = name.loadOrZeros(UInt64.self, at: 0)
    return name.byteCount < 8 ? word | 0x22 << UInt64(8 * name.byteCount) : word
}

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

    package func next(after node: Node) -> Node? { JSONEditor.link(records[Int(node.index)].next) }

    /// The object or array that contains a node; nil for the root and for detached nodes.
    package func parent(of node: Node) -> Node? { JSONEditor.link(records[Int(node.index)].parent) }

    /// Whether a value has no children, which is also true of scalars.
    package mutating func isEmpty(_ node: Node) -> Bool { firstChild(of: node) == nil }

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
        let record = record(node)
        var text = ByteBuffer()
        if record.nameStart >= 0 { appendUnescaped(nameLiteral(record, in: arena), into: &text) }
        return String(utf8: text.bytes) ?? ""
    }

    /// Whether a member has that name, however it is spelled in the text.
    package func hasName(_ node: Node, _ name: MemberName) -> Bool { spells(record(node), in: arena, name.forms) }

    /// The JSON text of a value that no edit has opened (`isOpened`). An opened value must be written instead.
    @_lifetime(borrow self)
    package func text(of node: Node) -> RawSpan {
        let record = record(node)
        precondition(!record.isOpened, "a value that was opened is written, it has no text of its own")
        return arena.slice(Int(record.start), Int(record.count))
    }

    /// Where a value that no edit has opened begins in the text that was loaded.
    package func start(of node: Node) -> Int { Int(record(node).start) }

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

extension JSONEditor {
    /// Appends a value's JSON text: compact where it was opened, unchanged elsewhere.
    package func write(_ node: Node, into output: inout ByteBuffer) {
        let text = arena.bytes
        let record = records[Int(node.index)]
        if record.isOpened {
            flush(writeContainer(record, records, text, Run(), &output), text, &output)
        } else {
            output.append(text.slice(Int(record.start), Int(record.count)))
        }
    }
}

/// A range of the arena that is to be written. The next one often follows it there, and one large copy is cheaper than many small ones.
private struct Run {
    var start = 0
    var end = 0
}

/// Writes a container and returns the range that is not copied yet.
private func writeContainer(
    _ container: JSONEditor.Record, _ records: borrowing UniqueArray<JSONEditor.Record>, _ text: RawSpan, _ pending: Run,
    _ output: inout ByteBuffer
) -> Run {
    let isObject = container.kind == .object
    var run = pending
    write(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["), text, &run, &output)
    var next = container.start
    while next >= 0 {
        let child = records[Int(next)]
        if child.isCompact && !child.isOpened {
            write(child.nameStart, child.start &+ child.count &- child.nameStart, text, &run, &output)
        } else {
            if isObject {
                write(child.nameStart, child.nameCount, text, &run, &output)
                write(UInt8(ascii: ":"), text, &run, &output)
            }
            if child.isOpened {
                run = writeContainer(child, records, text, run, &output)
            } else {
                write(child.start, child.count, text, &run, &output)
            }
        }
        next = child.next
        if next >= 0 { write(UInt8(ascii: ","), text, &run, &output) }
    }
    write(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), text, &run, &output)
    return run
}

@inline(__always)
private func write(_ start: Int32, _ count: Int32, _ text: RawSpan, _ run: inout Run, _ output: inout ByteBuffer) {
    if Int(start) != run.end {
        flush(run, text, &output)
        run.start = Int(start)
    }
    run.end = Int(start) &+ Int(count)
}

@inline(__always)
private func write(_ mark: UInt8, _ text: RawSpan, _ run: inout Run, _ output: inout ByteBuffer) {
    if text.byte(at: run.end) == mark {
        run.end &+= 1
    } else {
        flush(run, text, &output)
        run.start = run.end
        output.append(mark)
    }
}

@inline(__always)
private func flush(_ run: Run, _ text: RawSpan, _ output: inout ByteBuffer) {
    if run.end > run.start { output.append(text.slice(run.start, run.end &- run.start)) }
}
