internal import EventModel
internal import JSONText

/// `add-event {type, down}`: a type that exists from version n on.
struct AddEvent: EventOp {
    static let name = "add-event"

    enum Down: Sendable {
        case hide(why: String)
        case block
        case parts([PartRule])
    }

    /// One of the events that the previous version sees in place of the new event.
    struct PartRule: Sendable {
        let type: String
        let pick: [JSONPointer]
        let moves: [(from: JSONPointer, path: JSONPointer)]
        let mark: FileLocation
    }

    let type: String
    let down: Down

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("add-event", allowing: ["type", "down"])
        type = try arguments.required("type", of: "add-event").text("type")
        let down = try arguments.required(
            "down", of: "add-event", choices: "{hide: why}, block or {as: [{type, pick, move}, …]}",
            guess: .object([.init(name: "hide", value: .string(unexplainedReason))]))
        if case .string("block") = down.kind {
            self.down = .block
            return
        }
        let member = try OpRegistry.single(down, "down")
        switch member.name {
        case "hide": self.down = .hide(why: try member.value.text("hide"))
        case "as":
            var parts: [PartRule] = []
            for node in try member.value.list("as") { parts.append(try PartRule(node)) }
            guard !parts.isEmpty else { throw member.problem("as is empty", rule: Rule.opArgument, fix: "down: {hide: why}") }
            self.down = .parts(parts)
        default:
            throw member.problem(
                "down is {hide: why}, block, or {as: [{type, pick, move}, …]}, not \(quoted(member.name))", rule: Rule.opArgument)
        }
    }

    var made: [String] { [type] }

    /// True for the new type and for those that the previous version sees in its place.
    func touches(_ type: String) -> Bool {
        if case .parts(let parts) = down, parts.contains(where: { $0.type.isSame(as: type) }) { return true }
        return type.isSame(as: self.type)
    }

    var loss: (type: String, why: String)? {
        if case .hide(let why) = down { (type, why) } else { nil }
    }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        guard direction == .down, type.isSame(as: self.type) else { return nil }
        switch down {
        case .hide(let why): return [EventEffect(type: nil, words: "is hidden: \(why)")]
        case .block: return [EventEffect(type: nil, words: "has no image: such events are refused while the older version is promised")]
        case .parts(let parts):
            return parts.map { part in
                EventEffect(
                    type: part.type, words: "is seen as \(part.type)", pick: part.pick, otherwise: { _ in "is not seen in \(part.type)" },
                    later: part.moves.map { OpEffect(.moves(from: $0.from, to: $0.path), "") })
            }
        }
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        guard site.isFree(type) else { return nil }
        guard let declared = site.declared(type) else {
            return site.refuse(
                Rule.noType, "the version does not declare \(type)", fix: "declare it under events:, or take the add-event out",
                repair: site.mark.repair(.remove))
        }
        site.opClass.insert(.widen)
        var bound = BoundEventOp()
        switch down {
        case .hide(let why):
            site.require(reason: why, "\(type) is hidden and nothing says why", fix: "down: {hide: \"…\"}", at: ["*", "down", "hide"])
            bound.down[type] = .hidden(why: why)
        case .block: bound.down[type] = .blocked(why: "\(type) is blocked below this version")
        case .parts(let rules):
            var parts: [EventPart] = []
            for rule in rules {
                if let part = rule.bind(declared, of: type, &site) { parts.append(part) }
            }
            guard parts.count == rules.count else { return nil }
            let picked = rules.flatMap(\.pick)
            let unpicked = declared.shape.members(dividedBy: picked).filter { member in !picked.contains { member.hasPrefix($0) } }
            bound.down[type] = .parts(parts, losses: unpicked.map { PartLoss(pointer: $0) })
        }
        site.types[type] = StepContext.TypeState(shape: declared.shape, stream: declared.stream)
        return bound
    }
}

extension AddEvent.PartRule {
    init(_ node: FileNode) throws(FileProblem) {
        try node.map("a part", allowing: ["type", "pick", "move"])
        type = try node.required("type", of: "a part").text("type")
        var pick = try node.member("pick")?.pointers("pick") ?? []
        var moves: [(from: JSONPointer, path: JSONPointer)] = []
        for member in try node.member("move")?.map("move") ?? [] {
            let from: JSONPointer
            do { from = try JSONPointer(member.name) } catch {
                throw member.problem("\(member.name) is not a pointer", rule: Rule.opArgument, fix: "begin it with a slash")
            }
            moves.append((from, try member.value.pointer("move")))
        }
        // Moved members are picked as well.
        for move in moves where !pick.contains(where: { move.from.hasPrefix($0) }) { pick.append(move.from) }
        (self.pick, self.moves, mark) = (pick, moves, node.mark)
    }

    /// Binds the part to the shape of the new type and to that of an old one.
    func bind(_ declared: EventShape, of owner: String, _ site: inout StepContext) -> EventPart? {
        site.mark = mark
        let whole = declared.shape
        guard let state = site.require(type) else { return nil }
        var picked = Shape.object([])
        for pointer in pick {
            guard whole.pick(pointer.tokens[...], into: &picked) else {
                let known = whole.pointers { _ in true }.map(\.description)
                let meant = nearest(to: pointer.description, among: known)
                return site.refuse(
                    Rule.noMember, "\(owner) has no \(pointer)",
                    fix: meant.map { "did you mean \($0)?" } ?? "there are: \(known.joined(separator: " "))",
                    repair: meant.map { mark.repair(.swap(pointer.description, JSONValue.string($0).text)) })
            }
        }
        if pick.contains(where: whole.mayBeEmpty(around:)) { site.opClass.insert(.partial) }
        var inner = BindingContext(
            shape: picked, stream: declared.stream, shapeTargets: [ShapeTarget(declared: state.shape, ops: [])], type: owner, mark: mark,
            label: site.label)
        var bound: [any BoundOp] = []
        for move in moves {
            if let op = Move(from: move.from, path: move.path).bind(&inner) { bound.append(op) }
        }
        if let own = state.stream, inner.stream != own {
            let streams = inner.stream.map { "of streams \(quoted($0.description))" } ?? "of any stream"
            site.note(
                Rule.opArgument, site.mayChange ? .error : .warning,
                "\(owner) is \(streams), and \(type) of \(quoted(own.description)): the version before would refuse it there",
                fix: "show it as a type of its own streams, or down: {hide: \"…\"}")
        }
        for difference in ShapeDifference.compare(inner.shape, state.shape) {
            switch difference.kind {
            case .wider, .stream, .missing(required: false): break
            case .narrower: inner.mayFail()
            case .missing(required: true), .extra, .type, .format:
                inner.note(
                    Rule.downNotTotal, "as \(type): \(difference.pointer): \(difference.words)",
                    fix: "pick and move what \(type) needs, and nothing else",
                    repair: whole.shape(at: difference.pointer) != nil && difference.kind == .missing(required: true)
                        ? mark.repair(.append(JSONValue.string(difference.pointer.description).text), at: "pick") : nil)
            }
        }
        site.findings += inner.findings
        site.opClass.formUnion(inner.opClass)
        guard !inner.findings.contains(where: { $0.severity == .error }) else { return nil }
        return EventPart(
            type: type, pick: pick.compactMap { MemberLocation($0, here: picked, there: .object([])) }, moves: bound,
            isUnproved: inner.isUnproved)
    }
}
