internal import Bytes
internal import EventModel
internal import JSONText

/// The document of one event, with what its ops read beside the payload, and their counts.
struct EventDocument: ~Copyable {
    var splice = JSONEditor()
    var run = OpRun()

    typealias Node = JSONEditor.Node

    /// Copies a value that a Swift step made into the document.
    mutating func take(member node: Node) -> Node {
        run.output.removeAll()
        run.members.doc.write(node, into: &run.output)
        return splice.make(run.output)
    }
}

extension EventDocument: Document {
    func kind(_ node: Node) -> JSONKind { splice.kind(node) }

    mutating func member(_ name: MemberName, of parent: Node) -> Node? { splice.member(name, of: parent) }

    mutating func child(_ name: MemberName, of parent: Node) -> Node? { splice.member(name, of: parent) }

    mutating func isEmpty(_ node: Node) -> Bool { splice.isEmpty(node) }

    func equals(_ node: Node, anyOf constants: [[UInt8]]) -> Bool {
        for index in constants.indices where splice.equals(node, constants[index]) { return true }
        return false
    }

    mutating func means(_ node: Node, _ other: Node) -> Bool {
        run.output.removeAll()
        splice.write(other, into: &run.output)
        let canonical: [UInt8]
        do { canonical = try Canonical.bytes(of: run.output.bytes) } catch { return false }
        return splice.equals(node, canonical.lent)
    }

    mutating func hasContent(_ node: Node, of text: Node) -> Bool {
        run.content.removeAll()
        run.output.removeAll()
        splice.content(of: text, into: &run.content)
        splice.content(of: node, into: &run.output)
        return run.output.bytes.equals(run.content.bytes)
    }

    mutating func misfit(_ node: Node, _ shape: EventShape) -> String? {
        run.output.removeAll()
        splice.write(node, into: &run.output)
        do { try shape.validate(run.output.bytes) } catch { return error.expected }
        return nil
    }

    mutating func isBelow(_ node: Node, _ test: Guard) -> Bool {
        run.content.removeAll()
        splice.content(of: node, into: &run.content)
        return test.holds(onContent: run.content.bytes, splice.kind(node))
    }

    mutating func holdsBeside(_ test: Guard) -> Bool { test.holdsBeside(&run) }

    mutating func makeObject() -> Node { splice.makeObject() }

    mutating func beside(_ source: Source) -> Node? { source.writeBeside(&run) ? splice.make(run.output) : nil }

    mutating func convert(_ node: Node, _ conversion: Conversion) throws(OpStop) -> Node? {
        let kind = splice.kind(node)
        if case .null = kind { return nil }
        run.content.removeAll()
        run.output.removeAll()
        splice.content(of: node, into: &run.content)
        var isCanonical = false
        do { isCanonical = try conversion.codec.recode(run.content, kind, conversion.direction, into: &run.output) } catch {
            throw .failed(pointer: conversion.pointer.description, expected: error.expected, found: splice.words(node), byCodec: true)
        }
        if !isCanonical {
            if conversion.isStrict {
                let found = splice.words(node)
                throw .failed(pointer: conversion.pointer.description, expected: "in canonical form", found: found, byCodec: true)
            }
            if conversion.counts { run.counts.nonCanonical += 1 }
        }
        return splice.make(run.output)
    }

    mutating func concatenate(_ pieces: [TextPiece<Node>]) -> Node {
        run.content.removeAll()
        for piece in pieces {
            switch piece {
            case .literal(let text): run.content.append(text)
            case .text(let node):
                switch splice.kind(node) {
                case .string: splice.decode(node, into: &run.content)
                case .number: appendCanonical(number: splice.text(of: node), into: &run.content)
                case .true, .false, .null, .object, .array: splice.write(node, into: &run.content)
                }
            }
        }
        return splice.make(string: run.content, 0, run.content.count)
    }

    mutating func split(_ node: Node, _ rule: SeparatedText) throws(OpStop) -> [Node] {
        run.content.removeAll()
        splice.decode(node, into: &run.content)
        guard rule.splitter.split(run.content, 0, run.content.count, into: &run.slices) else {
            throw .failed(
                pointer: rule.whole.pointer.description,
                expected: "a text with \(rule.parts.count - 1) × \"\(String(decoding: rule.splitter.separator, as: UTF8.self))\"",
                found: splice.words(node))
        }
        var parts: [Node] = []
        for index in 0 ..< run.slices.count {
            let slice = run.slices[index]
            parts.append(splice.make(string: run.content, Int(slice.start), Int(slice.count)))
        }
        return parts
    }

    mutating func first(of list: Node) -> Node? {
        guard let first = splice.firstChild(of: list) else { return nil }
        run.counts.lost += splice.count(of: list) - 1
        splice.detach(first)
        return first
    }

    mutating func copy(_ node: Node) -> Node { splice.copy(node) }

    mutating func detach(_ node: Node) { splice.detach(node) }

    mutating func attach(_ node: Node, as name: MemberName, to parent: Node) { splice.attach(node, as: name, to: parent) }

    mutating func addObject(_ name: MemberName, to parent: Node) -> Node { splice.addObject(name, to: parent) }

    mutating func rename(_ old: MemberName, to name: MemberName, in parent: Node) {
        if let node = splice.member(old, of: parent) { splice.rename(node, to: name) }
    }

