internal import Bytes
internal import EventModel
internal import JSONText

/// What a viewer's runs reuse: the document, the buffers, the counts.
struct Workspace: ~Copyable {
    var run = OpRun()
    private var doc = Splice()
    private var output = ByteBuffer(capacity: 4096)
    /// The documents that fans on the way are made from, outermost first.
    private var fans = ByteBuffer(capacity: 1024)
    private var part = 0

    mutating func run(
        _ path: Path, _ payload: RawSpan, _ context: borrowing EventContext, validating: Bool,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        part = 0
        fans.removeAll()
        run.begin()
        try load(payload, path)
        try follow(path.root, at: doc.root, path, context, validating: validating, body)
    }

    private mutating func load(_ text: RawSpan, _ path: Path) throws(EvstoreError) {
        do { try doc.load(text) } catch { throw path.malformed(error) }
    }

    private mutating func follow(
        _ segment: PathSegment, at object: Splice.Node, _ path: Path, _ context: borrowing EventContext, validating: Bool,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        guard try apply(segment, at: object, path, context) else { return }
        switch segment.next {
        case .end(let end):
            output.removeAll()
            doc.write(object, into: &output)
            if let fault = doc.fault { throw path.malformed(fault) }
            if validating || end.isUnproved { try path.check(end, output.bytes) }
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: output.bytes, part: part))
            part += 1
        case .dispatch(let dispatch):
            let branch = try choose(dispatch, at: object, path)
            try follow(branch, at: object, path, context, validating: validating, body)
        case .fan(let fan):
            let start = fans.count
            doc.write(object, into: &fans)
            let end = fans.count
            for part in fan.parts {
                let made = try pick(part, start ..< end, path)
                try follow(part.segment, at: made, path, context, validating: validating, body)
            }
            fans.truncate(to: start)
        case .hidden: run.counts.hidden += 1
        case .dropped: run.counts.dropped += 1
        case .blocked(let block):
            throw path.failure(
                step: block.step, op: block.label, pointer: "", expected: "an event of a type that \(path.target) knows", found: block.why)
        }
    }

    /// Runs the segment's ops; false where one of them hides the event.
    private mutating func apply(
        _ segment: PathSegment, at object: Splice.Node, _ path: Path, _ context: borrowing EventContext
    ) throws(EvstoreError) -> Bool {
        let ops = segment.ops
        for index in ops.indices {
            do {
                switch ops[index].direction {
                case .up: try ops[index].op.up(&doc, at: object, &run, context)
                case .down: try ops[index].op.down(&doc, at: object, &run, context)
                }
            } catch {
                switch error {
                case .hidden: return false
                case .failed(let pointer, let expected, let found):
                    throw path.failure(step: ops[index].step, op: ops[index].label, pointer: pointer, expected: expected, found: found)
                }
            }
        }
        return true
    }

    private mutating func choose(_ dispatch: PathDispatch, at object: Splice.Node, _ path: Path) throws(EvstoreError) -> PathSegment {
        let node = doc.find(dispatch.by, from: object)
        if let node, doc.kind(node) == .string {
            run.content.removeAll()
            doc.decode(node, into: &run.content)
            for branch in dispatch.branches where run.content.bytes.equals(branch.value.lent) { return branch.segment }
        }
        let values = dispatch.branches.map { String(utf8: $0.value.lent) ?? "" }.joined(separator: ", ")
        throw path.failure(
            step: dispatch.step, op: dispatch.label, pointer: dispatch.by.description, expected: "one of \(values)", found: doc.words(node))
    }

    /// A new document with what a part takes.
    private mutating func pick(_ part: PathFan.Part, _ whole: Range<Int>, _ path: Path) throws(EvstoreError) -> Splice.Node {
        do { try doc.load(fans, whole) } catch { throw path.malformed(error) }
        let object = doc.makeObject()
        for place in part.pick {
            guard let node = place.find(in: &doc, at: doc.root) else { continue }
            doc.detach(node)
            place.put(node, into: &doc, at: object)
        }
        return object
    }
}

extension Splice {
    fileprivate mutating func load(_ buffer: borrowing ByteBuffer, _ range: Range<Int>) throws(JSONError) {
        try load(buffer.slice(range.lowerBound, range.count))
    }
}

extension Path {
    func failure(step: SchemaVersion, op: String, pointer: String, expected: String, found: String) -> EvstoreError {
        .noImage(
            ImageFailure(
                type: type, born: born, target: target, step: step, op: op, pointer: pointer, expected: expected, found: found))
    }

    /// The stored bytes are no JSON: never for an event that was appended through the front door.
    func malformed(_ error: JSONError) -> EvstoreError {
        failure(step: born, op: "load", pointer: "", expected: "JSON text", found: "\(error.reason) at byte \(error.offset)")
    }

    func check(_ end: PathEnd, _ payload: RawSpan) throws(EvstoreError) {
        do { try end.shape.validate(payload) } catch {
            throw failure(step: end.step, op: "shape", pointer: error.pointer, expected: error.expected, found: error.found)
        }
    }
}
