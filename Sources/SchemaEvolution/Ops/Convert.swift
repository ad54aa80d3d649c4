internal import Bytes
internal import EventModel
internal import JSONText

/// `convert {path, to, using}`: a codec converts a value to another form.
struct Convert: MemberOp {
    static let name = "convert"

    let path: JSONPointer
    let kind: Shape.Kind
    let codec: any Codec
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
        let guess = [Shape.Kind.integer: IntegerText.name, .number: NumberText.name, .boolean: BooleanText.name][kind]
        let choices = CodecRegistry.names.joined(separator: ", ")
        codec = try CodecRegistry.codec(
            try arguments.required("using", of: "convert", choices: "one of \(choices)", guess: guess.map { .string($0) }))
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
            site.mayFail()
        }
        var made = binding.result
        made.isNullable = old.isNullable
        _ = site.shape.replace(at: path, with: made)
        func conversion(_ direction: Direction, to kind: Shape.Kind) -> Conversion {
            Conversion(codec: binding.codec, direction: direction, pointer: path, makes: kind.jsonKind, isStrict: isStrict)
        }
        return BoundConvert(up: conversion(.up, to: binding.result.kind), down: conversion(.down, to: old.kind))
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
            Rule.upNotTotal, site.mayChange ? .error : .warning,
            "\(type(of: codec).name) can't read \(refused.map(\.text).joined(separator: ", "))",
            fix: "using: {table: {map: {\(rows)}}}")
    }
}

private final class BoundConvert: StagedOp {
    let up, down: Conversion

    init(up: Conversion, down: Conversion) { (self.up, self.down) = (up, down) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        let conversion = direction == .up ? up : down
        guard let node = doc.find(conversion.pointer, from: object), let made = try doc.convert(node, conversion) else { return }
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
