internal import Bytes
package import EventModel
internal import JSONText

/// Generates events from shapes, with values that are likely to reveal errors in steps. Equal seeds give equal events.
package struct EventGenerator {
    private let history: History
    private let constants: StepConstants
    private let domains: CodecDomains
    private var random: SeededRandom
    /// The type and version of the event that is being generated.
    private var kind = TypeAtVersion(type: "", version: SchemaVersion(0))
    var budget = 0

    package init(_ history: History, seed: UInt64) {
        (self.history, constants, random) = (history, StepConstants(history), SeededRandom(seed: seed))
        domains = CodecDomains(history, constants: constants)
    }

    /// Restarts with another seed and keeps everything that was computed from the history.
    package mutating func restart(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// An event as if born at a version; nil if 20 attempts produced none that fits the shape.
    package mutating func event(type: String, born: SchemaVersion) -> LawEvent? {
        guard let shape = history.shape(of: type, at: born) else { return nil }
        kind = TypeAtVersion(type: type, version: born)
        for _ in 0 ..< 20 {
            let payload = Array(payload(of: shape.shape).text.utf8)
            guard fits(payload, shape) else { continue }
            return LawEvent(
                origin: .generated, stream: stream(shape, payload), type: type, born: born, time: time(), payload: payload,
                metadata: metadata())
        }
        return nil
    }

    /// The event with some values changed; nil if 10 attempts produced none that fits the shape.
    package mutating func mutation(of event: LawEvent) -> LawEvent? {
        guard let shape = history.shape(of: event.type, at: event.born) else { return nil }
        let whole: JSONValue
        do { whole = try JSONValue(parsing: event.payload.lent) } catch { return nil }
        kind = TypeAtVersion(type: event.type, version: event.born)
        for _ in 0 ..< 10 {
            budget = Self.budgetMax
            let payload = Array(mutated(whole, shape.shape, at: JSONPointer()).text.utf8)
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
        guard !constants.metadata.isEmpty, !random.once(in: 4) else { return [] }
        let members = constants.metadata.map { JSONValue.Member(name: $0, value: .string(random.pick(constants.texts))) }
        return Array(JSONValue.object(members).text.utf8)
    }

    private mutating func mutated(_ value: JSONValue, _ shape: Shape, at pointer: JSONPointer) -> JSONValue {
        if random.once(in: 8) { return self.value(shape, at: pointer) }
        switch value {
        case .object(let members):
            var kept: [JSONValue.Member] = []
            for member in members {
                let property = shape.property(member.name)
                guard let inner = property ?? shape.additional else {
                    kept.append(member)
                    continue
                }
                if !shape.required.contains(member.name), random.once(in: 8) { continue }
                let place = pointer.appending(property == nil ? "*" : member.name)
                kept.append(.init(name: member.name, value: mutated(member.value, inner, at: place)))
            }
            let held = Set(of: members.map(\.name))
            for property in shape.properties where !held.contains(property.name) && random.once(in: 4) {
                kept.append(.init(name: property.name, value: self.value(property.shape, at: pointer.appending(property.name))))
            }
            return .object(kept)
        case .array(let elements):
            guard let items = shape.items else { return value }
            let place = pointer.appending("*")
            var made: [JSONValue] = []
            for element in elements where !random.once(in: 8) { made.append(mutated(element, items, at: place)) }
            if random.once(in: 8) { made.append(self.value(items, at: place)) }
            return .array(made)
        default: return value
        }
    }
}

extension EventGenerator: ValueGenerator {
    mutating func preset(for shape: Shape, at pointer: JSONPointer) -> JSONValue? {
        if shape.isNullable, random.once(in: 5) { return .null }
        // Occasionally a value that no codec can read, so that steps that may refuse events are tried too.
        if shape.isScalar, let values = domains.values(of: kind, at: pointer), !values.isEmpty,
            !random.once(in: shape.kind == .string ? 32 : 4)
        {
            return random.pick(values)
        }
        return nil
    }

    mutating func word(of enumeration: [JSONValue]) -> JSONValue { random.pick(enumeration) }

    mutating func members(of object: Shape) -> [Shape.Property] {
        let (isFull, isBare) = (random.once(in: 4), random.once(in: 6))
        return object.properties.filter { property in
            object.required.contains(property.name) || isFull || !isBare && boolean()
        }
    }

    mutating func names(of map: Shape) -> [String] { BoundaryValues.names.filter { _ in boolean() } }

    mutating func count(of list: Shape, least: Int) -> Int {
        Int.random(in: least ... max(least, min(list.maxItems ?? .max, least + 3)), using: &random)
    }

    mutating func boolean() -> Bool { Bool.random(using: &random) }

    mutating func anything() -> JSONValue { random.pick(BoundaryValues.anything) }

    mutating func number(_ shape: Shape) -> String {
        let candidates = BoundaryValues.integers + (shape.kind == .number ? BoundaryValues.fractions : [])
        let bounds = [shape.minimum, shape.maximum].compactMap { $0?.description }
        let small = String(Int.random(in: 0 ... 2_000_000_000, using: &random))
        let fitting = (candidates + bounds + [small]).filter { shape.rejection(of: .number($0)) == nil }
        // Half of the values are ordinary: with boundary values alone, the first ops would refuse nearly all events.
        if boolean(), fitting.contains(small) { return small }
        return fitting.isEmpty ? "0" : random.pick(fitting)
    }

    mutating func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: return random.pick(BoundaryValues.times)
        case .date: return random.pick(BoundaryValues.dates)
        case nil: break
        }
        var text = word()
        if random.once(in: 3), !constants.separators.isEmpty {
            let separator = random.pick(constants.separators)
            for _ in 0 ... (random.once(in: 4) ? 1 : 0) { text += separator + word() }
        }
        var scalars = Array(text.unicodeScalars)
        if let most = shape.maxLength { scalars = Array(scalars.prefix(most)) }
        while scalars.count < leastLength(of: shape) { scalars.append("a") }
        return String(String.UnicodeScalarView(scalars))
    }

    private mutating func word() -> String {
        switch Int.random(in: 0 ..< 6, using: &random) {
        case 0: random.pick(BoundaryValues.texts)
        case 1: constants.texts.isEmpty ? "a" : random.pick(constants.texts)
        case 2, 3: String(Int.random(in: 0 ... 2_000_000_000, using: &random))
        case 4: random.pick(BoundaryValues.codecTexts)
        default: random.pick(["Ada", "Lovelace", "zlib1g", "a", "b"])
        }
    }
}

