internal import Bytes
internal import EventModel
internal import JSONText

/// Converts between two forms of a value, as `using:` names it.
protocol Codec: Sendable {
    static var name: String { get }

    /// - Parameters:
    ///   - arguments: the value beside the name; nil where the name stands alone.
    ///   - using: the whole value of `using:`, for findings.
    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem)

    /// The codec with its arguments, for tools that read version files.
    var statement: CodecStatement { get }

    /// Binds the codec to a member's shape and the kind of value that it is to become; nil, with
    /// a finding, where it does not convert between them.
    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout OpSite) -> CodecBinding?
}

/// A codec bound to a shape, and the shape that it makes.
struct CodecBinding {
    var result: Shape
    var codec: any BoundCodec
    /// Whether the way down makes only values that fit the source's bounds.
    var keepsBounds = false
}

/// Takes a value's content (a string unescaped, anything else as JSON text), appends JSON text, and
/// returns whether the input was in the codec's canonical form.
protocol BoundCodec: Sendable {
    func up(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool

    func down(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool
}

extension BoundCodec {
    func recode(
        _ content: borrowing ByteBuffer, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        switch direction {
        case .up: try up(content.bytes, kind, into: &output)
        case .down: try down(content.bytes, kind, into: &output)
        }
    }
}

/// A codec can't convert a value.
struct CodecRefusal: Error {
    /// What it takes, in the words of an error.
    let expected: String
}

package enum Direction: Hashable, Sendable { case up, down }

enum CodecRegistry {
    static let codecs: [any Codec.Type] = [
        IntegerText.self, NumberText.self, BooleanText.self, DecimalText.self, EpochSeconds.self, EpochMillis.self,
        DateOfTime.self, LocalTime.self, Scale.self, Table.self,
    ]

    /// Reads `using:`, a name or a map with one.
    static func codec(_ node: FileNode) throws(FileProblem) -> any Codec {
        let (name, place): (String, Mark)
        let arguments: FileNode?
        if case .string(let text) = node.kind {
            (name, place, arguments) = (text, node.mark, nil)
        } else {
            let member = try OpRegistry.single(node, "using")
            (name, place, arguments) = (member.name, member.place, member.value)
        }
        let known = codecs.map { $0.name }
        guard let type = codecs.first(where: { $0.name == name }) else {
            let meant = nearest(to: name, among: known)
            throw node.problem(
                "there is no codec \(name)", rule: Rule.opArgument,
                fix: meant.map { "did you mean \($0)?" } ?? "the codecs are: \(known.joined(separator: ", "))"
            ).mended(meant.map { place.mend(.rename($0)).certain(where: isSlip(name, of: $0, among: known)) })
        }
        return try type.init(arguments, in: node)
    }

    /// Throws where a codec without arguments has some.
    static func refuseArguments(_ arguments: FileNode?, _ name: String) throws(FileProblem) {
        if let arguments { throw arguments.problem("\(name) takes no arguments", rule: Rule.opArgument, fix: "using: \(name)") }
    }
}

/// A codec in one direction for one member.
struct Conversion: Sendable {
    let codec: any BoundCodec
    let direction: Direction
    let pointer: JSONPointer
    /// The kind of what it makes, where that is known.
    var makes: JSONKind?
    /// Whether a value that is not in canonical form is counted.
    var counts = true
    /// Whether such a value is refused.
    var isStrict = false
}
