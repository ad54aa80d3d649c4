internal import JSONText
internal import SchemaEvolution

/// Changes texts and trees, the same way for the same seed.
struct Mutator: Sendable {
    var random: SeededRandom
    let words: [String]
    let grafts: [JSONValue]

    init(_ seeds: Seeds, seed: UInt64) { (random, words, grafts) = (SeededRandom(seed: seed), seeds.words, seeds.grafts) }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    /// One to four bytes or runs of bytes changed, taken out, repeated, put in or exchanged.
    mutating func bytes(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0 ..< number(1 ... 4) {
            guard !text.isEmpty else { return Array(random.pick(Boundaries.tokens).utf8) }
            let place = number(0 ... text.count - 1)
            let run = place ..< min(text.count, place + number(1 ... (random.once(in: 4) ? 200 : 8)))
            switch number(0 ... 8) {
            case 0: text[place] ^= 1 << UInt8(number(0 ... 7))
            case 1: text[place] = UInt8(number(0 ... 255))
            case 2: text.removeSubrange(run)
            case 3: text.insert(contentsOf: text[run], at: number(0 ... text.count - 1))
            case 4: text.insert(contentsOf: Array(random.pick(Boundaries.tokens).utf8), at: place)
            case 5:
                let other = number(0 ... text.count - run.count)
                let (left, right) = (Array(text[run]), Array(text[other ..< other + run.count]))
                text.replaceSubrange(run, with: right)
                text.replaceSubrange(other ..< other + run.count, with: left)
            case 6: text.replaceSubrange(run, with: Array(random.pick(words).utf8))
            case 7: text.insert(contentsOf: Array(repeating: text[place], count: number(1 ... 2_000)), at: place)
            default: text.removeLast(random.once(in: 4) ? text.count - place : 1)
            }
        }
        return text
    }

    /// One to three nodes replaced, taken out, repeated, renamed, put in or exchanged.
    mutating func tree(_ value: JSONValue) -> JSONValue {
        var value = value
        for _ in 0 ..< number(1 ... 3) {
            var index = number(0 ... Self.count(value) - 1)
            value = edit(value, &index)
        }
        return value
    }

    private static func count(_ value: JSONValue) -> Int {
        switch value {
        case .array(let elements): elements.reduce(1) { $0 + count($1) }
        case .object(let members): members.reduce(1) { $0 + count($1.value) }
        case .null, .bool, .number, .string: 1
        }
    }

    /// Changes the node that so many others come before, in the order of the text.
    private mutating func edit(_ value: JSONValue, _ before: inout Int) -> JSONValue {
        if before < 0 { return value }
        before -= 1
        if before < 0 { return changed(value) }
        switch value {
        case .array(let elements): return .array(elements.map { edit($0, &before) })
        case .object(let members): return .object(members.map { .init(name: $0.name, value: edit($0.value, &before)) })
        case .null, .bool, .number, .string: return value
        }
    }

    private mutating func changed(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements) where !random.once(in: 4): return .array(changed(elements) { $0.replacement(.null) })
        case .object(let members) where !random.once(in: 6):
            if random.once(in: 3), !members.isEmpty {
                var members = members
                let place = number(0 ... members.count - 1)
                members[place].name = random.once(in: 6) ? random.pick(Boundaries.texts) : random.pick(words)
                return .object(members)
            }
            return .object(changed(members) { .init(name: $0.random.pick($0.words), value: $0.replacement(.null)) })
        default: return replacement(value)
        }
    }

    /// A list with an element taken out, repeated, put in or exchanged with another.
    private mutating func changed<T>(_ list: [T], _ make: (inout Mutator) -> T) -> [T] {
        var list = list
        guard !list.isEmpty else { return [make(&self)] }
        let place = number(0 ... list.count - 1)
        switch number(0 ... 3) {
        case 0: list.remove(at: place)
        case 1: list.insert(list[place], at: number(0 ... list.count))
        case 2: list.swapAt(place, number(0 ... list.count - 1))
        default: list.insert(make(&self), at: number(0 ... list.count))
        }
        return list
    }

    private mutating func replacement(_ value: JSONValue) -> JSONValue {
        switch number(0 ... 9) {
        case 0: return .number(random.pick(Boundaries.numbers))
        case 1: return .string(random.pick(Boundaries.texts))
        case 2, 3: return .string(random.pick(words))
        case 4: return random.pick([.null, .bool(true), .bool(false), .array([]), .object([])])
        case 5: return .array([value])
        case 6: return .object([.init(name: random.pick(words), value: value)])
        case 7 where random.once(in: 8): return (0 ..< number(10 ... 1_200)).reduce(value) { nested, _ in .array([nested]) }
        default: return random.pick(grafts)
        }
    }
}
