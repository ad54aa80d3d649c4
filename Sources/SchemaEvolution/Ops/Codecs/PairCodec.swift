internal import Bytes
internal import EventModel
internal import JSONText

/// A codec between a left and a right form. The shape of the member determines which of them is older.
protocol PairCodec: Codec {
    var left: CodecSide { get }
    var right: CodecSide { get }
    /// Whether converting from left to right may lose something.
    var losesRightward: Bool { get }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool
}

/// One form of a codec's values.
struct CodecSide {
    /// The shape of the values that the codec produces.
    var shape: Shape
    /// Further kinds of values that the codec accepts.
    var kinds: [Shape.Kind] = []

    init(_ shape: Shape, also kinds: [Shape.Kind] = []) { (self.shape, self.kinds) = (shape, kinds) }

    func takes(_ source: Shape) -> Bool { source.kind == shape.kind || kinds.contains(source.kind) }
}

extension PairCodec {
    var losesRightward: Bool { false }

    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout BindingContext) -> CodecBinding? {
        let isReversed: Bool
        switch (left.takes(source), right.takes(source)) {
        case (true, false): isReversed = false
        case (false, true): isReversed = true
        case (true, true): isReversed = source.format == right.shape.format && source.format != left.shape.format
        case (false, false):
            site.note(
                Rule.wrongKind, "\(Self.name) is between \(left.shape.noun) and \(right.shape.noun), and here is \(source.noun)",
                fix: "choose another codec")
            return nil
        }
        let (from, made) = isReversed ? (right, left) : (left, right)
        if let kind, kind != made.shape.kind, !made.kinds.contains(kind) {
            site.note(
                Rule.opArgument, "\(Self.name) makes \(made.shape.noun) of \(source.noun), not \(Shape(kind).noun)",
                fix: "to: \(made.shape.kind.rawValue)", repair: site.mark.repair("*", "to", to: .string(made.shape.kind.rawValue)))
            return nil
        }
        var result = made.shape
        if let kind { result.kind = kind }
        if source.kind == .string, source.format != from.shape.format || from.shape.format == nil {
            site.note(Rule.undecided, .note, "whether every text is one that \(Self.name) can read is known from the data alone")
        }
        if source.kind != from.shape.kind {
            site.isUnproved = true
            site.opClass.insert(.partial)
        }
        if losesRightward { site.opClass.insert(isReversed ? .widen : .narrow) }
        return CodecBinding(result: result, codec: BoundPair(codec: self, isReversed: isReversed))
    }
}

private struct BoundPair<Pair: PairCodec>: BoundCodec {
    let codec: Pair
    let isReversed: Bool

    func recode(_ content: RawSpan, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        isReversed == (direction == .up)
            ? try codec.leftward(content, kind, into: &output) : try codec.rightward(content, kind, into: &output)
    }
}