/// Values that are likely to reveal errors in a step.
enum BoundaryValues {
    static let texts = ["", " ", "a b", "ü \"q\"", "\u{0}\u{1F}", "x/y~z", "日本語", "e\u{301}", "🧭", "\\", "null", "a  b ", "%"]
    /// Texts that codecs can parse.
    static let codecTexts = [
        "0", "42", "-7", "007", "9007199254740993", "12.50", "0.00", "-3.07", "1e3", "true", "false", "2026-03-02T10:00:00Z",
        "2026-03-02T10:00:00", "2026-03-02 10:00:00", "2026-03-02", "1970-01-01 00:00:00",
    ]
    static let integers = ["0", "1", "-1", "2", "1700000000", "9007199254740991", "9007199254740993", "-9007199254740993"]
    static let fractions = ["0.5", "-0.25", "12.50", "1e3", "0.1"]
    static let times = [
        "2026-03-02T10:00:00Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2024-02-29T12:00:00.5Z", "2026-03-02T10:00:00.123456Z",
        "2026-03-02T00:30:00+02:00", "2026-03-02T23:30:00-05:30", "9999-12-31T23:59:59Z",
    ]
    static let dates = ["2026-03-02", "1970-01-01", "2024-02-29", "9999-12-31"]
    static let names = ["a", "", "x/y~z", "ü"]
    static let anything: [JSONValue] = [
        .null, .bool(true), .number("9007199254740993"), .string(""), .string("a"), .array([.null, .number("1")]),
        .object([.init(name: "a", value: .object([.init(name: "", value: .array([]))]))]),
    ]

    /// The values with which the codecs of a scalar are tried.
    static func candidates(_ shape: Shape, _ constants: StepConstants) -> [JSONValue] {
        if let values = shape.enumeration { return values }
        if let constant = shape.constant { return [constant] }
        return switch shape.kind {
        case .string: (texts + codecTexts + constants.texts + times + dates + pairs(constants.separators)).map { .string($0) }
        case .integer: integers.map { .number($0) }
        case .number: (integers + fractions).map { .number($0) }
        case .boolean: [.bool(true), .bool(false)]
        case .object, .array, .null, .any: []
        }
    }

    private static func pairs(_ separators: [String]) -> [String] {
        let parts = ["0", "42", "-7", "007", "2026-03-02", "a", "ü"]
        return separators.flatMap { separator in parts.flatMap { first in parts.map { first + separator + $0 } } }
    }
}

/// The constants in the steps of a history: generated events that contain them reach branches that other events do not.
struct StepConstants {
    private(set) var texts: [String] = []
    private(set) var separators: [String] = []
    /// The metadata members that steps read.
    private(set) var metadata: [String] = []

    init(_ history: History) {
        for file in history.versions {
            if let upcast = file.upcast { visit(upcast.json, under: "") }
        }
        texts += ["", "0", "1.0.0", "9.9.9"]
    }

    private mutating func visit(_ value: JSONValue, under name: String) {
        switch value {
        case .string(let text) where name == "separator": add(text, to: \.separators)
        case .string(let text) where text.hasPrefix("$metadata/"): add(String(text.dropFirst("$metadata/".count)), to: \.metadata)
        case .string(let text) where text.utf8.count < 40 && !text.hasPrefix("/") && !text.hasPrefix("$"): add(text, to: \.texts)
        case .array(let elements): for element in elements { visit(element, under: name) }
        case .object(let members):
            for member in members {
                if ["map", "down", "table", "to"].contains(name) { add(member.name, to: \.texts) }
                visit(member.value, under: member.name)
            }
        default: break
        }
    }

    private mutating func add(_ text: String, to list: WritableKeyPath<StepConstants, [String]>) {
        if !self[keyPath: list].contains(text) { self[keyPath: list].append(text) }
    }
}

/// A random number generator whose sequence depends only on its seed, on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A random element; the list must not be empty.
    package mutating func pick<T>(_ elements: [T]) -> T { elements[Int.random(in: elements.indices, using: &self)] }

    /// True with a probability of one in `times`.
    package mutating func once(in times: Int) -> Bool { Int.random(in: 0 ..< times, using: &self) == 0 }
}
