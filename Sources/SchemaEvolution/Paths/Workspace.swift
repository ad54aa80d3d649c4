internal import Bytes
internal import EventModel
internal import JSONText

/// What a viewer's runs reuse: the document, the buffers, the counts.
package struct Workspace: ~Copyable {
    var run = OpRun()
    private var doc = Splice()
    private var output = ByteBuffer(capacity: 4096)
    /// The documents that fans on the way are made from, outermost first.
    private var fans = ByteBuffer(capacity: 1024)
    private var waiting = PathWaiting()
    private var part = 0
    /// Which event of a group is followed.
    private var source = 0
    /// Which event of its step a part is followed of, and how many were parted so far.
    private var origin: PartOrigin?
    private var parted = 0
    private var fused = FusedRun()
    /// Which way the last event took through its path's program (`FusedRun.way`); nil where its ops were followed.
    private(set) var way: UInt64?
    /// The case that took the last event that was adopted.
    private(set) var adopted: PathAdoption.Branch?

    package init() {}

    mutating func run(
        _ checked: CheckedPath, _ payload: RawSpan, _ context: borrowing EventContext, _ body: (borrowing Image) throws -> Void
    ) throws {
        if let program = checked.path.fused {
            run.begin()
            way = nil
            if fused.run(program, payload, &run, context) {
                way = fused.way
                for part in 0 ..< fused.images.count { try show(fused.images[part], part, checked, body) }
                return
            }
        }
        begin()
        try load(payload, checked.path)
        try follow(checked.path.root, at: doc.root, checked, context, body)
        try settle(checked, context, body)
    }

    /// Hands over an image that a program made.
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

    /// Hands over the images of the parts of one event.
    mutating func run(
        _ group: PathGroup, _ parts: [GroupPart], _ context: borrowing EventContext, validating: Bool,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        begin()
        let checked = CheckedPath(path: group.path, checksAll: validating)
        for (part, root) in zip(parts, group.roots) {
            try load(part.payload.lent, group.path)
            try follow(root, at: doc.root, checked, context, body)
        }
        try settle(checked, context, body)
    }

    /// Hands over the images of events of one append that may be merged; each has its own context, and a merged one that of the last.
    mutating func run(
        _ group: PathGroup, appended events: [AppendedEvent], failed: (Int, ImageFailure) -> Void, met: ([Int], Bool) -> Void,
        _ body: (Int, borrowing Image) -> Void
    ) throws {
        begin()
        let checked = CheckedPath(path: group.path, checksAll: true)
        for (index, event) in events.enumerated() {
            source = event.first ?? index
            let failure = try attempt(event, checked, { body(index, $0) }) { (workspace: inout Workspace) throws(EvstoreError) in
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
            let failure = try attempt(events[index], checked, { body(index, $0) }) { (_: inout Workspace) in meeting.segment }
            if let failure { failed(index, failure) }
        }
    }

    /// Follows one event of an append, and returns why it has no image: the others may have theirs.
    private mutating func attempt(
        _ event: AppendedEvent, _ checked: CheckedPath, _ body: (borrowing Image) -> Void,
        from start: (inout Workspace) throws(EvstoreError) -> PathSegment
    ) throws -> ImageFailure? {
        run.begin()
        let context = EventContext(time: event.time, stream: event.stream, metadata: event.metadata.lent)
        do {
            let segment = try start(&self)
            try follow(segment, at: doc.root, checked, context, body)
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
        run.begin()
    }

    /// Joins the parts that wait at junctions, and follows what they become.
    private mutating func settle(
        _ checked: CheckedPath, _ context: borrowing EventContext, _ body: (borrowing Image) throws -> Void
    ) throws {
        while true {
            try flush { image, _ in try body(image) }
            guard let segment = try next(checked.path)?.segment else { return }
            try follow(segment, at: doc.root, checked, context, body)
        }
    }

    /// Hands over the images before which no part waits, each with the index of its event in the group.
    private mutating func flush(_ body: (borrowing Image, Int) throws -> Void) throws {
        while let (end, source) = waiting.nextImage(into: &output) {
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: output.bytes, part: part), source)
            part += 1
        }
    }

    private mutating func next(_ path: Path) throws(EvstoreError) -> PathMeeting? {
        do {
            let next = try waiting.next(&doc)
            origin = next?.origin
            return next
        } catch { throw path.malformed(error) }
    }

    private mutating func load(_ text: RawSpan, _ path: Path) throws(EvstoreError) {
        do { try doc.load(text) } catch { throw path.malformed(error) }
    }

    private mutating func follow(
        _ segment: PathSegment, at object: Splice.Node, _ checked: CheckedPath, _ context: borrowing EventContext,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        let path = checked.path
        guard try apply(segment, at: object, path, context) else { return }
        switch segment.next {
        case .end(let end):
            output.removeAll()
            doc.write(object, into: &output)
            if let fault = doc.fault { throw path.malformed(fault) }
            try checked.check(end, output.bytes)
            if !waiting.isEmpty { return waiting.add(end, output, from: source) }
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: output.bytes, part: part))
            part += 1
        case .dispatch(let dispatch):
            let branch = try choose(dispatch, at: object, path)
            try follow(branch, at: object, checked, context, body)
        case .fan(let fan):
            let start = fans.count
            doc.write(object, into: &fans)
            let end = fans.count
            let chosen = choose(fan, at: object, context)
            if chosen == 0 {
                throw path.failure(
                    step: path.target, op: "merge-events", pointer: "", expected: "members of one of the events it was merged from",
                    found: "none")
            }
            let outer = origin
            if outer?.step != fan.step {
                origin = PartOrigin(step: fan.step, number: parted)
                parted += 1
            }
            for (index, part) in fan.parts.enumerated() where chosen & 1 << UInt64(index) != 0 {
                let made = try pick(part.rule, start ..< end, path)
                try follow(part.segment, at: made, checked, context, body)
            }
            origin = outer
            fans.truncate(to: start)
        case .adoption(let adoption):
            guard let branch = choose(adoption, at: object, context) else {
                throw path.failure(
                    step: SchemaVersion(1), op: "adopt", pointer: "", expected: "data that a case of adopt takes", found: doc.words(object))
            }
            adopted = branch
            try follow(branch.segment, at: object, checked, context, body)
        case .junction(let junction, let arm): waiting.add(&doc, object, junction, arm, of: PartSource(event: source, origin: origin))
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
            do throws(OpStop) {
                if ops[index].streams == nil {
                    try apply(ops[index], at: object, context)
                } else {
                    let stream = try ops[index].stream(context.stream)
                    try apply(ops[index], at: object, EventContext(time: context.time, stream: stream, metadata: context.metadata))
                }
            } catch {
                switch error {
                case .hidden: return false
                case .programNeeded(let what): throw .programNeeded(what: what)
                case .failed(let pointer, let expected, let found, let byCodec):
                    var failure = ImageFailure(
                        type: path.type, born: path.born, target: path.target, step: ops[index].step, op: ops[index].label,
                        pointer: pointer, expected: expected, found: found)
                    failure.isByCodec = byCodec
                    throw .noImage(failure)
                }
            }
        }
        return true
    }

    private mutating func apply(_ op: PathOp, at object: Splice.Node, _ context: borrowing EventContext) throws(OpStop) {
        switch op.direction {
        case .up: try op.op.up(&doc, at: object, &run, context)
        case .down: try op.op.down(&doc, at: object, &run, context)
        }
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

    private mutating func choose(
        _ adoption: PathAdoption, at object: Splice.Node, _ context: borrowing EventContext
    ) -> PathAdoption.Branch? {
        for branch in adoption.branches where branch.test?.holds(&doc, at: object, &run, context) ?? true { return branch }
        return nil
    }

    /// Which parts there are, a bit for each; counts what none of them takes.
    private mutating func choose(_ fan: PathFan, at object: Splice.Node, _ context: borrowing EventContext) -> UInt64 {
        var chosen: UInt64 = 0
        for (index, part) in fan.parts.enumerated() {
            if part.rule.test?.holds(&doc, at: object, &run, context) ?? true {
                chosen |= 1 << UInt64(index)
            } else {
                for member in part.rule.exclusive {
                    guard let node = doc.find(member.pointer, from: object) else { continue }
                    if member.restored.map({ doc.equals(node, $0) }) != true { run.counts.lost += 1 }
                }
            }
        }
        for pointer in fan.unpicked where doc.find(pointer, from: object) != nil { run.counts.lost += 1 }
        return chosen
    }

    /// A new document with what a part takes.
    private mutating func pick(_ part: EventPart, _ whole: Range<Int>, _ path: Path) throws(EvstoreError) -> Splice.Node {
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
    mutating func load(_ buffer: borrowing ByteBuffer, _ range: Range<Int>) throws(JSONError) {
        try load(buffer.slice(range.lowerBound, range.count))
    }
}
