import JSONText

/// What an op on whole events means, said as plainly as can be, for events whose members lie side by side. It shares nothing with the
/// product but the type for JSON values.
enum NaiveEventOp {
    /// Another name for a member.
    case move(type: String, from: String, to: String)
    /// A new member of one value.
    case add(type: String, name: String, value: JSONValue)
    case rename(String, to: String)
    /// By the texts of a member, which is dropped.
    case dispatch(String, by: String, cases: [(value: String, type: String)])
    case drop(String)
    /// Hidden below where there are no parts.
    case addEvent(String, as: [Part])
    case split(String, into: [Part])
    /// Each type with all of its members, and one by which the merged event is known to hold it.
    case merge([(type: String, members: [String], own: String?)], into: String, on: [String])

    struct Part {
        enum Down {
            case whole(fills: [(name: String, value: JSONValue)])
            case hidden, blocked
        }

        var type: String
        var pick: [String]
        var moves: [(from: String, to: String)] = []
        var test: Test?
        var down = Down.hidden
    }

    struct Test {
        var name: String
        /// Nil: whether the member is there.
        var value: JSONValue?

        func holds(_ event: NaiveEvent) -> Bool { value.map { event[name] == $0 } ?? (event[name] != nil) }
    }
}

/// An event on its way.
struct NaiveEvent: Equatable {
    /// Which event of the append it was.
    var source = 0
    var type: String
    var members: [JSONValue.Member]
    /// The event of the step at hand that it is a part of.
    var origin: Int?

    subscript(name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    var payload: String { JSONValue.object(members).text }

    fileprivate mutating func set(_ name: String, to value: JSONValue) {
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].value = value
        } else {
            members.append(.init(name: name, value: value))
        }
    }

    fileprivate mutating func rename(_ old: String, to new: String) {
        guard let index = members.firstIndex(where: { $0.name == old }) else { return }
        members[index].name = new
    }

    fileprivate mutating func remove(_ name: String) { members.removeAll { $0.name == name } }

    fileprivate func part(_ part: NaiveEventOp.Part) -> NaiveEvent {
        var made = NaiveEvent(source: source, type: part.type, members: [], origin: origin)
        for name in part.pick { if let value = self[name] { made.set(name, to: value) } }
        return made
    }
}

/// What becomes of the events of one append, a step at a time.
struct NaivePassage {
    struct Refusal: Error {}

    var events: [NaiveEvent]
    private(set) var (lost, hidden, dropped) = (0, 0, 0)
    private var origins = 0

    init(_ events: [NaiveEvent]) { self.events = events }

    mutating func up(_ ops: [NaiveEventOp]) throws(Refusal) {
        forgetOrigins()
        for op in ops { try go(op, isUp: true) }
    }

    mutating func down(_ ops: [NaiveEventOp]) throws(Refusal) {
        forgetOrigins()
        for op in ops.reversed() { try go(op, isUp: false) }
    }

    private mutating func forgetOrigins() { for index in events.indices { events[index].origin = nil } }

    private mutating func go(_ op: NaiveEventOp, isUp: Bool) throws(Refusal) {
        switch (op, isUp) {
        case (.split(let type, let parts), false): return try join(parts, to: type)
        case (.merge(let types, let into, let on), true): return merge(types.map { ($0.type, $0.members) }, to: into, on: on)
        default: break
        }
        var made: [NaiveEvent] = []
        for event in events { made += isUp ? try up(event, op) : try down(event, op) }
        events = made
    }

    private mutating func up(_ event: NaiveEvent, _ op: NaiveEventOp) throws(Refusal) -> [NaiveEvent] {
        var event = event
        switch op {
        case .move(event.type, let from, let to): event.rename(from, to: to)
        case .add(event.type, let name, let value): event.set(name, to: value)
        case .rename(event.type, let type): event.type = type
        case .dispatch(event.type, let by, let cases):
            guard let type = cases.first(where: { .string($0.value) == event[by] })?.type else { throw Refusal() }
            event.type = type
            event.remove(by)
        case .drop(event.type):
            dropped += 1
            return []
        case .split(event.type, let parts):
            let chosen = parts.filter { $0.test?.holds(event) ?? true }
            lost += losses(of: event, parts, chosen)
            return made(of: event, chosen)
        default: break
        }
        return [event]
    }

    /// Members that no part takes that is made, unless the event that is made of the others again has their values.
    private func losses(of event: NaiveEvent, _ parts: [NaiveEventOp.Part], _ chosen: [NaiveEventOp.Part]) -> Int {
        event.members.count { member in
            if chosen.contains(where: { $0.pick.contains(member.name) }) { return false }
            for part in chosen.count == 1 ? chosen : parts {
                if case .whole(let fills) = part.down, let fill = fills.first(where: { $0.name == member.name }) {
                    return fill.value != member.value
                }
            }
            return true
        }
    }

    /// The parts of an event, with their moves done.
    private mutating func made(of event: NaiveEvent, _ parts: [NaiveEventOp.Part]) -> [NaiveEvent] {
        var event = event
        if event.origin == nil {
            origins += 1
            event.origin = origins
        }
        return parts.map { part in
            var made = event.part(part)
            for move in part.moves { made.rename(move.from, to: move.to) }
            return made
        }
    }

