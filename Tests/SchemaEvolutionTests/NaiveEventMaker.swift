import JSONText
import TestSupport

@testable import SchemaEvolution

/// Random versions whose steps are ops on whole events, each as YAML and as the oracle takes it.
struct NaiveEventMaker: RandomNumberGenerator {
    struct Member {
        enum Kind: String { case string, integer, choice }

        var name: String
        var kind: Kind
        var isRequired: Bool
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
        var members: [JSONValue.Member] = []
        for member in versions[version - 1][type] ?? [] where member.isRequired || Bool.random(using: &self) {
            members.append(.init(name: member.name, value: member.name == "id" ? .string(oneIn(3) ? "2" : "1") : value(member.kind)))
        }
        if oneIn(3) { members.shuffle(using: &self) }
        return NaiveEvent(source: source, type: type, members: members)
    }

    private mutating func value(_ kind: Member.Kind) -> JSONValue {
        switch kind {
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

    private mutating func member() -> Member {
        let kind: Member.Kind = oneIn(3) ? .choice : oneIn(2) ? .integer : .string
        return Member(name: name("m"), kind: kind, isRequired: Bool.random(using: &self))
    }

    private mutating func narrowed(_ member: Member) -> Member {
        var member = member
        if oneIn(3) { member.isRequired = true }
        return member
    }

    private func text(_ items: [String]) -> String {
        let events = types.sorted { $0.key < $1.key }.map { type, members in
            let properties = members.map { "\($0.name): \($0.kind == .choice ? "{type: string, enum: [in, out]}" : "{type: \($0.kind)}")" }
            let required = members.filter(\.isRequired).map(\.name).joined(separator: ", ")
            return "  \(type): {required: [\(required)], properties: {\(properties.joined(separator: ", "))}}"
        }
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
            var new = member()
            new.isRequired = true
            let value = value(new.kind)
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
                let known = members.dropFirst().filter { $0.kind == member.kind && $0.isRequired == member.isRequired }
                let taken = Set(part.pick)
                var own = Member(name: name("m"), kind: member.kind, isRequired: member.isRequired)
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
        for number in 0 ..< count {
            let name = number == 0 && oneIn(2) ? type : name("S")
            var own = [id] + members.dropFirst().filter { _ in oneIn(2) }
            var part = NaiveEventOp.Part(type: name, pick: own.map(\.name))
            var text = "type: \(name), pick: [\(own.map { "/\($0.name)" }.joined(separator: ", "))]"
            if number > 0, oneIn(2), let member = members.dropFirst().randomElement(using: &self) {
                let value = oneIn(2) ? value(member.kind) : nil
                part.test = .init(name: member.name, value: value)
                text += ", when: {path: /\(member.name), \(value.map { "equals: \($0.text)" } ?? "exists: true")}"
            }
            if own.count > 1, oneIn(3) {
                let new = self.name("m")
                part.moves = [(own[1].name, new)]
                text += ", do: [{move: {from: /\(own[1].name), path: /\(new)}}]"
                own = moved(own, 1, to: new)
            }
            text += ", down: \(down(of: &part, members))"
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

    private mutating func down(of part: inout NaiveEventOp.Part, _ members: [Member]) -> String {
        if oneIn(4) {
            part.down = oneIn(3) ? .blocked : .hidden
            return part.down.isBlocked ? "block" : "{hide: part}"
        }
        var fills: [(name: String, value: JSONValue)] = []
        for member in members where !part.pick.contains(member.name) && (member.isRequired || oneIn(2)) {
            fills.append((member.name, value(member.kind)))
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
        types[into] = [id] + all.joined().filter { $0.name != "id" }.map { .init(name: $0.name, kind: $0.kind, isRequired: false) }
        merged.append(into)
        return (
            .merge(parts, into: into, on: ["id"]), "{merge-events: {types: [\(names.joined(separator: ", "))], into: \(into), on: /id}}"
        )
    }
}

extension NaiveEventOp.Part.Down {
    fileprivate var isBlocked: Bool { if case .blocked = self { true } else { false } }
}
