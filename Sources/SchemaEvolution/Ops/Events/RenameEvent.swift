internal import Bytes
internal import EventModel
internal import JSONText

/// `rename-event {from, to}`, or by a member's value: `{from, by, to: {value: Type}}`, which drops the member.
struct RenameEvent: EventOp {
    static let name = "rename-event"

    enum Target: Sendable {
        case one(String)
        case dispatch(by: JSONPointer, cases: [(value: String, type: String)])
    }

    let from: String
    let target: Target

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("rename-event", allowing: ["from", "to", "by"])
        from = try arguments.required("from", of: "rename-event").text("from")
        let to = try arguments.required("to", of: "rename-event")
        guard let by = arguments.member("by") else {
            target = .one(try to.text("to"))
            return
        }
        var cases: [(value: String, type: String)] = []
        for member in try to.map("to") {
            let type = try member.value.text("the type of \(member.name)")
            if cases.contains(where: { $0.type.isSame(as: type) }) {
                throw member.value.problem(
                    "two values become \(type): on the way down the value would be ambiguous", rule: Rule.opArgument,
                    fix: "give each value a type of its own")
            }
            cases.append((member.name, type))
        }
        target = .dispatch(by: try by.pointer("by"), cases: cases)
    }

    /// Whether events of one type become events of several types.
    var dispatches: Bool { if case .dispatch = target { true } else { false } }

    var taken: [String] { [from] }

    var made: [String] {
        switch target {
        case .one(let type): [type]
        case .dispatch(_, let cases): cases.map(\.type)
        }
    }

    var reads: [JSONPointer] { if case .dispatch(let by, _) = target { [by] } else { [] } }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        switch (target, direction) {
        case (.one(let name), .up): return type.isSame(as: from) ? [EventEffect(type: name, words: "is called \(name)")] : nil
        case (.one(let name), .down): return type.isSame(as: name) ? [EventEffect(type: from, words: "is called \(from)")] : nil
        case (.dispatch(let by, let cases), .up):
            guard type.isSame(as: from) else { return nil }
            return cases.map { value, name in
                EventEffect(
                    type: name, words: "is \(name), where \(by) is \(quoted(value))",
                    effects: [OpEffect(.goes(by), "became the type \(name)")])
            }
        case (.dispatch(let by, let cases), .down):
            guard let (value, _) = cases.first(where: { $0.type.isSame(as: type) }) else { return nil }
            return [
                EventEffect(type: from, words: "is called \(from)", effects: [OpEffect(.appears(by), "is \(quoted(value)), for the type")])
            ]
        }
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        guard let state = site.require(from) else { return nil }
        site.types[from] = nil
        for type in made where !site.isFree(type) {
            site.types[from] = state
            return nil
        }
        switch target {
        case .one(let type):
            if type.isSame(as: from) {
                // A version that a store has registered keeps its ops.
                site.note(
                    Rule.idle, .warning, "rename-event from \(from) to itself does nothing",
                    fix: "take the rename-event out", repair: [site.mark.repair(.remove)])
            }
            site.types[type] = state
            return BoundEventOp(up: [Name(from): .becomes(type, change: nil)], down: [Name(type): .becomes(from, change: nil)])
        case .dispatch(let by, let cases):
            return dispatch(state, by: by, cases, &site)
        }
    }

    private func dispatch(
        _ state: StepContext.TypeState, by: JSONPointer, _ cases: [(value: String, type: String)], _ site: inout StepContext
    ) -> BoundEventOp? {
        guard let member = state.shape.shape(at: by) else { return site.refuse(Rule.noMember, "\(from) has no \(by)") }
        guard member.kind == .string, let values = member.enumeration, state.shape.isAlwaysPresent(at: by), !member.isNullable else {
            return site.refuse(
                Rule.wrongKind, "\(by) must be a required string with an enum, so that every event has a type",
                fix: "keep \(from) as one type, or give \(by) an enum in the version before")
        }
        let words = values.map(\.word)
        let missing = words.filter { word in !cases.contains { $0.value.isSame(as: word) } }
        if !missing.isEmpty {
            let free = site.names.filter { name in site.types[name] == nil && !cases.contains { $0.type.isSame(as: name) } }
            let meant = missing.map { word in
                (word: word, type: free.count == 1 ? free[0] : free.first { $0.lowercased().contains(word.lowercased()) })
            }
            site.note(
                Rule.upNotTotal, .error, "nothing says what events with \(by) = \(missing.joined(separator: ", ")) become",
                fix: "to: {\(meant.map { "\($0.word): \($0.type ?? "…")" }.joined(separator: ", "))}",
                repair: meant.compactMap { one in
                    one.type.map { site.mark.repair(.set(JSONValue.string($0).text), at: "*", "to", one.word) }
                })
        }
        for (value, type) in cases where !words.has(value) {
            site.note(
                Rule.idle, "\(by) is never \(quoted(value)), so there is no \(type)", fix: "take \(value) out of to",
                repair: site.mark.repair(.remove, at: "*", "to", value))
        }
        var bound = BoundEventOp()
        var branches: [DispatchCase] = []
        for (value, type) in cases {
            var place = BindingContext(
                shape: state.shape, stream: state.stream, shapeTargets: site.shapeTargets(type), type: type, mark: site.mark,
                label: site.label)
            if place.namesStream(by) || place.take(by) == nil {
                site.findings += place.findings
                return nil
            }
            site.types[type] = StepContext.TypeState(shape: place.shape, stream: state.stream, mayNarrow: true)
            guard let stand = MemberLocation(by, here: state.shape, there: place.shape) else { continue }
            let change = BoundDiscriminator(place: stand, value: JSONValue.string(value).canonical())
            branches.append(DispatchCase(value: Array(value.utf8), type: type, change: change))
            bound.down[type] = .becomes(from, change: change)
        }
        bound.up[from] = .dispatch(by: by, cases: branches)
        return bound
    }
}

/// Removes the member that selects the type on the way up, and restores it on the way down.
private final class BoundDiscriminator: StagedOp {
    let place: MemberLocation
    let value: [UInt8]

    init(place: MemberLocation, value: [UInt8]) { (self.place, self.value) = (place, value) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        switch direction {
        case .up: place.remove(from: &doc, at: object)
        case .down:
            if let holder = place.holder(in: &doc, at: object, forValue: true) { doc.set(place.name, of: holder, to: value) }
        }
    }
}
