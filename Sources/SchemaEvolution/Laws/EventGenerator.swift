internal import Bytes
package import EventModel
internal import JSONText

/// Makes events from shapes, with the values at which steps go wrong: the same ones for the same seed.
package struct EventGenerator {
    private let history: History
    private let words: StepWords
    private var random: SeededRandom

    package init(_ history: History, seed: UInt64) { self.init(history, words: StepWords(history), seed: seed) }

    init(_ history: History, words: StepWords, seed: UInt64) {
        (self.history, self.words, random) = (history, words, SeededRandom(seed: seed))
    }

    /// An event as if born at a version; nil where none was found that its shape allows.
    package mutating func event(type: String, born: SchemaVersion) -> LawEvent? {
        guard let shape = history.shape(of: type, at: born) else { return nil }
        for _ in 0 ..< 20 {
            let payload = Array(value(shape.shape).text.utf8)
            guard fits(payload, shape) else { continue }
            return LawEvent(
                origin: .generated, stream: stream(shape, payload), type: type, born: born, time: time(), payload: payload,
                metadata: metadata())
        }
        return nil
    }

    /// An event of the newest version with some of its values changed; nil where no change was found that its shape allows.
    package mutating func mutation(of event: LawEvent) -> LawEvent? {
        guard let shape = history.shape(of: event.type, at: event.born) else { return nil }
        let whole: JSONValue
        do { whole = try JSONValue(parsing: event.payload.lent) } catch { return nil }
        for _ in 0 ..< 10 {
            let payload = Array(mutated(whole, shape.shape).text.utf8)
            guard fits(payload, shape) else { continue }
            var made = event
            (made.origin, made.payload, made.stream) = (.mutated, payload, stream(shape, payload))
            return made
        }
        return nil
    }

    private func fits(_ payload: [UInt8], _ shape: EventShape) -> Bool {
        do {
            try shape.validate(payload.lent)
            return true
        } catch { return false }
    }

    private func stream(_ shape: EventShape, _ payload: [UInt8]) -> String {
        do { return try shape.stream?.name(for: payload.lent) ?? "laws-1" } catch { return "laws-1" }
    }

    private mutating func time() -> Timestamp {
        Timestamp(microseconds: Int64.random(in: 0 ... 2_000_000_000, using: &random) * 1_000_000)
    }

    private mutating func metadata() -> [UInt8] {
        guard !words.metadata.isEmpty, !random.once(in: 4) else { return [] }
        let members = words.metadata.map { JSONValue.Member(name: $0, value: .string(random.pick(words.texts))) }
        return Array(JSONValue.object(members).text.utf8)
    }

    private mutating func mutated(_ value: JSONValue, _ shape: Shape) -> JSONValue {
        if random.once(in: 8) { return self.value(shape) }
        switch value {
        case .object(let members):
            var kept: [JSONValue.Member] = []
            for member in members {
                guard let inner = shape.property(member.name) ?? shape.additional else {
                    kept.append(member)
                    continue
                }
                if !shape.required.contains(member.name), random.once(in: 8) { continue }
                kept.append(.init(name: member.name, value: mutated(member.value, inner)))
            }
            for property in shape.properties where value.member(property.name) == nil && random.once(in: 4) {
                kept.append(.init(name: property.name, value: self.value(property.shape)))
            }
            return .object(kept)
        case .array(let elements):
            guard let items = shape.items else { return value }
            var made: [JSONValue] = []
            for element in elements where !random.once(in: 8) { made.append(mutated(element, items)) }
            if random.once(in: 8) { made.append(self.value(items)) }
            return .array(made)
        default: return value
        }
    }

    private mutating func value(_ shape: Shape) -> JSONValue {
        if shape.isNullable, random.once(in: 5) { return .null }
        if let constant = shape.constant { return constant }
        if let words = shape.enumeration, !words.isEmpty { return random.pick(words) }
        switch shape.kind {
        case .object: return object(shape)
        case .array:
            let least = shape.minItems ?? 0
            let count = Int.random(in: least ... max(least, min(shape.maxItems ?? least + 3, least + 3)), using: &random)
            return .array((0 ..< count).map { _ in value(shape.items ?? .any) })
        case .string: return .string(text(shape))
        case .integer: return number(shape, BoundaryValues.integers)
        case .number: return number(shape, BoundaryValues.integers + BoundaryValues.fractions)
        case .boolean: return .bool(Bool.random(using: &random))
        case .null: return .null
        case .any: return random.pick(BoundaryValues.anything)
        }
    }

    private mutating func object(_ shape: Shape) -> JSONValue {
        if let values = shape.additional {
            let names = BoundaryValues.names.filter { _ in Bool.random(using: &random) }
            return .object(names.map { .init(name: $0, value: value(values)) })
        }
        let (isFull, isBare) = (random.once(in: 4), random.once(in: 6))
        var members: [JSONValue.Member] = []
        for property in shape.properties {
            let isThere = shape.required.contains(property.name) || isFull || !isBare && Bool.random(using: &random)
            if isThere { members.append(.init(name: property.name, value: value(property.shape))) }
        }
        return .object(members)
    }

    private mutating func number(_ shape: Shape, _ candidates: [String]) -> JSONValue {
        let bounds = [shape.minimum, shape.maximum].compactMap { $0?.description }
        let small = String(Int.random(in: 0 ... 2_000_000_000, using: &random))
        let fitting = (candidates + bounds + [small]).filter { shape.accepts(.number($0)) == nil }
        // Half of them in the middle: bounds alone would keep later ops from ever being reached.
        if Bool.random(using: &random), fitting.contains(small) { return .number(small) }
        return .number(fitting.isEmpty ? "0" : random.pick(fitting))
    }

    private mutating func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: return random.pick(BoundaryValues.times)
        case .date: return random.pick(BoundaryValues.dates)
        case nil: break
        }
        var text = word()
        if random.once(in: 3), !words.separators.isEmpty {
            let separator = random.pick(words.separators)
            for _ in 0 ... (random.once(in: 4) ? 1 : 0) { text += separator + word() }
        }
        var scalars = Array(text.unicodeScalars)
        if let most = shape.maxLength { scalars = Array(scalars.prefix(most)) }
        while scalars.count < shape.minLength ?? 0 { scalars.append("a") }
        return String(String.UnicodeScalarView(scalars))
    }

    private mutating func word() -> String {
        switch Int.random(in: 0 ..< 7, using: &random) {
        case 0: random.pick(BoundaryValues.texts)
        case 1: words.texts.isEmpty ? "a" : random.pick(words.texts)
        case 2, 3: String(Int.random(in: 0 ... 2_000_000_000, using: &random))
        case 4 where !words.readable.isEmpty: random.pick(words.readable)
        case 5: random.pick(BoundaryValues.codecTexts)
        default: random.pick(["Ada", "Lovelace", "zlib1g", "a", "b"])
        }
    }
}
