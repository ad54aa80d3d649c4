internal import Bytes
internal import EventModel
internal import JSONText

/// `split-event {type, into: [{type, pick, when, do, down}], because}`: one event becomes several at one position.
///
/// On the way back, the parts of one event are joined again. Only a lone part uses its own `down`: `as` (the original event, with given
/// values for missing members: `{as: {/pointer: value}}`), `{hide: why}` or `block`.
struct SplitEvent: EventOp {
    static let name = "split-event"

    enum Down: Sendable {
        case alone(fills: [(pointer: JSONPointer, value: JSONValue)])
        case hide(why: String)
        case block
    }

    struct PartRule: Sendable {
        let type: String
        let pick: [JSONPointer]
        /// Selects the events that have the part, by their state before the split; nil selects all.
        let test: Guard?
        let entries: [OpEntry]
        let down: Down
        let mark: FileLocation

        /// `B, where /k is "b"`
        fileprivate var words: String { type + (test.map { ", where \($0.words())" } ?? "") }
    }

    let type: String
    let parts: [PartRule]
    /// The reason for losing members that no part takes.
    let because: String?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("split-event", allowing: ["type", "into", "because"])
        type = try arguments.required("type", of: "split-event").text("type")
        because = try arguments.member("because")?.text("because")
        var parts: [PartRule] = []
        for node in try arguments.required("into", of: "split-event").list("into") {
            let part = try PartRule(node)
            guard !parts.contains(where: { $0.type.isSame(as: part.type) }) else {
                throw node.problem("two parts are \(part.type): on the way down they would be ambiguous", rule: Rule.opArgument)
            }
            parts.append(part)
        }
        guard parts.contains(where: { $0.test == nil }), parts.count < 64 else {
            throw arguments.problem(
                "there must be a part without when, so that every event becomes one, and at most 63 parts", rule: Rule.opArgument)
        }
        self.parts = parts
    }

    var taken: [String] { [type] }

    var made: [String] { parts.map(\.type) }

    var loss: (type: String, why: String)? {
        if let because { return (type, because) }
        for part in parts { if case .hide(let why) = part.down { return (part.type, why) } }
        return nil
    }

    var inner: [OpEntry] { parts.flatMap(\.entries) }

    var reads: [JSONPointer] { parts.flatMap { $0.test?.reads ?? [] } }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        switch direction {
        case .up:
            guard type.isSame(as: self.type) else { return nil }
            let because = because.map { ": \($0)" } ?? ""
            return parts.map { part in
                EventEffect(
                    type: part.type, words: "is split: \(part.words)", pick: part.pick,
                    otherwise: { [parts] place in
                        let others = parts.filter { $0.pick.contains { place.hasPrefix($0) } }.map(\.words)
                        return others.isEmpty ? "is in no part\(because)" : "is in \(others.joined(separator: " and "))"
                    },
                    later: part.entries.flatMap { $0.op.effects(.up, in: JSONPointer()) })
            }
        case .down:
            guard let part = parts.first(where: { $0.type.isSame(as: type) }) else { return nil }
            let back = part.entries.reversed().flatMap { $0.op.effects(.down, in: JSONPointer()) }
            let joined = "is joined with the other parts to \(self.type)"
            let others = parts.filter { !$0.type.isSame(as: type) }.map { other in
                (type: other.type, effects: other.entries.reversed().flatMap { $0.op.effects(.down, in: JSONPointer()) })
            }
            let alone =
                switch part.down {
                case .alone: ""
                case .hide(let why): "; alone it is hidden: \(why)"
                case .block: "; alone it is refused"
                }
            let made = part.fills.map { OpEffect(.appears($0.pointer), "is \($0.value.text) where no part that is there has it") }
            return [EventEffect(type: self.type, words: joined + alone, effects: back, joined: others, later: made)]
        }
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        guard let state = site.require(type) else { return nil }
        let (mark, count) = (site.mark, site.findings.count)
        site.types[type] = nil
        for part in parts where !site.isFree(part.type) {
            site.types[type] = state
            return nil
        }
        var (up, arms): ([EventPart], [SplitArm]) = ([], [])
        for rule in parts {
            guard let (part, arm) = rule.bind(state, among: self, &site) else { continue }
            up.append(part)
            arms.append(arm)
        }
        site.mark = mark
        let losses = losses(of: state.shape)
        let unpicked = losses.filter { $0.takers == 0 }
        if !unpicked.isEmpty {
            site.opClass.insert(.narrow)
            site.require(
                reason: because, "no part takes \(unpicked.map(\.pointer.description).joined(separator: ", ")) and nothing says why",
                fix: "pick it in a part, or add because: \"…\"")
        }
        guard up.count == parts.count, !site.findings[count...].contains(where: { $0.severity == .error }) else { return nil }
        site.opClass.insert(.widen)
        if parts.contains(where: { $0.test != nil }) { site.opClass.insert(.partial) }
        let split = MultipartEvent(type: type, arms: arms)
        var bound = BoundEventOp(up: [Name(type): .parts(up, losses: losses)])
        for (index, part) in parts.enumerated() { bound.down[part.type] = .rejoin(split, arm: index) }
        return bound
    }

    /// The members that may be lost: those taken by no part or only by parts with a guard, each with the values that parts supply in its
    /// place.
    private func losses(of shape: Shape) -> [PartLoss] {
        let unguarded = bits { $0.test == nil }
        return shape.members(dividedBy: parts.flatMap { $0.pick + $0.fills.map(\.pointer) }).map { pointer in
            var loss = PartLoss(pointer: pointer, takers: bits { $0.pick.contains { pointer.hasPrefix($0) } })
            for (index, part) in parts.enumerated() {
                for fill in part.fills where pointer.tokens.first == fill.pointer.tokens.first {
                    let shared = zip(pointer.tokens, fill.pointer.tokens.dropLast()).prefix { $0 == $1 }.count
                    let isAround = pointer.hasPrefix(fill.pointer)
                    let value = isAround ? fill.value.value(at: pointer.tokens[fill.pointer.tokens.count...]) : nil
                    loss.fills.append(
                        .init(
                            part: index, takers: parts(within: fill.pointer), depth: isAround ? fill.pointer.tokens.count : 0,
                            shared: shared, value: value?.canonical()))
                }
            }
            return loss
        }.filter { $0.takers & unguarded == 0 }
    }

    /// The parts that take a member or something inside it, as a bit mask.
    fileprivate func parts(within pointer: JSONPointer) -> UInt64 {
        bits { $0.pick.contains { pointer.hasPrefix($0) || $0.hasPrefix(pointer) } }
    }

    private func bits(_ isChosen: (PartRule) -> Bool) -> UInt64 {
        parts.enumerated().reduce(0) { isChosen($1.element) ? $0 | 1 << UInt64($1.offset) : $0 }
    }
}

