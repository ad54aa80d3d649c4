internal import EventModel
package import JSONText

/// One change to a payload, as declared in a version file. It is read once and bound once for each type that it changes.
protocol Op: Sendable {
    static var name: String { get }

    /// Reads the arguments: the value in the map with a single key that represents an op.
    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the context's shape as the op changes payloads, adds the op's class and findings to the context, and returns the bound op;
    /// nil if nothing needs to run or if the op can't be bound.
    func bind(_ site: inout BindingContext) -> (any BoundOp)?

    /// The member that the op moves, with everything inside it; nil if it moves none.
    var origin: JSONPointer? { get }

    /// The pointer of a member after the op; unchanged unless the op moves the member or one that contains it.
    func destination(of pointer: JSONPointer) -> JSONPointer

    /// The members whose values the op changes.
    var writes: [JSONPointer] { get }

    /// Other members on whose values it depends what the op makes of those that it changes.
    var reads: [JSONPointer] { get }

    /// Whether the op never refuses or hides an event, in either direction.
    var isTotal: Bool { get }

    /// The reason that the file gives for a loss, empty if it gives none; nil if the op itself does not lose anything on purpose.
    var loss: String? { get }

    /// Whether a new event of version n may have no image at the older version, by declaration.
    var blocks: Bool { get }

    /// The ops inside this one.
    var inner: [OpEntry] { get }

    /// A short description of the op: `move`, `split /customer`.
    var summary: OpSummary { get }

    /// What the op does to members of the payload, in words.
    /// - Parameter holder: the value to which the op's pointers are relative, such as an element of a list.
    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect]

    /// What the lint rules need to know of the op.
    var trait: OpTrait? { get }
}

/// An op that changes the value of one member, by which summaries name it.
protocol MemberOp: Op {
    var path: JSONPointer { get }
}

extension MemberOp {
    var writes: [JSONPointer] { [path] }

    var summary: OpSummary { OpSummary(verb: Self.name, object: path.description) }
}

/// A property of an op for the lint rules.
package enum OpTrait: Sendable {
    /// Removes the member.
    case removes(JSONPointer)
    /// Rounds the member's value if it is not exact.
    case rounds(JSONPointer)
    /// Derives the member from the event's metadata or from the stream's name.
    case addsFromMetadata(JSONPointer, at: JSONPointer)
    case addsFromStream(at: JSONPointer)
}

/// A summary of an op for lists such as `move x2, split /customer`, in which equal ones are counted.
struct OpSummary: Hashable, Sendable {
    var verb: String
    var object: String?

    var words: String { [verb, object].compactMap(\.self).joined(separator: " ") }
}

extension Op {
    var origin: JSONPointer? { nil }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer }

    var reads: [JSONPointer] { [] }

    var isTotal: Bool { false }

    var loss: String? { nil }

    var trait: OpTrait? { nil }

    var blocks: Bool { inner.contains { $0.op.blocks } }

    var inner: [OpEntry] { [] }

    var summary: OpSummary { OpSummary(verb: Self.name) }

    /// This op and all ops inside it, outermost first.
    var nested: [any Op] { [self] + inner.flatMap(\.op.nested) }

    var ownLoss: OpLoss { OpLoss(op: summary.words, because: loss ?? "") }

    /// The ops under which losses are counted: this op, or each of the ops inside it.
    var losses: [OpLoss] { inner.isEmpty ? [ownLoss] : inner.flatMap { $0.op.losses.map { $0.within(summary) } } }
}

/// The key under which losses of an op are counted: its name in reports, and the file's reason, empty if it gives none.
struct OpLoss: Hashable, Sendable {
    var op: String
    var because: String

    /// The key for an op inside another one.
    func within(_ holder: OpSummary) -> OpLoss { OpLoss(op: "\(holder.words), \(op)", because: because) }
}

/// An op with its location in the file and its number in the step.
package struct OpEntry: Sendable {
    let op: any Op
    package let mark: FileLocation
    /// Counted from 1 over the whole step.
    let number: Int

    package var name: String { type(of: op).name }

    /// The name of the op in errors.
    var label: String { "\(name) (op \(number))" }

    package func effects(_ direction: Direction) -> [OpEffect] { op.effects(direction, in: JSONPointer()) }

    package var trait: OpTrait? { op.trait }

    package var inner: [OpEntry] { op.inner }
}

