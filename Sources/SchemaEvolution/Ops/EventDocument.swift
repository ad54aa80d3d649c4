internal import Bytes
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
        guard run.split(by: rule.splitter) else {
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

    mutating func set(_ name: MemberName, of parent: Node, toValueOf node: Node) {
        if let old = splice.member(name, of: parent) {
            splice.replace(old, withValueOf: node)
        } else {
            splice.attach(node, as: name, to: parent)
        }
    }

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

extension OpRun {
    /// Finds the parts of the content. Returns false if there are too few separators and the rule refuses that.
    fileprivate mutating func split(by splitter: borrowing TextSplitter) -> Bool { splitter.split(content, into: &slices) }
}

extension TextSplitter {
    fileprivate func split(_ text: borrowing ByteBuffer, into slices: inout UniqueArray<TextPart>) -> Bool {
        split(text.bytes, into: &slices)
    }
}