extension SplitEvent.PartRule {
    fileprivate var fills: [(pointer: JSONPointer, value: JSONValue)] {
        if case .alone(let fills) = down { fills } else { [] }
    }

    init(_ node: FileNode) throws(FileProblem) {
        try node.map("a part", allowing: ["type", "pick", "when", "do", "down"])
        type = try node.required("type", of: "a part").text("type")
        pick = try node.required("pick", of: "a part").pointers("pick")
        test = try node.member("when").map { node throws(FileProblem) in
            try node.map("when", allowing: Guard.members)
            return try Guard(node)
        }
        entries = try node.member("do").map { node throws(FileProblem) in try OpRegistry.nested(node) } ?? []
        down = try Self.down(try node.required("down", of: "a part"))
        mark = node.mark
    }

    private static func down(_ node: FileNode) throws(FileProblem) -> SplitEvent.Down {
        if case .string("block") = node.kind { return .block }
        if case .string("as") = node.kind { return .alone(fills: []) }
        let member = try OpRegistry.single(node, "down")
        switch member.name {
        case "hide": return .hide(why: try member.value.text("hide"))
        case "as":
            var fills: [(pointer: JSONPointer, value: JSONValue)] = []
            for fill in try member.value.map("as") {
                do { fills.append((try JSONPointer(fill.name), fill.value.constant)) } catch {
                    throw fill.problem("\(fill.name) is not a pointer: \(error.reason)", rule: Rule.opArgument)
                }
            }
            return .alone(fills: fills)
        default:
            throw member.problem("down is as, {as: {/member: value}}, {hide: why} or block", rule: Rule.opArgument)
        }
    }

