internal import Bytes
internal import EventModel
internal import JSONText

/// `scale{num, den, round}`: multiplies a number by num / den.
struct Scale: Codec {
    static let name = "scale"

    let num, den: Int
    let rounding: DecimalNumber.Rounding?

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        guard let arguments else {
            throw using.problem("scale needs a factor", rule: Rule.opArgument, fix: "using: {scale: {num: 100, den: 1}}")
        }
        try arguments.map("scale", allowing: ["num", "den", "round"])
        num = try arguments.member("num")?.integer("num", from: 1) ?? 1
        den = try arguments.member("den")?.integer("den", from: 1) ?? 1
        guard num != den else { throw arguments.problem("a scale of \(num) / \(den) does nothing", rule: Rule.idle) }
        switch try arguments.member("round")?.text("round") {
        case nil: rounding = nil
        case "down"?: rounding = .down
        case "half-up"?: rounding = .halfUp
        case "half-even"?: rounding = .halfEven
        case let other?:
            throw arguments.problem(
                "round must be down, half-up or half-even, not \(quoted(other))", rule: Rule.opArgument,
                fix: "leave it out to refuse what is not exact"
            ).withRepairs(arguments.mark.repair(.remove, at: "round"))
        }
    }

    var rounds: Bool { rounding != nil }

    func words(_ direction: Direction) -> String {
        let rounded =
            switch rounding {
            case nil: "; what is not exact is refused"
            case .down?: ", rounded down"
            case .halfUp?: ", rounded half up"
            case .halfEven?: ", rounded half to even"
            }
        return (direction == .up ? "times \(num) / \(den)" : "times \(den) / \(num)") + rounded
    }

    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout BindingContext) -> CodecBinding? {
        let made = kind ?? declared?.kind ?? source.kind
        guard [.integer, .number].contains(source.kind), [.integer, .number].contains(made) else {
            return site.refuse(Rule.wrongKind, "scale makes a number of a number, and here is \(source.noun)", fix: "choose another codec")
        }
        let up = Factor(num: num, den: den, isInteger: made == .integer, rounding: rounding)
        let down = Factor(num: den, den: num, isInteger: source.kind == .integer, rounding: rounding)
        if rounding == nil {
            if up.dividesIntoIntegers(source) || down.dividesIntoIntegers(Shape(made)) { site.opClass.insert(.partial) }
        } else {
            if up.loses(source) { site.opClass.insert(.narrow) }
            if down.loses(Shape(made)) { site.opClass.insert(.widen) }
        }
        return CodecBinding(result: Shape(made), codec: BoundScale(up: up, down: down))
    }
}

private struct BoundScale: BoundCodec {
    let up, down: Factor

    func recode(_ content: RawSpan, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        try (direction == .up ? up : down).apply(content, kind, into: &output)
    }
}

/// One direction of a scale.
private struct Factor: Sendable {
    /// The maximum number of fraction digits of a quotient that is not an integer.
    private static let fractionDigits = 20

    let num, den: Int
    let isInteger: Bool
    let rounding: DecimalNumber.Rounding?

    /// Whether results are integers, and not all of them exact.
    func dividesIntoIntegers(_ source: Shape) -> Bool { isInteger && (den > 1 || source.kind == .number) }

    /// Whether rounding may make a result from which the other direction does not give back the value.
    ///
    /// A number may have more digits after the point than a result. An integer whose quotient is not finite comes back where it is rounded
    /// to the nearest integer, and as the one before it where it is rounded down.
    func loses(_ source: Shape) -> Bool {
        guard !isInteger, source.kind == .integer else { return source.kind == .number || den > 1 }
        let quotient = DecimalNumber(num).divided(by: den, fractionDigits: Self.fractionDigits, .down)
        return rounding == .down && quotient * DecimalNumber(den) != DecimalNumber(num)
    }

    func apply(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        if kind == .number, let plain = content.plainInteger {
            let (product, isTooLarge) = plain.multipliedReportingOverflow(by: num)
            if !isTooLarge, product % den == 0, product != .min {
                output.append(integer: product / den)
                return true
            }
        }
        guard kind == .number, let number = DecimalNumber(json: content) else {
            throw CodecRefusal(expected: "a number" + (kind == .number ? " with \(DecimalNumber.exponents)" : ""))
        }
        let product = number * DecimalNumber(num)
        let digits = isInteger ? 0 : Self.fractionDigits
        let quotient = product.divided(by: den, fractionDigits: digits, rounding ?? .down)
        if rounding == nil, quotient * DecimalNumber(den) != product {
            throw CodecRefusal(expected: "a number that times \(num) / \(den) is \(isInteger ? "an integer" : "a finite decimal")")
        }
        quotient.append(to: &output)
        return true
    }
}
