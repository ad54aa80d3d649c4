internal import EventModel
internal import JSONText

/// `merge-events {types, into, on}`: several events of one append, one of each type, become one event.
///
/// They must belong to the same stream and birth version, and have equal values in the members `on`, which are the only members that the
/// types share. The merged event has the position of the last one. On the way down, it becomes an event of each type whose members it
/// contains. An event without the others becomes one of the merged type by itself, if its members fit that type.
struct MergeEvents: EventOp {
    static let name = "merge-events"

    let types: [String]
    let into: String
    let on: [JSONPointer]

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("merge-events", allowing: ["types", "into", "on"])
        let list = try arguments.required("types", of: "merge-events")
        types = try list.texts("types")
        guard Set(of: types).count == types.count, (2 ... 63).contains(types.count) else {
            throw list.problem("2 to 63 types are merged, each named once", rule: Rule.opArgument)
        }
        into = try arguments.required("into", of: "merge-events").text("into")
        let keys = try arguments.required("on", of: "merge-events")
        if case .string = keys.kind { on = [try keys.pointer("on")] } else { on = try keys.pointers("on") }
        guard !on.isEmpty, on.allSatisfy({ $0.tokens.count == 1 }) else {
            throw keys.problem("on is a member at the top, or a list of such members", rule: Rule.opArgument)
        }
    }

    var taken: [String] { types }

    var made: [String] { [into] }

    var reads: [JSONPointer] { on }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        let key = on.map(\.description).joined(separator: ", ")
        switch direction {
        case .up:
            guard types.has(type) else { return nil }
            let others = types.filter { !$0.isSame(as: type) }
            let words =
                "is merged with \(others.joined(separator: ", ")) of its append and stream that has the same \(key); "
                + "alone it is \(into) where that requires no more, and refused otherwise"
            return [EventEffect(type: into, words: words, joined: others.map { ($0, []) })]
        case .down:
            guard type.isSame(as: into) else { return nil }
            return types.map { one in
                let others = types.filter { !$0.isSame(as: one) }.joined(separator: " or ")
                return EventEffect(
                    type: one, words: "is \(one) again, where it has what \(one) alone has and requires",
                    otherwise: { _ in "is in \(others)" }, isApart: true)
            }
        }
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        var states: [StepContext.TypeState] = []
        for type in types { if let state = site.require(type) { states.append(state) } }
        guard states.count == types.count else { return nil }
        let (all, count) = (site.types, site.findings.count)
        for type in types { site.types[type] = nil }
        var merged = Shape.object([], required: [])
        if site.isFree(into) {
            for (type, state) in zip(types, states) {
                if state.stream != states[0].stream {
                    site.note(
                        Rule.opArgument, "\(type) does not belong to the streams of \(types[0])",
                        fix: "events of one stream are merged: rekey before")
                }
                add(state.shape, of: type, to: &merged, &site)
            }
        }
        guard !site.findings[count...].contains(where: { $0.severity == .error }) else {
            site.types = all
            return nil
        }
        site.opClass.insert(.partial)
        site.types[into] = StepContext.TypeState(shape: merged, stream: states[0].stream, mayNarrow: true)
        let parts = zip(types, states).map { part($0, $1.shape) }
        let whole = MultipartEvent(
            type: into, arms: parts.map { SplitArm(pick: $0.pick, ops: [], lone: .alone(nil)) }, on: on)
        let keys = on.map(\.description).joined(separator: ", ")
        for part in parts where part.test == nil {
            site.note(
                Rule.undecided, .warning,
                "\(part.type) requires nothing beside \(keys) that tells whether \(into) holds one: on the way down every \(into) becomes one",
                fix: "require a member of \(part.type) in the version before")
        }
        let losses = parts.enumerated().flatMap { index, part in
            part.test == nil
                ? [] : part.pick.filter { !isKey($0.name.text) }.map { PartLoss(pointer: $0.pointer, takers: 1 << UInt64(index)) }
        }
        var bound = BoundEventOp(down: [Name(into): .parts(parts, losses: losses)])
        for (index, type) in types.enumerated() { bound.up[type] = .rejoin(whole, arm: index) }
        return bound
    }

    private func isKey(_ name: String) -> Bool { on.contains { $0.last?.text.isSame(as: name) ?? false } }

    private func add(_ shape: Shape, of type: String, to merged: inout Shape, _ site: inout StepContext) {
        for key in on where !shape.isAlwaysPresent(at: key) { site.note(Rule.noMember, "\(type) need not have \(key)") }
        for property in shape.properties {
            if let there = merged.property(property.name) {
                if !isKey(property.name) || there != property.shape {
                    site.note(
                        Rule.occupied, "\(type) and one before it both have /\(property.name)",
                        fix: "move one of them before, or merge on it")
                }
                continue
            }
            merged.members.append(property)
            if isKey(property.name) { merged.required.insert(property.name) }
        }
    }

    /// The part of a merged event that becomes an event of a type: it exists if the first member is present that this type requires and no
    /// other type has.
    private func part(_ type: String, _ shape: Shape) -> EventPart {
        let pointers = shape.properties.map { JSONPointer(tokens: [MemberName($0.name)]) }
        let own = shape.properties.first { shape.required.contains($0.name) && !isKey($0.name) }
        return EventPart(
            type: type, pick: pointers.compactMap { MemberLocation($0, here: shape, there: .object([])) }, moves: [], isUnproved: true,
            test: own.map { Guard(exists: JSONPointer(tokens: [MemberName($0.name)])) })
    }
}
