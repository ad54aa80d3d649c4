import JSONText
import TestSupport

@testable import SchemaEvolution

/// Random versions whose steps are ops on whole events, each as YAML and as the oracle takes it.
struct NaiveEventMaker: RandomNumberGenerator {
    struct Member {
        enum Kind: String { case string, integer, choice, object }

        var name: String
        var kind: Kind
        var isRequired: Bool
        /// Of an object.
        var inner: [Member] = []

        /// As a property of a shape.
        var words: String {
            switch kind {
            case .choice: "\(name): {type: string, enum: [in, out]}"
            case .object: "\(name): {type: object, \(inner.words)}"
            case .string, .integer: "\(name): {type: \(kind)}"
            }
        }
    }

    typealias Types = [String: [Member]]

    /// What each version declares, beginning with the first.
    private(set) var versions: [Types] = []
    /// The ops that lead to each version from the second on.
    private(set) var steps: [[NaiveEventOp]] = []
    private(set) var history = History.empty
    private var texts: [String] = []
    private var types: Types = [:]
    /// Types that a merge made in this step: the version may say which of their members they always have.
    private var merged: [String] = []
    /// Members that are new in this step. Whether a type always has one is for the version to say, so it has to declare the type.
    private var added: Set<String> = []
    private var numbers: SeededGenerator
    private var made = 0

