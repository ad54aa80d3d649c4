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

/// For each member, the values that the codecs along its path through the versions can read, found by running the codecs on candidate
/// values.
///
/// Each member is followed from each version to the newest. The values that its codecs produce on the way are those that events born at the
/// versions in between can have on the way down.
struct CodecDomains: Sendable {
    private typealias Domains = [TypeAtVersion: [JSONPointer: [JSONValue]]]

    /// A member, or a part that a `split` made of it, at some version, with the candidates that no codec has refused: each with its
    /// original value and its current one, which is nil if the text has no such part.
    private struct Track {
        let first: JSONPointer
        var place: JSONPointer
        var shape: Shape
        var values: [(first: JSONValue, now: JSONValue?)]
        var hasMetCodec = false
    }

    private let history: History
    /// The values that codecs can read on the way up and on the way down.
    private var above: Domains = [:]
    private var below: Domains = [:]

    init(_ history: History, constants: StepConstants) {
        self.history = history
        guard let last = history.chain.steps.last(where: { $0.step.converts })?.step.version else { return }
        for file in history.versions where file.number < last {
            for (type, shape) in file.events.sorted(by: { $0.key < $1.key }) {
                let tracks = Self.scalars(shape.shape, at: JSONPointer()).map { pointer, shape in
                    let values = BoundaryValues.candidates(shape, constants).filter { shape.rejection(of: $0) == nil }
                    return Track(first: pointer, place: pointer, shape: shape, values: values.map { ($0, $0) })
                }
                follow(TypeAtVersion(type: type.text, version: file.number), type.text, file.number, tracks)
            }
        }
    }

    /// The values for a member of a type; `*` stands for each element of a list or map. Nil if no codec reads the member.
    func values(of kind: TypeAtVersion, at pointer: JSONPointer) -> [JSONValue]? {
        switch (above[kind]?[pointer], below[kind]?[pointer]) {
        case (let up?, let down?):
            let both = up.filter(down.contains)
            return both.isEmpty ? up + down : both
        case (let values, let others): return values ?? others
        }
    }

    private static func scalars(_ shape: Shape, at pointer: JSONPointer) -> [(JSONPointer, Shape)] {
        var found = shape.properties.flatMap { scalars($0.shape, at: pointer.appending($0.name)) }
        if let inner = shape.items ?? shape.additional { found += scalars(inner, at: pointer.appending(JSONPointer.element)) }
        if shape.isScalar { found.append((pointer, shape)) }
        return found
    }

    private mutating func follow(_ kind: TypeAtVersion, _ type: String, _ version: SchemaVersion, _ tracks: [Track]) {
        let met = tracks.filter { $0.hasMetCodec && !$0.values.isEmpty }
        for track in met {
            Self.add(track.values.compactMap(\.now), at: track.place, of: TypeAtVersion(type: type, version: version), to: &below)
        }
        guard let step = history.chain.step(to: version.next) else {
            for (first, parts) in Dictionary(grouping: met, by: \.first) {
                // The value is kept if the codecs of all its parts can read them.
                let values = parts.dropFirst().reduce(parts[0].values.map(\.first)) { values, part in
                    values.filter { value in part.values.contains { $0.first == value } }
                }
                Self.add(values, at: first, of: kind, to: &above)
            }
            return
        }
        for fate in step.step.fates(of: type, after: 0) where history.shape(of: fate.type, at: version.next) != nil {
            var next = tracks
            for op in fate.ops { Self.run(op, below: JSONPointer(), &next) }
            follow(kind, fate.type, version.next, next)
        }
    }

    private static func add(_ values: [JSONValue], at pointer: JSONPointer, of kind: TypeAtVersion, to domains: inout Domains) {
        let known = domains[kind]?[pointer] ?? []
        domains[kind, default: [:]][pointer] = known + values.filter { !known.contains($0) }
    }

