package import EventModel
internal import FoundationEssentials
package import JSONText

/// A change of a payload that no op can express: the code behind a `swift` op of a version file.
///
/// It must be a pure function: equal members give equal results, regardless of the time, the machine and the order of events. It receives
/// the members that the op declares to read, and may change those that the op declares to write. If it throws, the event has no image; a
/// `StepFailure` says where and why.
public protocol SwiftStep: Sendable {
    /// The id in the version file.
    var id: String { get }
    /// The revision in the version file. Until the version is released, raise it whenever the code's results change.
    var revision: Int { get }

    /// Converts the members of the older version to those of the newer one.
    func up(_ members: inout StepMembers) throws
}

/// A step that can also convert back to the older version.
public protocol ReversibleSwiftStep: SwiftStep {
    /// Converts the members of the newer version to those of the older one: the inverse of `up`, as far as the declared class promises.
    func down(_ members: inout StepMembers) throws
}

/// Why a step can't convert an event.
public struct StepFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// An RFC 6901 pointer from the payload's root.
    public var pointer: String
    public var expected: String
    public var found: String

    public init(at pointer: String = "", expected: String, found: String) {
        (self.pointer, self.expected, self.found) = (pointer, expected, found)
    }

    public var description: String { "\(pointer.isEmpty ? "the payload" : pointer) should be \(expected), found \(found)" }
}

/// A `swift` step between two Swift types: the payload before the step and the payload after it.
///
/// The older type is decoded from the members that the op reads. From the encoded newer type, the members that the op writes are taken
/// over; all other members must be absent or unchanged. If a closure throws, the event has no image.
public struct TypedStep<Old: Codable & Sendable, New: Codable & Sendable>: ReversibleSwiftStep {
    public let id: String
    public let revision: Int
    private let newer: @Sendable (Old) throws -> New
    private let older: @Sendable (New) throws -> Old

    public init(
        _ id: String, revision: Int, from old: Old.Type = Old.self, to new: New.Type = New.self,
        up: @escaping @Sendable (Old) throws -> New, down: @escaping @Sendable (New) throws -> Old
    ) {
        (self.id, self.revision, newer, older) = (id, revision, up, down)
    }

    public func up(_ members: inout StepMembers) throws { try members.encode(newer(members.decode())) }

    public func down(_ members: inout StepMembers) throws { try members.encode(older(members.decode())) }
}

/// A `swift` step between two Swift types that can't convert back, for `down: one-way`.
public struct OneWayTypedStep<Old: Decodable & Sendable, New: Encodable & Sendable>: SwiftStep {
    public let id: String
    public let revision: Int
    private let newer: @Sendable (Old) throws -> New

    public init(
        _ id: String, revision: Int, from old: Old.Type = Old.self, to new: New.Type = New.self,
        up: @escaping @Sendable (Old) throws -> New
    ) {
        (self.id, self.revision, newer) = (id, revision, up)
    }

    public func up(_ members: inout StepMembers) throws { try members.encode(newer(members.decode())) }
}

/// The Swift steps that a program contains, by id.
package struct SwiftSteps: Sendable {
    package static let none = SwiftSteps()

    private var steps: [String: any SwiftStep] = [:]

    private init() {}

    /// - Throws: `EvstoreError.misuse` if two steps have equal ids.
    package init(_ list: [any SwiftStep]) throws(EvstoreError) {
        for step in list where steps.updateValue(step, forKey: step.id) != nil {
            throw .misuse("the step \(step.id) is registered twice")
        }
    }

    package var isEmpty: Bool { steps.isEmpty }

    subscript(_ id: String) -> (any SwiftStep)? { steps[id] }
}

extension History {
    /// These versions, with the program's code for their `swift` ops.
    package func with(_ steps: SwiftSteps) -> History {
        steps.isEmpty ? self : History(versions: versions, warnings: warnings, swiftSteps: steps)
    }

    /// - Throws: `EvstoreError.programNeeded` with the first step up to a version that this program can't run.
    package func requireSwiftSteps(through version: SchemaVersion) throws(EvstoreError) {
        for step in chain.steps where step.version <= version {
            if let missing = step.missingSwiftSteps.first { throw .programNeeded(what: missing) }
        }
    }

    /// Descriptions of the Swift steps between two versions that this program can't run.
    package func missingSwiftSteps(from: SchemaVersion, to: SchemaVersion) -> [String] {
        steps(from: from, to: to).flatMap(\.missingSwiftSteps)
    }

    /// Descriptions of the Swift steps between two versions, in order, each with the types of the versions `floor` … `to` - 1 whose events
    /// are upcast by it. A program without the step can't append events of these types once `to` is live.
    package func typesUpThroughSwift(
        from: SchemaVersion, to: SchemaVersion, floor: SchemaVersion
    ) throws(EvstoreError) -> [(step: String, types: [String])] {
        let steps = steps(from: from, to: to).filter(\.hasSwiftSteps)
        if steps.isEmpty || from >= to { return [] }
        var found: [String: Set<Name>] = [:]
        for born in floor.through(to.previous) {
            for type in types(at: born) {
                let path = try path(type: type, born: born, to: to)
                for step in path.swiftSteps(.up) where step.op.step > from { found[step.bound.words, default: []].insert(Name(type)) }
            }
        }
        return Self.words(of: steps).compactMap { step in found[step].map { (step, $0.sorted().map(\.text)) } }
    }