    init(seed: UInt64, versions count: Int) throws {
        numbers = SeededGenerator(seed: seed)
        for type in ["A", "B", "C"] { types[type] = [id] + (0 ... 2).map { _ in member() } }
        versions = [types]
        texts = [text([])]
        history = try SchemaEvolutionTests.history(texts)
        while texts.count < count {
            let before = self
            var (ops, items): ([NaiveEventOp], [String]) = ([], [])
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &self) {
                if let (op, words) = change() {
                    ops.append(op)
                    items.append(words)
                }
            }
            for type in merged { types[type] = types[type]?.map { narrowed($0) } }
            (merged, added) = ([], [])
            let next = texts + [text(items)]
            // Not all that is thrown together makes sense.
            if let history = Self.checked(next) {
                (texts, self.history) = (next, history)
                versions.append(types)
                steps.append(ops)
            } else {
                let numbers = numbers
                self = before
                self.numbers = numbers
            }
        }
    }

    mutating func next() -> UInt64 { numbers.next() }

    private static func checked(_ texts: [String]) -> History? {
        do {
            let history = try SchemaEvolutionTests.history(texts)
            return history.check().errors.isEmpty ? history : nil
        } catch { return nil }
    }

    var words: String { texts.joined(separator: "\n---\n") }

    // MARK: Events

    mutating func event(at version: Int, source: Int) -> NaiveEvent {
        let type = versions[version - 1].keys.sorted().randomElement(using: &self) ?? ""
        return NaiveEvent(source: source, type: type, members: values(versions[version - 1][type] ?? []))
    }

    private mutating func values(_ members: [Member]) -> [JSONValue.Member] {
        var made: [JSONValue.Member] = []
        for member in members where member.isRequired || Bool.random(using: &self) {
            made.append(.init(name: member.name, value: member.name == "id" ? .string(oneIn(3) ? "2" : "1") : value(member)))
        }
        if oneIn(3) { made.shuffle(using: &self) }
        return made
    }

    /// A value of a version file, where the members of objects stand in the order of their names.
    private mutating func constant(_ member: Member) -> JSONValue {
        let value = value(member)
        if case .object(let members) = value { return .object(members.sorted { $0.name < $1.name }) }
        return value
    }

    private mutating func value(_ member: Member) -> JSONValue {
        switch member.kind {
        case .object: .object(values(member.inner))
        case .string: .string(["", "x", "yy"].randomElement(using: &self) ?? "")
        case .integer: .number(["0", "7", "-3"].randomElement(using: &self) ?? "0")
        case .choice: .string(Bool.random(using: &self) ? "in" : "out")
        }
    }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &self) == 0 }

    // MARK: Versions

    private var id: Member { Member(name: "id", kind: .string, isRequired: true) }

    private mutating func name(_ prefix: String) -> String {
        made += 1
        return "\(prefix)\(made)"
    }

    private mutating func member(isScalar: Bool = false) -> Member {
        if !isScalar, oneIn(4) {
            let inner = (0 ... 1).map { _ in member(isScalar: true) }
            return Member(name: name("o"), kind: .object, isRequired: Bool.random(using: &self), inner: inner)
        }
        let kind: Member.Kind = oneIn(3) ? .choice : oneIn(2) ? .integer : .string
        return Member(name: name("m"), kind: kind, isRequired: Bool.random(using: &self))
    }

    private mutating func narrowed(_ member: Member) -> Member {
        var member = member
        if oneIn(3) { member.isRequired = true }
        return member
    }

    private func text(_ items: [String]) -> String {
        let events = types.sorted { $0.key < $1.key }.map { type, members in "  \(type): {\(members.words)}" }
        let upcast = items.isEmpty ? "" : "forward: 1\nupcast:\n" + items.map { "  - \($0)\n" }.joined()
        return "\(upcast)events:\n\(events.joined(separator: "\n"))"
    }

    private mutating func change() -> (NaiveEventOp, String)? {
        guard let type = types.keys.sorted().randomElement(using: &self), let members = types[type] else { return nil }
        switch Int.random(in: 0 ..< 12, using: &self) {
        case 0:
            guard let index = members.indices.dropFirst().randomElement(using: &self) else { return nil }
            let (old, new) = (members[index].name, name("m"))
            types[type] = moved(members, index, to: new)
            return (.move(type: type, from: old, to: new), "{on: \(type), do: [{move: {from: /\(old), path: /\(new)}}]}")
        case 1:
            var new = member(isScalar: true)
            new.isRequired = true
            let value = value(new)
            types[type]?.append(new)
            added.insert(new.name)
            let words = "{on: \(type), do: [{add: {path: /\(new.name), value: \(value.text)}}]}"
            return (.add(type: type, name: new.name, value: value), words)
        case 2:
            let new = name("R")
            types[new] = types.removeValue(forKey: type)
            return (.rename(type, to: new), "{rename-event: {from: \(type), to: \(new)}}")
        case 3: return dispatch(type, members)
        case 4 where types.count > 2:
            types[type] = nil
            return (.drop(type), "{drop-event: {type: \(type), because: old}}")
        case 5, 6: return addEvent()
        case 7, 8, 9: return split(type, members)
        default:
            let others = types.keys.filter { $0 != type }.sorted()
            guard let other = others.randomElement(using: &self) else { return nil }
            return merge([type, other])
        }
    }

    /// A member that is moved becomes the last that its type has.
    private func moved(_ members: [Member], _ index: Int, to name: String) -> [Member] {
        var (members, member) = (members, members[index])
        members.remove(at: index)
        member.name = name
        return members + [member]
    }

    private mutating func dispatch(_ type: String, _ members: [Member]) -> (NaiveEventOp, String)? {
        guard let by = members.first(where: { $0.kind == .choice && $0.isRequired }) else { return nil }
        let (one, two) = (oneIn(2) ? type : name("D"), name("D"))
        types[type] = nil
        for new in [one, two] { types[new] = members.filter { $0.name != by.name } }
        return (
            .dispatch(type, by: by.name, cases: [("in", one), ("out", two)]),
            "{rename-event: {from: \(type), by: /\(by.name), to: {in: \(one), out: \(two)}}}"
        )
    }

    /// A new type, hidden below or seen as some of the others, maybe several of one.
    private mutating func addEvent() -> (NaiveEventOp, String)? {
        let new = name("N")
        var (parts, words, members): ([NaiveEventOp.Part], [String], [Member]) = ([], [], [id])
        for _ in 0 ..< Int.random(in: 0 ... 3, using: &self) {
            guard let type = types.keys.sorted().randomElement(using: &self) else { return nil }
            var part = NaiveEventOp.Part(type: type, pick: ["id"])
            for member in (types[type] ?? []).dropFirst() where member.isRequired || oneIn(2) {
                // Two parts may take the same one.
                let known = members.dropFirst().filter {
                    $0.kind == member.kind && $0.isRequired == member.isRequired && member.kind != .object
                }
                let taken = Set(part.pick)
                var own = Member(name: name("m"), kind: member.kind, isRequired: member.isRequired, inner: member.inner)
                if oneIn(3), let shared = known.filter({ !taken.contains($0.name) }).randomElement(using: &self) {
                    own = shared
                } else {
                    members.append(own)
                }
                part.pick.append(own.name)
                part.moves.append((own.name, member.name))
            }
            let moves = part.moves.map { "/\($0.from): /\($0.to)" }.joined(separator: ", ")
            parts.append(part)
            words.append("{type: \(type), pick: [/id], move: {\(moves)}}")
        }
        types[new] = members + [member()]
        added.formUnion(types[new, default: []].dropFirst().map(\.name))
        let down = parts.isEmpty ? "{hide: new}" : "{as: [\(words.joined(separator: ", "))]}"
        return (.addEvent(new, as: parts), "{add-event: {type: \(new), down: \(down)}}")
    }

    private mutating func split(_ type: String, _ members: [Member]) -> (NaiveEventOp, String)? {
        var (parts, words, made): ([NaiveEventOp.Part], [String], Types) = ([], [], [:])
        let count = Int.random(in: 2 ... 3, using: &self)
        // Objects to which parts give members, and not the whole: what two parts give lies side by side.
        let divided = members.filter { $0.kind == .object && oneIn(2) }.map(\.name)
        for number in 0 ..< count {
            let name = number == 0 && oneIn(2) ? type : name("S")
            var part = NaiveEventOp.Part(type: name, pick: ["id"])
            var own = [id] + members.dropFirst().compactMap { picked($0, &part) }
            var text = "type: \(name), pick: [\(part.pick.map { "/\($0)" }.joined(separator: ", "))]"
            if number > 0, oneIn(2), let test = test(members) {
                part.test = test
                text += ", when: {path: /\(test.name), \(test.value.map { "equals: \($0.text)" } ?? "exists: true")}"
            }
            if let index = own.indices.dropFirst().first(where: { part.pick.contains(own[$0].name) }), oneIn(3) {
                let (old, new) = (own[index].name, self.name("m"))
                part.moves = [(old, new)]
                text += ", do: [{move: {from: /\(old), path: /\(new)}}]"
                own = moved(own, index, to: new)
            }
            text += ", down: \(down(of: &part, members, divided))"
            parts.append(part)
            words.append("{\(text)}")
            made[name] = own
        }
        types[type] = nil
        types.merge(made) { _, new in new }
        return (
            .split(type, into: parts), "{split-event: {type: \(type), because: unread, into: [\(words.joined(separator: ", "))]}}"
        )
    }

    /// What a part takes of a member: nothing, all of it, or some of an object.
    private mutating func picked(_ member: Member, _ part: inout NaiveEventOp.Part) -> Member? {
        if oneIn(2) { return nil }
        var member = member
        if member.kind == .object, oneIn(2) {
            member.inner = member.inner.filter { _ in oneIn(2) }
            if member.inner.isEmpty { return nil }
            part.pick += member.inner.map { "\(member.name)/\($0.name)" }
            if member.isRequired { part.objects.append(member.name) }
        } else {
            part.pick.append(member.name)
        }
        return member
    }

    private mutating func test(_ members: [Member]) -> NaiveEventOp.Test? {
        guard let member = members.dropFirst().randomElement(using: &self) else { return nil }
        if member.kind == .object {
            guard let inner = member.inner.randomElement(using: &self), oneIn(2) else { return .init(name: member.name) }
            return .init(name: "\(member.name)/\(inner.name)", value: oneIn(2) ? value(inner) : nil)
        }
        return .init(name: member.name, value: oneIn(2) ? value(member) : nil)
    }

    private mutating func down(of part: inout NaiveEventOp.Part, _ members: [Member], _ divided: [String]) -> String {
        let isFilled = members.allSatisfy { member in
            divided.contains(member.name) || !part.pick.contains { $0.hasPrefix("\(member.name)/") }
        }
        if !isFilled || oneIn(4) {
            part.down = oneIn(3) ? .blocked : .hidden
            return part.down.isBlocked ? "block" : "{hide: part}"
        }
        var fills: [(name: String, value: JSONValue)] = []
        for member in members where !part.pick.contains(member.name) {
            if divided.contains(member.name) {
                for inner in member.inner where !part.pick.contains("\(member.name)/\(inner.name)") && (inner.isRequired || oneIn(2)) {
                    fills.append(("\(member.name)/\(inner.name)", constant(inner)))
                }
            } else if member.isRequired || oneIn(2) {
                fills.append((member.name, constant(member)))
            }
        }
        part.down = .whole(fills: fills)
        return fills.isEmpty ? "as" : "{as: {\(fills.map { "/\($0.name): \($0.value.text)" }.joined(separator: ", "))}}"
    }

    private mutating func merge(_ names: [String]) -> (NaiveEventOp, String)? {
        let all = names.map { types[$0] ?? [] }
        guard Set(all[0].map(\.name)).intersection(all[1].map(\.name)) == ["id"], added.isDisjoint(with: all.joined().map(\.name)) else {
            return nil
        }
        let into = name("M")
        let parts = zip(names, all).map { type, members in
            (type: type, members: members.map(\.name), own: members.first { $0.isRequired && $0.name != "id" }?.name)
        }
        for type in names { types[type] = nil }
        types[into] =
            [id] + all.joined().filter { $0.name != "id" }.map { .init(name: $0.name, kind: $0.kind, isRequired: false, inner: $0.inner) }
        merged.append(into)
        return (
            .merge(parts, into: into, on: ["id"]), "{merge-events: {types: [\(names.joined(separator: ", "))], into: \(into), on: /id}}"
        )
    }
}

extension [NaiveEventMaker.Member] {
    fileprivate var words: String {
        let required = filter(\.isRequired).map(\.name).joined(separator: ", ")
        return "required: [\(required)], properties: {\(map(\.words).joined(separator: ", "))}"
    }
}

extension NaiveEventOp.Part.Down {
    fileprivate var isBlocked: Bool { if case .blocked = self { true } else { false } }
}
