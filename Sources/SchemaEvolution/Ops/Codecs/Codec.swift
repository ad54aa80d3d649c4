internal import Bytes
internal import EventModel
internal import JSONText

/// Two forms of one value, as `using:` names them.
protocol Codec: Sendable {
    static var name: String { get }

    /// - Parameters:
    ///   - arguments: the value beside the name; nil where the name stands alone.
    ///   - using: the whole, for a finding.
    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem)

    /// The codec with its arguments, for tools that read version files.
    var statement: CodecStatement { get }

    /// Fits the codec between a member's shape and the kind of value that it is to become; nil, with
    /// a finding, where it does not fit.
    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout OpSite) -> CodecBinding?
}

/// A codec between two shapes.
struct CodecBinding {
    var result: Shape
    var codec: any BoundCodec
    /// Whether the way down gives nothing that the source's own bounds refuse.
    var keepsBounds = false
}

/// Takes a value's content (a string unescaped, anything else as JSON text), appends JSON text, and
/// returns whether the input was in the codec's own form.
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

/// What a codec expected instead of what it was given.
struct CodecRefusal: Error {
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
            ).mended(meant.map { place.mend(.rename($0)) })
        }
        return try type.init(arguments, in: node)
    }

    /// Checks that a codec that has no arguments got none.
    static func refuseArguments(_ arguments: FileNode?, _ name: String) throws(FileProblem) {
        if let arguments { throw arguments.problem("\(name) takes no arguments", rule: Rule.opArgument, fix: "using: \(name)") }
    }
}

/// A codec in one direction at one place.
struct Conversion {
    let codec: any BoundCodec
    let direction: Direction
    let pointer: JSONPointer
    /// Whether a value that is not in canonical form is counted.
    var counts = true
    /// Whether such a value is an error.
    var isStrict = false
}

extension Splice {
    /// Runs a codec over a value and leaves the result in `run.output`; false for null, which codecs leave alone.
    func convert(_ node: Node, _ conversion: Conversion, _ run: inout OpRun) throws(OpStop) -> Bool {
        let kind = kind(node)
        if case .null = kind { return false }
        run.content.removeAll()
        run.output.removeAll()
        content(of: node, into: &run.content)
        do {
            if try conversion.codec.recode(run.content, kind, conversion.direction, into: &run.output) { return true }
        } catch {
            throw .failed(pointer: conversion.pointer.description, expected: error.expected, found: words(node))
        }
        if conversion.isStrict {
            throw .failed(pointer: conversion.pointer.description, expected: "in canonical form", found: words(node))
        }
        if conversion.counts { run.counts.nonCanonical += 1 }
        return true
    }
}
