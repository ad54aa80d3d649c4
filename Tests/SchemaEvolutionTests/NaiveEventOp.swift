import JSONText

/// What an op on whole events means, said as plainly as can be, for events whose members are scalars, or objects of scalars. It shares
/// nothing with the product but the type for JSON values. A member is named `m1`, one within an object `o1/m2`.
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
        /// What older versions see of one that stands alone.
        enum Down {
            case whole(fills: [(name: String, value: JSONValue)])
            case hidden, blocked
        }

        var type: String
        var pick: [String]
        var moves: [(from: String, to: String)] = []
        var test: Test?
        var down = Down.hidden
        /// The objects that the whole event always has, of which the part picks members.
        var objects: [String] = []

        fileprivate var fills: [(name: String, value: JSONValue)] {
            if case .whole(let fills) = down { fills } else { [] }
        }

        fileprivate func takes(_ name: String) -> Bool { pick.contains { name.lies(in: $0) } }
    }

    struct Test {
        var name: String
        /// Nil: whether the member is there.
        var value: JSONValue? = nil

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

    subscript(name: String) -> JSONValue? {
        name.split(separator: "/").reduce(JSONValue.object(members)) { (value: JSONValue?, name) in
            if case .object? = value { value?.member(String(name)) } else { nil }
        }
    }

    var payload: String { JSONValue.object(members).text }

    fileprivate mutating func set(_ name: String, to value: JSONValue) {
        let names = name.split(separator: "/").map(String.init)
        members = members.setting(names[0], to: names.count == 1 ? value : .object(inner(names[0]).setting(names[1], to: value)))
    }

    private func inner(_ name: String) -> [JSONValue.Member] { if case .object(let inner)? = self[name] { inner } else { [] } }

    fileprivate mutating func rename(_ old: String, to new: String) {
        guard let index = members.firstIndex(where: { $0.name == old }) else { return }
        members[index].name = new
    }

    fileprivate mutating func remove(_ name: String) { members.removeAll { $0.name == name } }

    /// Takes over what a part picks that is not here yet, and the objects around it; and an object as a whole of which others took members.
    fileprivate mutating func take(_ part: NaiveEventOp.Part, from event: NaiveEvent, after taken: [String] = []) {
        for name in part.pick where self[name] == nil || taken.contains(where: { $0.outer == name }) && !taken.contains(name) {
            if let value = event[name] {
                set(name, to: value)
            } else if let object = name.outer, part.objects.contains(object), self[object] == nil {
                set(object, to: .object([]))
            }
        }
    }

    fileprivate func part(_ part: NaiveEventOp.Part) -> NaiveEvent {
        var made = NaiveEvent(source: source, type: part.type, members: [], origin: origin)
        made.take(part, from: self)
        return made
    }

    /// The event that parts of it make again, each with what it picked.
    fileprivate static func joining(
        _ there: [(part: NaiveEventOp.Part, event: NaiveEvent)], of all: [NaiveEventOp.Part], _ type: String
    )
        -> NaiveEvent
    {
        var whole = NaiveEvent(type: type, members: [])
        for (index, (part, event)) in there.enumerated() {
            whole.take(part, from: event, after: there[..<index].flatMap(\.part.pick))
        }
        // A value stands in for what no part that is there could have brought, nor anything in it or around it.
        for fill in all.flatMap(\.fills) where whole[fill.name] == nil {
            let isPicked = there.contains { $0.part.pick.contains { fill.name.lies(in: $0) || $0.lies(in: fill.name) } }
            if !isPicked { whole.set(fill.name, to: fill.value) }
        }
        return whole
    }
}

extension String {
    /// Whether a member is another or lies in that.
    fileprivate func lies(in other: String) -> Bool { self == other || hasPrefix(other + "/") }

    fileprivate var outer: String? { contains("/") ? String(prefix { $0 != "/" }) : nil }
}

extension [JSONValue.Member] {
    fileprivate func setting(_ name: String, to value: JSONValue) -> [JSONValue.Member] {
        guard let index = firstIndex(where: { $0.name == name }) else { return self + [.init(name: name, value: value)] }
        var members = self
        members[index].value = value
        return members
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

    /// Members that no part takes that is made, unless they are there again when these parts become the event.
    private func losses(of event: NaiveEvent, _ parts: [NaiveEventOp.Part], _ chosen: [NaiveEventOp.Part]) -> Int {
        let there = chosen.map { (part: $0, event: event.part($0)) }
        var back: NaiveEvent? = there.count == 1 ? there[0].event : NaiveEvent.joining(there, of: parts, event.type)
        if there.count == 1 {
            if case .whole = chosen[0].down {
                for fill in chosen[0].fills where back?[fill.name] == nil { back?.set(fill.name, to: fill.value) }
            } else {
                back = nil
            }
        }
        return names(of: event, dividedBy: parts).count { name in
            !chosen.contains { $0.takes(name) } && !isSame(back?[name], event[name])
        }
    }

    /// The members of an event; objects of which parts take, or give, something count by their members.
    private func names(of event: NaiveEvent, dividedBy parts: [NaiveEventOp.Part]) -> [String] {
        let named = parts.flatMap { $0.pick + $0.fills.map(\.name) }
        return event.members.flatMap { member -> [String] in
            guard named.contains(where: { $0.outer == member.name }), case .object(let inner) = member.value else { return [member.name] }
            return inner.map { "\(member.name)/\($0.name)" }
        }
    }

    private func isSame(_ one: JSONValue?, _ other: JSONValue?) -> Bool {
        if let one, let other { one.isSame(other) } else { one == nil && other == nil }
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
            lost += names(of: event, dividedBy: parts).count { name in !parts.contains { $0.takes(name) } }
            return made(of: event, parts)
        case .merge(let types, event.type, let on):
            let parts = types.filter { type in type.own.map { event[$0] != nil } ?? true }
            if parts.isEmpty { throw Refusal() }
            let others = types.filter { type in !parts.contains { $0.type == type.type } }.flatMap(\.members)
            lost += others.count { !on.contains($0) && event[$0] != nil }
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
            guard met.count == 1 else {
                replace(met, by: NaiveEvent.joining(zip(here, met).map { ($0, events[$1]) }, of: parts, type))
                continue
            }
            var whole = NaiveEvent(type: type, members: events[met[0]].members)
            switch here[0].down {
            case .hidden:
                hidden += 1
                replace(met, by: nil)
                continue
            case .blocked: throw Refusal()
            case .whole(let fills): for fill in fills where whole[fill.name] == nil { whole.set(fill.name, to: fill.value) }
            }
            replace(met, by: whole)
        }
    }
}