    /// Descriptions of the Swift steps between two versions, in order, each with the types of the versions above `to` whose events can be
    /// downcast only by its code. A program without the step can't read them at `to`, since no shadow keeps their images there.
    package func typesDownThroughSwift(
        from: SchemaVersion, to: SchemaVersion
    ) throws(EvstoreError) -> [(step: String, types: [TypeAtVersion])] {
        let steps = steps(from: from, to: to).filter(\.hasSwiftSteps)
        if steps.isEmpty || from <= to { return [] }
        var found: [String: [TypeAtVersion]] = [:]
        for file in versions where to < file.number && file.number <= from {
            for type in file.types {
                let path = try path(type: type, born: file.number, to: to)
                for step in path.swiftStepsDown { found[step, default: []].append(TypeAtVersion(type: type, version: file.number)) }
            }
        }
        return Self.words(of: steps).compactMap { step in found[step].map { (step, $0) } }
    }

    private static func words(of steps: [CompiledStep]) -> [String] {
        steps.flatMap(\.boundSwiftSteps).map(\.words).reduce(into: []) { words, one in if !words.contains(one) { words.append(one) } }
    }
}

extension CompiledStep {
    var hasSwiftSteps: Bool { !boundSwiftSteps.isEmpty }

    var missingSwiftSteps: [String] {
        boundSwiftSteps.compactMap(\.missing).reduce(into: []) { words, one in if !words.contains(one) { words.append(one) } }
    }

    var boundSwiftSteps: [BoundSwiftStep] {
        stages.flatMap { stage -> [BoundSwiftStep] in
            guard case .payload(let entries) = stage else { return [] }
            return entries.sortedNames.flatMap { entries[$0] ?? [] }.compactMap { $0.op as? BoundSwiftStep }
        }
    }
}

extension Path {
    func swiftSteps(_ direction: Direction) -> [(bound: BoundSwiftStep, op: PathOp)] {
        var found: [(bound: BoundSwiftStep, op: PathOp)] = []
        root.visit { segment in
            for op in segment.ops where op.direction == direction {
                if let bound = op.op as? BoundSwiftStep { found.append((bound, op)) }
            }
        }
        return found
    }

    /// The Swift steps that run whenever an event is downcast. Steps above one that keeps a shadow do not run, since the downcast starts
    /// from the shadow.
    fileprivate var swiftStepsDown: Set<String> {
        let steps = swiftSteps(.down).filter { !$0.op.blocks }
        let kept = steps.filter { $0.bound.keepsShadow }.map { $0.op.step }.min()
        return Set(steps.filter { one in !one.bound.keepsShadow && kept.map { one.op.step < $0 } ?? true }.map { $0.bound.words })
    }
}

/// How Swift values are encoded in payloads and in rows; rows have sorted members, so that equal rows have equal digests.
package enum SwiftValues {
    package static let payloads = JSONCoding(leaves: leaves)
    package static let rows = JSONCoding(leaves: leaves, sortsMembers: true)

    private static let leaves: [JSONLeaf] = [
        // Dates have a precision of microseconds, which is what the text can express.
        JSONLeaf(
            Date.self, read: { text($0).flatMap { Timestamp($0) }.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1e6) } },
            write: {
                Int64(exactly: ($0.timeIntervalSince1970 * 1e6).rounded()).map { .string(Timestamp(microseconds: $0).description) }
            }),
        JSONLeaf(
            Decimal.self,
            read: {
                guard case .number(let text) = $0 else { return nil }
                return Decimal(string: text)
            }, write: { $0.isNaN ? nil : .number($0.description) }),
        JSONLeaf(Data.self, read: { text($0).flatMap { Data(base64Encoded: $0) } }, write: { .string($0.base64EncodedString()) }),
        JSONLeaf(URL.self, read: { text($0).flatMap { URL(string: $0) } }, write: { .string($0.absoluteString) }),
    ]

    /// The pointer to the value at which a coder failed.
    package static func pointer(_ error: any Error) -> String {
        var pointer = JSONPointer()
        for key in context(error)?.codingPath ?? [] {
            pointer.tokens.append(MemberName(key.intValue.map { String($0) } ?? key.stringValue))
        }
        return pointer.description
    }

    /// The coder's own description of the error.
    package static func reason(_ error: any Error) -> String { context(error)?.reason ?? "\(error)" }

    private static func context(_ error: any Error) -> (codingPath: [any CodingKey], reason: String)? {
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            (context.codingPath, context.debugDescription)
        case EncodingError.invalidValue(_, let context): (context.codingPath, context.debugDescription)
        default: nil
        }
    }

    private static func text(_ scalar: JSONLeaf.Scalar) -> String? {
        if case .string(let text) = scalar { text } else { nil }
    }
}
