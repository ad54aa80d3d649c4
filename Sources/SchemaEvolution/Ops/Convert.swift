internal import Bytes
internal import EventModel
internal import JSONText

/// `convert {path, to, using}`: a codec converts a value to another form.
struct Convert: MemberOp {
    static let name = "convert"

    let path: JSONPointer
    /// The kind of the converted value.
    let kind: Shape.Kind
    let codec: any Codec
    let codecName: String
    /// Whether values that the codec could read are refused unless they are in its canonical form.
    let isStrict: Bool
    /// The reason for losing what the codec can't restore.
    let because: String?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("convert", allowing: ["path", "to", "using", "canonical", "because"])
        path = try arguments.required("path", of: "convert").pointer("path")
        let to = try arguments.required("to", of: "convert")
        let word = try to.text("to")
        guard let kind = Shape.Kind(rawValue: word), [.string, .integer, .number, .boolean].contains(kind) else {
            throw to.problem("to must be string, integer, number or boolean", rule: Rule.opArgument)
                .withRepairs(to.swapped(word, among: ["string", "integer", "number", "boolean"]))
        }
        self.kind = kind
        let guess: String? =
            switch kind {
            case .integer: IntegerText.name
            case .number: NumberText.name
            case .boolean: BooleanText.name
            default: nil
            }
        let choices = CodecRegistry.names.joined(separator: ", ")
        codec = try CodecRegistry.codec(
            try arguments.required("using", of: "convert", choices: "one of \(choices)", guess: guess.map { .string($0) }))
        codecName = type(of: codec).name
        because = try arguments.member("because")?.text("because")
        switch try arguments.member("canonical")?.text("canonical") {
        case nil: isStrict = false
        case "require"?: isStrict = true
        default: throw arguments.problem("canonical is require, or left out", rule: Rule.opArgument)
        }
    }

    var loss: String? { because ?? (codec as? Table)?.because }

    var trait: OpTrait? { codec.rounds ? .rounds(path) : nil }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let verb = direction == .up ? "becomes \(Shape(kind).noun)" : "is converted back"
        let strict = isStrict ? "; any other form of it is refused" : ""
        let why = because.map { direction == .up ? "; what does not come back may be lost: \($0)" : "" } ?? ""
        return [OpEffect(.changes(path.below(holder)), "\(verb): \(codec.words(direction))\(strict)\(why)")]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard let old = site.require(path), !site.namesStream(path) else { return nil }
        guard let binding = codec.bind(old, to: kind, declared: site.declared(at: path), &site) else { return nil }
        refuse(old, by: binding, &site)
        if !binding.keepsBounds, old.hasBounds {
            // The codec's results on the way down may be outside the older version's bounds.
            site.opClass.insert(.partial)
            site.isUnproved = true
        }
        var made = binding.result
        made.isNullable = old.isNullable
        _ = site.shape.replace(at: path, with: made)
        return BoundConvert(
            path: path, codec: binding.codec, isStrict: isStrict, below: old.kind.jsonKind, above: binding.result.kind.jsonKind)
    }
}

extension Convert {
    /// Adds a finding if the codec can't read values in the older shape's enum; a table does this itself.
    private func refuse(_ old: Shape, by binding: CodecBinding, _ site: inout BindingContext) {
        guard !(codec is Table), let values = old.enumeration ?? old.constant.map({ [$0] }) else { return }
        var output = ByteBuffer()
        let refused = values.filter { value in
            guard value != .null, let kind = JSONKind(firstByte: Array(value.text.utf8)[0]) else { return false }
            output.removeAll()
            do { _ = try binding.codec.recode(Array(value.word.utf8).lent, kind, .up, into: &output) } catch { return true }
            return false
        }
        if refused.isEmpty { return }
        let rows = values.filter { $0 != .null }.map { "\($0.word): …" }.joined(separator: ", ")
        site.note(
            Rule.upNotTotal, site.mayChange ? .error : .warning, "\(codecName) can't read \(refused.map(\.text).joined(separator: ", "))",
            fix: "using: {table: {map: {\(rows)}}}")
    }
}

private final class BoundConvert: StagedOp {
    let path: JSONPointer
    let codec: any BoundCodec
    let isStrict: Bool
    /// The kinds of the values on both sides.
    let below, above: JSONKind?

    init(path: JSONPointer, codec: any BoundCodec, isStrict: Bool, below: JSONKind?, above: JSONKind?) {
        (self.path, self.codec, self.isStrict) = (path, codec, isStrict)
        (self.below, self.above) = (below, above)
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        let conversion = Conversion(
            codec: codec, direction: direction, pointer: path, makes: direction == .up ? above : below, isStrict: isStrict)
        guard let node = doc.find(path, from: object), let made = try doc.convert(node, conversion) else { return }
        doc.replace(node, withValueOf: made)
    }
}

extension Shape {
    /// Whether the shape refuses some values of its kind.
    var hasBounds: Bool {
        minimum != nil || maximum != nil || minLength != nil || maxLength != nil || enumeration != nil || constant != nil
            || minItems != nil || maxItems != nil
    }
}
