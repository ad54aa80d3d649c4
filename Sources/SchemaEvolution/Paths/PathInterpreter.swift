internal import Bytes
internal import EventModel
internal import JSONText

/// Interprets paths: the document, the buffers and the counts that are reused for every event.
package struct PathInterpreter: ~Copyable {
    private var doc = EventDocument()
    private var output = ByteBuffer(capacity: 4096)
    /// The serialized documents from which the current fans make their parts, outermost first.
    private var fans = ByteBuffer(capacity: 1024)
    private var waiting = JunctionQueue()
    private var part = 0
    /// The index of the event that is being converted, in its group.
    private var source = 0
    /// The origin of the part that is being converted, and the number of events that were split so far.
    private var origin: PartOrigin?
    private var parted = 0
    private var fused = FusedRun()
    /// A hash of the decisions that the path's program made for the last event (`FusedRun.trace`): 0 if the event was not changed, nil if
    /// its ops ran one by one.
    var trace: UInt64?
    /// The case of adoption that was selected last.
    private(set) var adopted: AdoptionBranch?

    package init() {}

    /// The counts over all images so far.
    package var counts: PathCounts { doc.run.counts }

    mutating func countHidden() { doc.run.counts.hidden += 1 }

    /// How often adoption dropped each member, by pointer; nil if the caller does not need the list.
    var leftBehind: [String: Int]? {
        get { doc.run.leftBehind }
        set { doc.run.leftBehind = newValue }
    }

    /// Calls the body once for each image of an event along a path, in order; never if a step hides or drops the event: the single place
    /// where an event is decoded. Returns false, without a call, if the event is impersonal and the program leaves it to the ops, which
    /// read all of it.
    ///
    /// - Parameters:
    ///   - stream: the stream's name; evaluated only if the path reads it.
    ///   - validating: whether all images are validated against their shapes, even if the steps prove that they fit.
    /// - Throws: `EvstoreError.noImage`, without a position, or what the body throws.
    @discardableResult
    package mutating func run(
        _ path: Path, _ event: borrowing SourceEvent, stream: @autoclosure () throws -> String, validating: Bool = false,
        _ body: (borrowing Image) throws -> Void
    ) throws -> Bool {
        let checked = CheckedPath(path: path, checksAll: validating)
        if let end = path.unchanged {
            trace = 0
            try checked.check(end, event.payload)
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: event.payload, part: 0))
            return true
        }
        let context = event.context(stream: path.readsStream ? try stream() : nil)
        if let program = path.fused {
            trace = nil
            if program.readsBeside { doc.run.begin(context) }
            if fused.run(program, event.payload, &doc.run) {
                trace = fused.trace
                for part in 0 ..< fused.images.count { try show(fused.images[part], part, checked, body) }
                return true
            }
        }
        if event.isImpersonal { return false }
        doc.run.begin(context)
        begin()
        try load(event.payload, path)
        try follow(path.root, at: doc.splice.root, checked, body)
        try settle(checked, body)
        return true
    }

    /// Passes an image that a program made to the body.
    @inline(__always)
    private func show(
        _ image: FusedRun.Image, _ part: Int, _ checked: CheckedPath, _ body: (borrowing Image) throws -> Void
    ) throws {
        guard let end = checked.path.fused?.ends[Int(image.end)] else { return }
        if image.isWhole {
            let payload = fused.output.slice(Int(image.start), Int(image.count))
            try checked.check(end, payload)
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: payload, part: part))
        } else {
            let places = fused.places.span.extracting(Int(image.start) ..< Int(image.start &+ image.count))
            try body(Image(end, values: fused.found, at: places, part: part))
        }
    }

    /// Converts the parts of one event and passes their images to the body.
    mutating func run(
        _ group: PathGroup, _ parts: [GroupPart], _ context: borrowing EventContext, validating: Bool,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        doc.run.begin(context)
        begin()
        let checked = CheckedPath(path: group.path, checksAll: validating)
        for (part, root) in zip(parts, group.roots) {
            try load(part.payload.lent, group.path)
            try follow(root, at: doc.splice.root, checked, body)
        }
        try settle(checked, body)
    }

    /// Converts events of one append that may be merged. Each event has its own context; a merged event has the context of the last one.
    mutating func run(
        _ group: PathGroup, appended events: [AppendedEvent], failed: (Int, ImageFailure) -> Void, met: ([Int], Bool) -> Void,
        _ body: (Int, borrowing Image) -> Void
    ) throws {
        begin()
        let checked = CheckedPath(path: group.path, checksAll: true)
        for (index, event) in events.enumerated() {
            source = event.first ?? index
            let failure = try attempt(event, checked, { body(index, $0) }) { (workspace: inout PathInterpreter) throws(EvstoreError) in
                workspace.origin = nil
                try workspace.load(event.payload.lent, group.path)
                return group.roots[index]
            }
            if let failure { failed(index, failure) }
        }
        while true {
            try flush { body($1, $0) }
            guard let meeting = try next(group.path) else { return }
            met(meeting.sources, meeting.isWhole)
            let index = meeting.source
            source = events[index].first ?? index
            let failure = try attempt(events[index], checked, { body(index, $0) }) { (_: inout PathInterpreter) in meeting.segment }
            if let failure { failed(index, failure) }
        }
    }

    /// Converts one event of an append. Returns why it has no image, since the other events may have one.
    private mutating func attempt(
        _ event: AppendedEvent, _ checked: CheckedPath, _ body: (borrowing Image) -> Void,
        from start: (inout PathInterpreter) throws(EvstoreError) -> PathSegment
    ) throws -> ImageFailure? {
        doc.run.begin(EventContext(time: event.time, stream: event.stream, metadata: event.metadata.lent))
        do {
            let segment = try start(&self)
            try follow(segment, at: doc.splice.root, checked, body)
            return nil
        } catch EvstoreError.noImage(var failure) {
            failure.type = event.type
            return failure
        }
    }

    private mutating func begin() {
        (part, source, origin, parted) = (0, 0, nil, 0)
        fans.removeAll()
        waiting.removeAll()
    }

    /// Joins the parts that wait at junctions and converts the results.
    private mutating func settle(_ checked: CheckedPath, _ body: (borrowing Image) throws -> Void) throws {
        while true {
            try flush { image, _ in try body(image) }
            guard let segment = try next(checked.path)?.segment else { return }
            try follow(segment, at: doc.splice.root, checked, body)
        }
    }

    /// Passes on the images that are not preceded by a waiting part, each with the index of its event in the group.
    private mutating func flush(_ body: (borrowing Image, Int) throws -> Void) throws {
        while let (end, source) = waiting.nextImage(into: &output) {
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: output.bytes, part: part), source)
            part += 1
        }
    }

    private mutating func next(_ path: Path) throws(EvstoreError) -> JunctionMatch? {
        do {
            let next = try waiting.next(&doc)
            origin = next?.origin
            return next
        } catch { throw path.malformed(error) }
    }

    private mutating func load(_ text: RawSpan, _ path: Path) throws(EvstoreError) {
        do { try doc.splice.load(text) } catch { throw path.malformed(error) }
    }

    private mutating func follow(
        _ segment: PathSegment, at object: JSONEditor.Node, _ checked: CheckedPath, _ body: (borrowing Image) throws -> Void
    ) throws {
        let path = checked.path
        guard try apply(segment, at: object, path) else { return }
        switch segment.next {
        case .end(let end):
            output.removeAll()
            doc.splice.write(object, into: &output)
            if let fault = doc.splice.fault { throw path.malformed(fault) }
            try checked.check(end, output.bytes)
            if !waiting.isEmpty { return waiting.add(end, output, from: source) }
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: output.bytes, part: part))
            part += 1
        case .dispatch(let dispatch):
            let branch = try choose(dispatch, at: object, path)
            try follow(branch, at: object, checked, body)
        case .fan(let fan):
            let start = fans.count
            doc.splice.write(object, into: &fans)
            let end = fans.count
            let chosen = fan.choose(&doc, at: object)
            if chosen == 0 {
                throw path.failure(
                    step: fan.step, op: "merge-events", pointer: "", expected: "members of one of the events from which it was merged",
                    found: "none")
            }
            let outer = origin
            if outer?.step != fan.step {
                origin = PartOrigin(step: fan.step, number: parted)
                parted += 1
            }
            for (index, part) in fan.parts.enumerated() where fan.makes(index, of: chosen) {
                do { try doc.splice.load(fans, start ..< end) } catch { throw path.malformed(error) }
                let made = part.rule.take(from: doc.splice.root, of: &doc)
                try follow(part.segment, at: made, checked, body)
            }
            origin = outer
            fans.truncate(to: start)
        case .adoption(let branches):
            guard let branch = choose(branches, at: object) else {
                throw path.failure(
                    step: SchemaVersion(1), op: "adopt", pointer: "", expected: "data that a case of adopt takes",
                    found: doc.splice.words(object))
            }
            adopted = branch
            try follow(branch.segment, at: object, checked, body)
        case .junction(let junction, let arm):
            waiting.add(&doc.splice, object, junction, arm, of: PartSource(event: source, origin: origin))
        case .hidden: doc.run.counts.hidden += 1
        case .dropped: doc.run.counts.dropped += 1
        case .blocked(let block): throw path.failure(block)
        }
    }

    /// Runs the ops of a segment. Returns false if one of them hides the event.
    private mutating func apply(_ segment: PathSegment, at object: JSONEditor.Node, _ path: Path) throws(EvstoreError) -> Bool {
        let ops = segment.ops
        for index in ops.indices {
            do throws(OpStop) {
                if ops[index].streams == nil {
                    try ops[index].op.run(&doc, at: object, ops[index].direction)
                } else {
                    let stream = doc.run.stream
                    defer { doc.run.stream = stream }
                    doc.run.stream = try ops[index].stream(stream)
                    try ops[index].op.run(&doc, at: object, ops[index].direction)
                }
            } catch {
                switch error {
                case .hidden:
                    doc.run.counts.hidden += 1
                    return false
                case .programNeeded(let what): throw .programNeeded(what: what)
                case .failed(let pointer, let expected, let found, let byCodec):
                    var failure = ImageFailure(
                        type: path.type, born: path.born, target: path.target, step: ops[index].step, op: ops[index].label,
                        pointer: pointer, expected: expected, found: found)
                    failure.isByCodec = byCodec
                    failure.isDeclared = ops[index].blocks && ops[index].direction == .down
                    throw .noImage(failure)
                }
            }
        }
        return true
    }

    private mutating func choose(_ dispatch: PathDispatch, at object: JSONEditor.Node, _ path: Path) throws(EvstoreError) -> PathSegment {
        let node = doc.find(dispatch.by, from: object)
        if let node, doc.kind(node) == .string {
            doc.run.content.removeAll()
            doc.splice.decode(node, into: &doc.run.content)
            for branch in dispatch.branches where doc.run.content.bytes.equals(branch.value.lent) { return branch.segment }
        }
        let values = dispatch.branches.map { String(utf8: $0.value.lent) ?? "" }.joined(separator: ", ")
        throw path.failure(
            step: dispatch.step, op: dispatch.label, pointer: dispatch.by.description, expected: "one of \(values)",
            found: doc.splice.words(node))
    }

    private mutating func choose(_ branches: [AdoptionBranch], at object: JSONEditor.Node) -> AdoptionBranch? {
        for branch in branches where branch.test?.holds(&doc, at: object) ?? true { return branch }
        return nil
    }
}

extension JSONEditor {
    mutating func load(_ buffer: borrowing ByteBuffer, _ range: Range<Int>) throws(JSONError) {
        try load(buffer.slice(range.lowerBound, range.count))
    }
}