    mutating func wrapInArray(_ node: Node) { splice.wrapInArray(node) }

    mutating func set(_ name: MemberName, of parent: Node, to json: [UInt8]) { splice.set(name, of: parent, to: json.lent) }

    mutating func replace(_ node: Node, with json: [UInt8]) { splice.replace(node, with: json.lent) }

    mutating func replace(_ node: Node, withValueOf other: Node) { splice.replace(node, withValueOf: other) }

    mutating func run(_ op: any BoundOp, at object: Node, _ direction: Direction) throws(OpStop) {
        try op.run(&self, at: object, direction)
    }

    mutating func each(_ holder: Node, _ elements: ElementRun) throws(OpStop) {
        var index = 0
        var child = splice.firstChild(of: holder)
        while let node = child {
            child = splice.next(after: node)
            let kind = splice.kind(node)
            if elements.isOfObjects ? kind == .object : kind != .null {
                do throws(OpStop) { for op in elements.ops { try op.run(&self, at: node, elements.direction) } } catch {
                    throw located(error, node, index, elements.path, holder)
                }
            }
            index += 1
        }
    }

    /// The failure with its pointer relative to the payload's root instead of the element.
    private func located(_ stop: OpStop, _ node: Node, _ index: Int, _ path: JSONPointer, _ holder: Node) -> OpStop {
        guard case .failed(let pointer, let expected, let found, let byCodec) = stop else { return stop }
        let name = splice.kind(holder) == .array ? String(index) : splice.name(of: node)
        return .failed(pointer: path.appending(name).description + pointer, expected: expected, found: found, byCodec: byCodec)
    }

    mutating func lose(_ count: Int) { run.counts.lost += count }

    mutating func lose(_ node: Node, unless canonical: [UInt8]?) {
        if canonical.map({ splice.equals(node, $0.lent) }) != true { run.counts.lost += 1 }
    }

    func refusal(at pointer: JSONPointer, expected: @autoclosure () -> String, found: @autoclosure () -> Found<Node>) -> OpStop {
        let words =
            switch found() {
            case .node(let node): splice.words(node)
            case .words(let words): words
            }
        return .failed(pointer: pointer.description, expected: expected(), found: words)
    }
}

// A span borrowed from a field borrows the whole value, so whole buffers are passed instead.

extension JSONEditor {
    fileprivate func equals(_ node: Node, _ canonical: [UInt8]) -> Bool { equals(node, canonical.lent) }

    fileprivate mutating func make(_ json: borrowing ByteBuffer) -> Node { make(json.bytes) }

    fileprivate mutating func make(string text: borrowing ByteBuffer, _ start: Int, _ count: Int) -> Node {
        make(string: text.slice(start, count))
    }
}

/// The state of running ops on one event: what they read beside the payload, their counts, and buffers that are reused for every event.
struct OpRun: ~Copyable {
    var counts = PathCounts()
    /// How often adoption dropped each member, by pointer; nil if the caller does not need the list.
    var leftBehind: [String: Int]?
    /// The content of the value that is being read; unescaped if it is a string.
    var content = ByteBuffer()
    /// The parts of a text that is being split.
    var slices = UniqueArray<TextPart>(capacity: 8)
    /// The JSON text of the value that is written next.
    var output = ByteBuffer()
    /// The members that are passed to a Swift step.
    var members = StepMembers()
    /// When the event was appended.
    private(set) var time = Timestamp(microseconds: 0)
    /// The name of the event's stream at the version of the current op; nil if the path does not read it.
    var stream: String?
    private var metadata = ByteBuffer()
    private var opened = JSONEditor()
    private var isOpened = false

    init() {}

    /// Takes over what the next event carries beside its payload.
    @inline(__always)
    mutating func begin(_ context: borrowing EventContext) {
        (time, stream, isOpened) = (context.time, context.stream, false)
        metadata.removeAll()
        if context.metadata.byteCount > 0 { metadata.append(context.metadata) }
    }

    /// Writes the JSON text of a metadata member to `output`. Returns false if the member is absent.
    mutating func writeMetadata(_ pointer: JSONPointer) -> Bool {
        output.removeAll()
        guard metadata.count > 0 else { return false }
        if !isOpened {
            // Metadata was validated with the event. Unreadable text is treated as having no members.
            do { try opened.load(metadata, 0 ..< metadata.count) } catch { return false }
            isOpened = true
        }
        guard let node = opened.find(pointer, from: opened.root) else { return false }
        opened.write(node, into: &output)
        return true
    }
}

extension JSONEditor {
    /// Appends the content of a value: the unescaped text of a string, the JSON text of other values.
    func content(of node: Node, into buffer: inout ByteBuffer) {
        if case .string = kind(node) { decode(node, into: &buffer) } else { write(node, into: &buffer) }
    }

    func words(_ node: Node?) -> String {
        guard let node else { return "nothing" }
        switch kind(node) {
        case .object: return "an object"
        case .array: return "an array"
        case .string: return string(node).map(quoted) ?? "a string"
        case .number, .true, .false, .null:
            var text = ByteBuffer(capacity: 32)
            write(node, into: &text)
            return String((String(utf8: text.bytes) ?? "").prefix(60))
        }
    }
}
