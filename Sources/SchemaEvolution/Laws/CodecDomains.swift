internal import Bytes
internal import EventModel
internal import JSONText

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

    private static let element = MemberName("*")

    private static func scalars(_ shape: Shape, at pointer: JSONPointer) -> [(JSONPointer, Shape)] {
        var found = shape.properties.flatMap { scalars($0.shape, at: pointer.appending($0.name)) }
        if let inner = shape.items ?? shape.additional { found += scalars(inner, at: pointer.appending(element)) }
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
            let inner = JSONPointer(tokens: holder.tokens + each.path.tokens + [element])
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
