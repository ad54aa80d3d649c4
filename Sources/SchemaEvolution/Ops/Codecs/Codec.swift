internal import Bytes
internal import EventModel
internal import JSONText

/// Converts a value between two forms; named by the `using:` argument.
protocol Codec: Sendable {
    static var name: String { get }

    /// - Parameters:
    ///   - arguments: the value beside the name; nil if the name stands alone.
    ///   - using: the complete value of `using:`, for findings.
    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem)

    /// A short description of the codec. Only that of a table depends on the direction.
    func words(_ direction: Direction) -> String

    /// Whether it rounds values that are not exact.
    var rounds: Bool { get }

    /// Whether a value that was converted there and back may be another one after the next time, by declaration.
    var drifts: Bool { get }

    /// Binds the codec to a member's shape and the kind of the converted value. Returns nil, after adding a finding, if the codec does not
    /// convert between them.
    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout BindingContext) -> CodecBinding?
}

extension Codec {
    var rounds: Bool { false }
    var drifts: Bool { rounds }
}

/// A codec that is bound to a shape, and the shape of its results.
struct CodecBinding {
    var result: Shape
    var codec: any BoundCodec
    /// Whether downward conversion produces only values that fit the source's bounds.
    var keepsBounds = false
}

/// Takes a value's content (the decoded text of a string, the JSON text of other values), appends JSON text, and returns whether the input
/// was in the codec's canonical form.
protocol BoundCodec: Sendable {
    func recode(_ content: RawSpan, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool
}

extension BoundCodec {
    func recode(
        _ content: borrowing ByteBuffer, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        try recode(content.bytes, kind, direction, into: &output)
    }
}

struct CodecRefusal: Error, CustomStringConvertible {
    /// The accepted values, in the wording of an error.
    let expected: String

    var description: String { "should be \(expected)" }
}

package enum Direction: Hashable, Sendable { case up, down }

package enum CodecRegistry {
    static let codecs: [any Codec.Type] = [
        IntegerText.self, NumberText.self, BooleanText.self, DecimalText.self, EpochSeconds.self, EpochMillis.self,
        DateOfTime.self, LocalTime.self, Scale.self, Table.self,
    ]

    package static var names: [String] { codecs.map { $0.name } }

    /// Reads `using:`, which is a name or a map with a single key.
    static func codec(_ node: FileNode) throws(FileProblem) -> any Codec {
        let (name, place): (String, FileLocation)
        let arguments: FileNode?
        if case .string(let text) = node.kind {
            (name, place, arguments) = (text, node.mark, nil)
        } else {
            let member = try OpRegistry.single(node, "using")
            (name, place, arguments) = (member.name, member.place, member.value)
        }
        let known = names
        guard let type = codecs.first(where: { $0.name == name }) else {
            let meant = nearest(to: name, among: known)
            throw node.problem(
                "there is no codec \(name)", rule: Rule.opArgument,
                fix: meant.map { "did you mean \($0)?" } ?? "the codecs are: \(known.joined(separator: ", "))"
            ).withRepairs(meant.map { place.repair(.rename($0)).certain(where: isTypo(name, of: $0, among: known)) })
        }
        return try type.init(arguments, in: node)
    }
}

/// A codec in one direction, applied to one member.
struct Conversion: Sendable {
    let codec: any BoundCodec
    let direction: Direction
    let pointer: JSONPointer
    /// The kind of the result, if it is known.
    var makes: JSONKind?
    /// Whether a value that is not in canonical form is counted.
    var counts = true
    /// Whether a value that is not in canonical form is refused.
    var isStrict = false
}

/// A codec between a left and a right form. The shape of the member determines which of them is older.
protocol PairCodec: Codec {
    var left: CodecSide { get }
    var right: CodecSide { get }
    /// Whether converting from left to right may lose something.
    var losesRightward: Bool { get }

    /// Appends the value of the right form, without the quotes of a text.
    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool

    /// Appends the value of the left form, without the quotes of a text.
    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool
}

/// A codec without arguments.
protocol PlainCodec: PairCodec {
    init()
}

extension PlainCodec {
    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        if let arguments { throw arguments.problem("\(Self.name) takes no arguments", rule: Rule.opArgument, fix: "using: \(Self.name)") }
        self.init()
    }
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
            return site.refuse(
                Rule.wrongKind, "\(Self.name) is between \(left.shape.noun) and \(right.shape.noun), and here is \(source.noun)",
                fix: "choose another codec")
        }
        let (from, made) = isReversed ? (right, left) : (left, right)
        if let kind, kind != made.shape.kind, !made.kinds.contains(kind) {
            return site.refuse(
                Rule.opArgument, "\(Self.name) makes \(made.shape.noun) of \(source.noun), not \(Shape(kind).noun)",
                fix: "to: \(made.shape.kind.rawValue)", repair: site.mark.repair("*", "to", to: .string(made.shape.kind.rawValue)))
        }
        var result = made.shape
        if let kind { result.kind = kind }
        if source.kind == .string, source.format != from.shape.format || from.shape.format == nil {
            site.note(Rule.undecided, .note, "whether every text is one that \(Self.name) can read is known from the data alone")
        }
        if source.kind != from.shape.kind { site.mayFail() }
        if losesRightward { site.opClass.insert(isReversed ? .widen : .narrow) }
        return CodecBinding(result: result, codec: BoundPair(self, isReversed: isReversed))
    }
}

private struct BoundPair<Pair: PairCodec>: BoundCodec {
    private let codec: Pair
    private let isReversed: Bool
    /// Whether the values of each form are texts.
    private let quotesLeft, quotesRight: Bool

    init(_ codec: Pair, isReversed: Bool) {
        (self.codec, self.isReversed) = (codec, isReversed)
        (quotesLeft, quotesRight) = (codec.left.shape.kind == .string, codec.right.shape.kind == .string)
    }

    func recode(_ content: RawSpan, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        let isLeftward = isReversed == (direction == .up)
        let quotes = isLeftward ? quotesLeft : quotesRight
        if quotes { output.append(UInt8(ascii: "\"")) }
        let isCanonical =
            isLeftward ? try codec.leftward(content, kind, into: &output) : try codec.rightward(content, kind, into: &output)
        if quotes { output.append(UInt8(ascii: "\"")) }
        return isCanonical
    }
}