/// What an op may lose or refuse. The class of a step is the union of its ops' classes.
package struct OpClass: OptionSet, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Nothing is lost in either direction.
    package static let iso: OpClass = []
    /// Something may be lost on the way down.
    package static let widen = OpClass(rawValue: 1)
    /// Something may be lost on the way up.
    package static let narrow = OpClass(rawValue: 2)
    /// An event may lack an image or change in a round trip; only the data can prove otherwise.
    package static let partial = OpClass(rawValue: 4)
    /// The step has no downcast.
    package static let oneWay = OpClass(rawValue: 8)

    package var description: String {
        let names = [(OpClass.widen, "widen"), (.narrow, "narrow"), (.partial, "partial"), (.oneWay, "one-way")]
            .filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "iso" : names.joined(separator: ", ")
    }
}

/// What an op does to members in one direction, in words.
package struct OpEffect: Sendable {
    package enum Kind: Sendable {
        /// The member gets another value.
        case changes(JSONPointer)
        case moves(from: JSONPointer, to: JSONPointer)
        case appears(JSONPointer)
        case goes(JSONPointer)
        /// The member may have more values than before, or is new and optional; values of old events are unchanged.
        case widens(JSONPointer)
    }

    package let kind: Kind
    package var words: String

    init(_ kind: Kind, _ words: String) { (self.kind, self.words) = (kind, words) }
}

/// What happens to an event of one type when it crosses an op on events.
package struct EventEffect: Sendable {
    /// Nil if there is no image.
    package let type: String?
    package let words: String
    /// The changes of members before any are picked.
    package var effects: [OpEffect] = []
    /// The members that are kept; nil means all.
    package var pick: [JSONPointer]?
    /// The description for a member that is not kept.
    package var otherwise: @Sendable (JSONPointer) -> String = { _ in "does not go on" }
    /// Whether only the members that the resulting type declares are kept.
    package var isApart = false
    /// The events that are joined with it, and the changes of their members before the join.
    package var joined: [(type: String, effects: [OpEffect])] = []
    /// The changes of members after some were picked.
    package var later: [OpEffect] = []
    /// The template of its stream afterwards, if that changes.
    package var stream: StreamTemplate?
}

extension JSONPointer {
    /// The pointer from the payload's root to a member that this pointer names relative to a holder.
    func below(_ holder: JSONPointer) -> JSONPointer { JSONPointer(tokens: holder.tokens + tokens) }

    /// The condition of an op that sets the member and makes no object for it; empty for a member at the top.
    func around(_ word: String) -> String { tokens.count > 1 ? " \(word) the object around it is there" : "" }
}

extension String {
    /// A text as an explanation shows it: in quotes, unless it is a single plain word.
    var inWords: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || "-_./".unicodeScalars.contains($0)
        }
        return !isEmpty && isPlain ? self : JSONValue.string(self).text
    }
}

extension JSONValue {
    /// A scalar as an explanation shows it: a text that could be read as a number or JSON literal is quoted.
    var inWords: String {
        guard case .string(let text) = self, case .string = Shape.value(text, .any) else { return self.text }
        return text.inWords
    }
}

extension Guard {
    /// The test as a clause.
    package func words(in holder: JSONPointer = JSONPointer()) -> String {
        let what =
            switch source {
            case .pointer(let pointer): JSONPointer(tokens: holder.tokens + pointer.tokens).description
            case .metadata(let pointer): "$metadata\(pointer)"
            default: "$time"
            }
        return switch test {
        case .oneOf(let values): "\(what) is \(values.map { String(decoding: $0.canonical, as: UTF8.self) }.joined(separator: " or "))"
        case .exists(let wanted): wanted ? "\(what) is there" : "\(what) is absent"
        case .below(.number(let limit)): "\(what) is below \(limit)"
        case .below(.dotted(let limit)): "\(what) is below \(limit)"
        case .below(.moment(let time)): "\(what) is before \(time)"
        case .below(.unordered(let text)): "\(what) is below \(quoted(text))"
        }
    }
}