    private mutating func down(_ event: NaiveEvent, _ op: NaiveEventOp) throws(Refusal) -> [NaiveEvent] {
        var event = event
        switch op {
        case .move(event.type, let from, let to): event.rename(to, to: from)
        case .add(event.type, let name, let value):
            if let there = event[name], there != value { lost += 1 }
            event.remove(name)
        case .rename(let type, event.type): event.type = type
        case .dispatch(let type, let by, let cases):
            guard let one = cases.first(where: { $0.type == event.type }) else { break }
            event.type = type
            event.set(by, to: .string(one.value))
        case .addEvent(event.type, let parts):
            if parts.isEmpty {
                hidden += 1
                return []
            }
            return made(of: event, parts)
        case .merge(let types, event.type, _):
            let parts = types.filter { type in type.own.map { event[$0] != nil } ?? true }
            if parts.isEmpty { throw Refusal() }
            return made(of: event, parts.map { .init(type: $0.type, pick: $0.members) })
        default: break
        }
        return [event]
    }

    // MARK: Events that meet

    /// Those that meet next, by their places: of those that stand for arms, the ones that the step made of one event, else the first of
    /// each type that agree in a key.
    private func meeting(_ types: [String], on: [String]) -> [Int]? {
        let waiting = events.indices.filter { types.contains(events[$0].type) && !joined.contains($0) }
        func met(_ among: [Int]) -> [Int] {
            guard let first = among.first else { return [] }
            return among.reduce(into: []) { met, index in
                let agrees = on.allSatisfy { events[index][$0] == events[first][$0] }
                if agrees, !met.contains(where: { events[$0].type == events[index].type }) { met.append(index) }
            }
        }
        let kin = Dictionary(grouping: waiting.filter { events[$0].origin != nil }) { events[$0].origin }
        let own = kin.values.map(met).filter { $0.count > 1 }.min { $0[0] < $1[0] }
        return own ?? (waiting.isEmpty ? nil : met(waiting))
    }

    /// Places of events that have met and are not to meet again: a joined event may have a part's type.
    private var joined: Set<Int> = []

    /// Puts what met in the place of the first part of the last event among it.
    private mutating func replace(_ met: [Int], by event: NaiveEvent?) {
        let last = met.map { events[$0].source }.max()
        let place = met.first { events[$0].source == last } ?? met[0]
        let origins = met.map { events[$0].origin }
        var kept: [(event: NaiveEvent, isJoined: Bool)] = []
        for (index, old) in events.enumerated() {
            if index == place, var event {
                event.source = last ?? 0
                event.origin = origins.allSatisfy { $0 == origins[0] } ? origins[0] : nil
                kept.append((event, true))
            } else if !met.contains(index) {
                kept.append((old, joined.contains(index)))
            }
        }
        events = kept.map(\.event)
        joined = Set(kept.indices.filter { kept[$0].isJoined })
    }

    /// Part by part as they were appended, the members of each as its version declares them.
    private mutating func merge(_ types: [(name: String, members: [String])], to type: String, on: [String]) {
        joined = []
        while let met = meeting(types.map(\.name), on: on) {
            var whole = NaiveEvent(type: type, members: [])
            if met.count == 1 {
                whole.members = events[met[0]].members
            } else {
                for index in met {
                    for name in types.first(where: { $0.name == events[index].type })?.members ?? [] where whole[name] == nil {
                        if let value = events[index][name] { whole.set(name, to: value) }
                    }
                }
            }
            replace(met, by: whole)
        }
    }

    private mutating func join(_ parts: [NaiveEventOp.Part], to type: String) throws(Refusal) {
        joined = []
        for index in events.indices {
            guard let part = parts.first(where: { $0.type == events[index].type }) else { continue }
            for move in part.moves.reversed() { events[index].rename(move.to, to: move.from) }
        }
        while let met = meeting(parts.map(\.type), on: []) {
            let here = met.compactMap { index in parts.first { $0.type == events[index].type } }
            var whole = NaiveEvent(type: type, members: [])
            if met.count == 1 {
                whole.members = events[met[0]].members
                switch here[0].down {
                case .hidden:
                    hidden += 1
                    replace(met, by: nil)
                    continue
                case .blocked: throw Refusal()
                case .whole(let fills): for fill in fills where whole[fill.name] == nil { whole.set(fill.name, to: fill.value) }
                }
            } else {
                for (index, part) in zip(met, here) {
                    for name in part.pick where whole[name] == nil {
                        if let value = events[index][name] { whole.set(name, to: value) }
                    }
                }
                // A value stands in for what no part that is there could have brought.
                for part in parts {
                    guard case .whole(let fills) = part.down else { continue }
                    for fill in fills where whole[fill.name] == nil && !here.contains(where: { $0.pick.contains(fill.name) }) {
                        whole.set(fill.name, to: fill.value)
                    }
                }
            }
            replace(met, by: whole)
        }
    }
}