    /// Applies an op to the members below a pointer: a codec reads them, they are split, or they move.
    private static func run(_ op: any Op, below holder: JSONPointer, _ tracks: inout [Track]) {
        switch op {
        case let each as Each:
            let inner = JSONPointer(tokens: holder.tokens + each.path.tokens + [JSONPointer.element])
            for entry in each.entries { run(entry.op, below: inner, &tracks) }
        case let convert as Convert:
            let place = JSONPointer(tokens: holder.tokens + convert.path.tokens)
            for index in tracks.indices where tracks[index].place == place { read(convert, &tracks[index]) }
        case let copy as Copy where copy.codec != nil:
            // The member stays, restricted to the values that the codec can read.
            let place = JSONPointer(tokens: holder.tokens + copy.from.tokens)
            for index in tracks.indices where tracks[index].place == place { read(copy, &tracks[index]) }
        case let split as Split:
            let place = JSONPointer(tokens: holder.tokens + split.path.tokens)
            tracks = tracks.flatMap { $0.place == place ? parts(of: $0, split.rule, below: holder) : [$0] }
        default:
            for index in tracks.indices where tracks[index].place.hasPrefix(holder) {
                let rest = JSONPointer(tokens: Array(tracks[index].place.tokens.dropFirst(holder.tokens.count)))
                tracks[index].place = JSONPointer(tokens: holder.tokens + op.destination(of: rest).tokens)
            }
        }
    }

    private static func parts(of track: Track, _ rule: SeparatorRule, below holder: JSONPointer) -> [Track] {
        var made = rule.parts.map { pointer in
            var part = track
            part.place = JSONPointer(tokens: holder.tokens + pointer.tokens)
            (part.shape, part.values) = (Shape(.string), [])
            return part
        }
        for (first, now) in track.values {
            guard case .string(let text)? = now else { continue }
            var texts = text.split(separator: rule.separator, omittingEmptySubsequences: false).map(String.init)
            if rule.refusesMissing, texts.count < made.count { continue }
            // If there are more parts than members, the surplus parts are joined at the end that the rule determines.
            let more = max(texts.count - made.count, 0)
            let rest = rule.isAtLast ? 0 ... more : texts.count - 1 - more ... texts.count - 1
            texts.replaceSubrange(rest, with: [texts[rest].joined(separator: rule.separator)])
            for index in made.indices { made[index].values.append((first, index < texts.count ? .string(texts[index]) : nil)) }
        }
        return made
    }

    private static func read(_ convert: Convert, _ track: inout Track) {
        guard let binding = bind(convert.codec, track.shape, to: convert.kind) else { return }
        track.shape = binding.result
        track.hasMetCodec = true
        track.values = track.values.compactMap { first, now in
            guard let (made, isCanonical) = read(now, by: binding) else { return nil }
            return convert.isStrict && !isCanonical ? nil : (first, made)
        }
    }

    private static func read(_ copy: Copy, _ track: inout Track) {
        guard let binding = copy.codec.flatMap({ bind($0, track.shape, to: nil) }) else { return }
        track.hasMetCodec = true
        track.values = track.values.filter { read($0.now, by: binding) != nil }
    }

    private static func bind(_ codec: any Codec, _ shape: Shape, to kind: Shape.Kind?) -> CodecBinding? {
        var site = BindingContext(
            shape: shape, stream: nil, shapeTargets: [], type: "", mark: FileLocation(file: "", line: 1, column: 1), label: Convert.name)
        return codec.bind(shape, to: kind, declared: nil, &site)
    }

    /// A codec's result for a value; nil if the codec can't read it.
    private static func read(_ value: JSONValue?, by binding: CodecBinding) -> (made: JSONValue?, isCanonical: Bool)? {
        guard let (content, kind) = value?.content else { return (value, true) }
        var output = ByteBuffer()
        do {
            let isCanonical = try binding.codec.recode(content.lent, kind, .up, into: &output)
            return (try JSONValue(parsing: output.bytes), isCanonical)
        } catch { return nil }
    }
}

extension JSONValue {
    /// The content that a codec receives for a scalar; nil for null, which codecs leave unchanged.
    fileprivate var content: (bytes: [UInt8], kind: JSONKind)? {
        switch self {
        case .string(let text): (Array(text.utf8), .string)
        case .number(let text): (Array(text.utf8), .number)
        case .bool(let value): (Array(text.utf8), value ? .true : .false)
        case .null, .array, .object: nil
        }
    }
}