    /// Binds the part to the shape of the event that is split.
    func bind(
        _ state: StepContext.TypeState, among split: SplitEvent, _ site: inout StepContext
    ) -> (EventPart, SplitArm)? {
        site.mark = mark
        let before = site.findings.count
        var picked = Shape.object([])
        for pointer in pick where !state.shape.pick(pointer.tokens[...], into: &picked) {
            return site.refuse(Rule.noMember, "\(split.type) has no \(pointer)")
        }
        if pick.contains(where: state.shape.mayBeEmpty(around:)) { site.opClass.insert(.partial) }
        if let test, case .pointer(let pointer) = test.source {
            if let tested = state.shape.shape(at: pointer) {
                site.check(test, in: tested)
            } else {
                site.note(Rule.noMember, "\(split.type) has no \(pointer)")
            }
        }
        let names = state.stream?.members ?? []
        let keepsStream = names.allSatisfy { name in pick.contains { name.hasPrefix($0) } }
        var inner = BindingContext(
            shape: picked, stream: keepsStream ? state.stream : nil, shapeTargets: [], type: type, mark: mark, label: site.label)
        var ops: [any BoundOp] = []
        for (index, entry) in entries.enumerated() {
            let later = entries[(index + 1)...].map(\.op)
            let shapeTargets = site.shapeTargets(type).map { ShapeTarget(declared: $0.declared, ops: later + $0.ops) }
            var at = BindingContext(
                shape: inner.shape, stream: inner.stream, shapeTargets: shapeTargets, type: type, mark: entry.mark,
                label: "\(site.label), \(entry.label)")
            // A guard may keep out the values that an op refuses.
            at.mayChange = site.mayChange && test == nil
            if let op = entry.op.bind(&at) { ops.append(op) }
            (inner.shape, inner.stream) = (at.shape, at.stream)
            inner.absorb(at)
        }
        site.findings += inner.findings
        site.opClass.formUnion(inner.opClass)
        let lone = bindDown(picked, state.shape, split, &site)
        guard !site.findings[before...].contains(where: { $0.severity == .error }) else { return nil }
        site.types[type] = StepContext.TypeState(shape: inner.shape, stream: inner.stream)
        let outermost = pick.filter { pointer in !pick.contains { $0 != pointer && pointer.hasPrefix($0) } }
        let places = outermost.compactMap { MemberLocation($0, here: picked, there: .object([])) }
        let part = EventPart(type: type, pick: places, moves: ops, isUnproved: inner.isUnproved, test: test)
        return (part, SplitArm(pick: places, ops: ops, lone: lone))
    }

    /// Whether the event that a lone part becomes has this part; nil where that depends on more than the values that the part supplies.
    private func isPartOfItself(_ fills: [(pointer: JSONPointer, value: JSONValue)]) -> Bool? {
        guard let test, case .pointer(let pointer) = test.source else { return nil }
        let known = pick + fills.map(\.pointer)
        if let fill = fills.first(where: { pointer.hasPrefix($0.pointer) }) {
            let value = fill.value.value(at: pointer.tokens[fill.pointer.tokens.count...])
            return value.map { test.test.holds(Array($0.text.utf8).lent) } ?? test.test.holdsWhereAbsent
        }
        return known.contains { pointer.hasPrefix($0) || $0.hasPrefix(pointer) } ? nil : test.test.holdsWhereAbsent
    }

    /// Whether the guard holds for each such part that version n allows, by the values that it declares for the member.
    private func holdsAlways(_ test: Guard, in targets: [ShapeTarget]) -> Bool {
        guard case .pointer(let pointer) = test.source else { return false }
        return targets.allSatisfy { target in
            let written = (entries.map(\.op) + target.ops).flatMap { $0.writes }
            guard !written.contains(where: { $0.hasPrefix(pointer) || pointer.hasPrefix($0) }),
                target.declared.isAlwaysPresent(at: pointer), let member = target.declared.shape(at: pointer)
            else { return false }
            let values = member.constant.map { [$0] } ?? member.enumeration ?? []
            return test.test == .exists(true) || !values.isEmpty && values.allSatisfy { test.test.holds(Array($0.text.utf8).lent) }
        }
    }

