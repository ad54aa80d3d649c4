import EventModel
import Foundation
import TestSupport

@testable import SchemaEvolution

/// A history of random steps over small events, the same for the same seed: whatever `schema check` takes.
struct RandomVersions {
    struct Member {
        var name: String
        var shape = "{type: string}"
        var isRequired = true
    }

    private(set) var history: History
    /// The name of a stream at each version.
    private(set) var streams = ["s-1"]
    private var texts: [String] = []
    private var types: [String: [Member]] = [:]
    private var stream = "s"
    private var numbers: SeededGenerator
    private var made = 0
    /// How many kinds of change there are; the last three may leave what is read as it is.
    private var kinds = 11

    /// The seed of a round: the same in every run, so that what a run finds is of its own change. EVSTORE_SEED leads elsewhere.
    static func seed(_ round: UInt64) -> UInt64 {
        var numbers = SeededGenerator(
            seed: round &+ (ProcessInfo.processInfo.environment["EVSTORE_SEED"].flatMap { UInt64($0) } ?? 0) &* 1_000_003)
        return numbers.next()
    }

    init(seed: UInt64, versions: Int, withMembers: Bool = false) throws {
        numbers = SeededGenerator(seed: seed)
        if withMembers { kinds = 14 }
        history = .empty
        for type in ["A", "B", "C", "D"] { types[type] = [member(), member(), member(required: false)] }
        texts = [text([])]
        history = try Shop.history(texts)
        while texts.count < versions {
            let before = self
            var items: [String] = []
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &numbers) { change(&items) }
            let next = texts + [text(items)]
            let numbers = numbers
            // Not all that is thrown together makes sense.
            if let history = Self.checked(next) {
                (texts, self.history) = (next, history)
                streams.append("\(stream)-1")
            } else {
                self = before
                self.numbers = numbers
            }
        }
    }

    private static func checked(_ texts: [String]) -> History? {
        do {
            let history = try Shop.history(texts)
            return history.check().contains { $0.severity == .error } ? nil : history
        } catch { return nil }
    }

    /// An event of a random type of a version.
    mutating func event(at version: SchemaVersion) -> (type: String, payload: String) {
        let type = history.types(at: version).randomElement(using: &numbers) ?? ""
        let shape = history.shape(of: type, at: version)?.shape ?? .any
        let members = shape.properties.compactMap { property -> String? in
            guard shape.required.contains(property.name) || Bool.random(using: &numbers) else { return nil }
            let values = property.name == "id" ? ["1", "2"] : ["x", "yy", "zzzz"].filter { $0.count <= property.shape.maxLength ?? 9 }
            return "\"\(property.name)\":\"\(values.randomElement(using: &numbers) ?? "")\""
        }
        return (type, "{\(members.joined(separator: ","))}")
    }

    mutating func bool() -> Bool { Bool.random(using: &numbers) }

    private mutating func name(_ prefix: String) -> String {
        made += 1
        return "\(prefix)\(made)"
    }

    private mutating func member(required: Bool = true) -> Member { Member(name: name("m"), isRequired: required) }

    private func text(_ items: [String]) -> String {
        let events = types.sorted { $0.key < $1.key }.map { type, members in
            let required = ["id"] + members.filter(\.isRequired).map(\.name)
            let properties = ["id: {type: string}"] + members.map { "\($0.name): \($0.shape)" }
            return """
                  \(type): {stream: "\(stream)-{/id}", required: [\(required.joined(separator: ", "))], \
                properties: {\(properties.joined(separator: ", "))}}
                """
        }
        let upcast = items.isEmpty ? "" : "upcast:\n" + items.map { "  - \($0)\n" }.joined()
        let forward = items.isEmpty ? "" : "forward: 1\n"
        return "evstore: 1\nversion: \(texts.count + 1)\n\(forward)\(upcast)events:\n\(events.joined(separator: "\n"))\n"
    }

    private mutating func change(_ items: inout [String]) {
        guard let type = types.keys.sorted().randomElement(using: &numbers), let members = types[type] else { return }
        let index = members.indices.randomElement(using: &numbers)
        switch Int.random(in: 0 ..< kinds, using: &numbers) {
        case 0:
            let new = member()
            items.append("{on: \(type), do: [{add: {path: /\(new.name), value: x}}]}")
            types[type]?.append(new)
        case 1:
            // Narrower, without a word.
            if let index { types[type]?[index].shape = "{type: string, maxLength: 2}" }
        case 2:
            guard let index else { return }
            let new = name("m")
            items.append("{on: \(type), do: [{move: {from: /\(members[index].name), path: /\(new)}}]}")
            types[type]?[index].name = new
        case 3:
            let new = name("R")
            items.append("{rename-event: {from: \(type), to: \(new)}}")
            types[new] = types.removeValue(forKey: type)
        case 4, 5: addCombined(&items)
        case 6:
            let new = name("N")
            items.append("{add-event: {type: \(new), down: {hide: new}}}")
            types[new] = [member()]
        case 7: split(type, members, &items)
        case 8:
            items.append("{drop-event: {type: \(type), because: old}}")
            types[type] = nil
        case 9:
            guard let other = types.keys.filter({ $0 != type }).sorted().randomElement(using: &numbers) else { return }
            let new = name("M")
            items.append("{merge-events: {types: [\(type), \(other)], into: \(new), on: /id}}")
            types[new] = (members + (types[other] ?? [])).map { Member(name: $0.name, shape: $0.shape, isRequired: false) }
            (types[type], types[other]) = (nil, nil)
        case 11:
            guard let index else { return }
            let restore = members[index].isRequired ? "x" : "absent"
            items.append("{on: \(type), do: [{remove: {path: /\(members[index].name), restore: \(restore), because: old}}]}")
            types[type]?.remove(at: index)
        case 12:
            let new = member(required: false)
            items.append("{on: \(type), do: [{allow: {path: /\(new.name), down: absent}}]}")
            types[type]?.append(new)
        case 13:
            guard let index else { return }
            let new = Member(name: name("m"), shape: members[index].shape, isRequired: members[index].isRequired)
            items.append("{on: \(type), do: [{copy: {from: /\(members[index].name), path: /\(new.name)}}]}")
            types[type]?.append(new)
        default:
            guard !items.contains(where: { $0.contains("rekey") }), Int.random(in: 0 ..< 3, using: &numbers) == 0 else { return }
            let new = name("s")
            items.append("{rekey: {from: \"\(stream)-{k}\", to: \"\(new)-{k}\"}}")
            stream = new
        }
    }

    /// A new type that the version before sees as some of the others, maybe as several of one.
    private mutating func addCombined(_ items: inout [String]) {
        let new = name("X")
        var (parts, members): ([String], [Member]) = ([], [])
        for _ in 0 ..< Int.random(in: 1 ... 3, using: &numbers) {
            guard let type = types.keys.sorted().randomElement(using: &numbers) else { return }
            var moves: [String] = []
            for member in types[type] ?? [] {
                let own = Member(name: name("m"), shape: member.shape, isRequired: member.isRequired)
                members.append(own)
                moves.append("/\(own.name): /\(member.name)")
            }
            parts.append("{type: \(type), pick: [/id], move: {\(moves.joined(separator: ", "))}}")
        }
        items.append("{add-event: {type: \(new), down: {as: [\(parts.joined(separator: ", "))]}}}")
        types[new] = members
    }

    /// Into two, the first of which may keep the name.
    private mutating func split(_ type: String, _ members: [Member], _ items: inout [String]) {
        let (first, second) = (Bool.random(using: &numbers) ? type : name("P"), name("Q"))
        let cut = Int.random(in: 0 ... members.count, using: &numbers)
        let halves = [Array(members[..<cut]), Array(members[cut...])]
        let parts = zip([first, second], halves).enumerated().map { index, part in
            let picks = (["id"] + part.1.map(\.name)).map { "/\($0)" }.joined(separator: ", ")
            let others = halves[1 - index].filter(\.isRequired).map { "/\($0.name): y" }
            let down = index == 1 && Bool.random(using: &numbers) ? "{hide: part}" : "{as: {\(others.joined(separator: ", "))}}"
            return "{type: \(part.0), pick: [\(picks)], down: \(others.isEmpty && down != "{hide: part}" ? "as" : down)}"
        }
        items.append("{split-event: {type: \(type), into: [\(parts.joined(separator: ", "))]}}")
        types[type] = nil
        (types[first], types[second]) = (halves[0], halves[1])
    }
}