    private func bindDown(_ picked: Shape, _ whole: Shape, _ split: SplitEvent, _ site: inout StepContext) -> SplitArm.Lone {
        switch down {
        case .hide(let why):
            site.require(reason: why, "\(type) is hidden and nothing says why", fix: "down: {hide: \"…\"}")
            return .hidden(why: why)
        case .block: return .blocked(why: "a \(type) that stands alone is blocked below this version")
        case .alone(let fills):
            var filled = picked
            var places: [BoundFill.Value] = []
            for (pointer, value) in fills {
                guard let member = whole.shape(at: pointer), filled.shape(at: pointer) == nil else {
                    site.note(Rule.noMember, "as: \(pointer) must be a member of \(split.type) that \(type) lacks")
                    continue
                }
                if let why = member.rejection(of: value) {
                    site.note(Rule.downNotTotal, "as: \(pointer): \(value.text) does not fit: \(why.pointer) \(why.reason)")
                }
                if !whole.pick(pointer.tokens[...], into: &filled) { continue }
                guard let place = MemberLocation(pointer, here: filled, there: .object([])) else { continue }
                places.append(BoundFill.Value(place: place, text: Array(value.text.utf8), takers: split.parts(within: pointer)))
            }
            for difference in ShapeDifference.compare(filled, whole) {
                guard case .missing(required: true) = difference.kind else { continue }
                site.note(
                    Rule.downNotTotal, "a \(type) that stands alone has no \(difference.pointer) for \(split.type)",
                    fix: "down: {as: {\(difference.pointer): …}}, or {hide: \"…\"}")
            }
            let isPart = isPartOfItself(fills)
            if let test, isPart == nil, !holdsAlways(test, in: site.shapeTargets(type)) {
                site.note(
                    Rule.undecided, .warning,
                    "a \(type) that stands alone becomes a \(split.type) without this part, unless \(test.words())",
                    fix: "declare such values alone for the part, or down: {hide: \"…\"}")
            }
            if let test, isPart == false {
                site.note(
                    Rule.downNotTotal, .warning,
                    "a \(type) that stands alone becomes a \(split.type) without this part: as does not give what when asks for, "
                        + test.words(),
                    fix: "give as: {…} a value for which when holds, or down: {hide: \"…\"}")
            }
            return .alone(places.isEmpty ? nil : BoundFill(places))
        }
    }
}

extension JSONValue {
    fileprivate func value(at tokens: ArraySlice<MemberName>) -> JSONValue? {
        tokens.reduce(self) { (value: JSONValue?, name) in value?.member(name.text) }
    }
}

extension Shape {
    /// Whether an object around a member may be absent and may also be empty; these two states can't be distinguished when members are
    /// picked.
    func mayBeEmpty(around pointer: JSONPointer) -> Bool {
        pointer.prefixes.dropFirst().dropLast().contains { !isRequired(at: $0) && shape(at: $0)?.required.isEmpty == true }
    }

    /// The outermost members of which parts take, or supply values to, either everything or nothing.
    /// - Parameter named: the members that parts take or supply.
    func members(dividedBy named: [JSONPointer], at pointer: JSONPointer = JSONPointer()) -> [JSONPointer] {
        properties.flatMap { property in
            let member = pointer.appending(property.name)
            let isDivided = named.contains { $0 != member && $0.hasPrefix(member) }
            return isDivided ? property.shape.members(dividedBy: named, at: member) : [member]
        }
    }

    /// Copies a member, with the objects around it, into another shape. Returns false if the member does not exist.
    func pick(_ tokens: ArraySlice<MemberName>, into picked: inout Shape) -> Bool {
        guard let name = tokens.first?.text, let member = property(name) else { return false }
        let isRequired = required.contains(name)
        if tokens.count == 1 {
            picked.members.remove(name)
            picked.members.append(.init(name, member))
        } else {
            var object = picked.property(name) ?? .object([])
            guard member.kind == .object, member.pick(tokens.dropFirst(), into: &object) else { return false }
            picked.members.remove(name)
            picked.members.append(.init(name, object))
        }
        if isRequired { picked.required.insert(name) }
        return true
    }
}
