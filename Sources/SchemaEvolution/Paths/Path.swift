package import EventModel
internal import JSONText

/// What an event of one type and birth version is at one version, compiled: a run of ops, then an end or branches.
package final class Path: Sendable {
    package let type: String
    package let born, target: SchemaVersion
    /// Whether `$stream` is read on the way, so that the caller has to find the stream's name.
    package let readsStream: Bool
    /// Whether a step merges the event with others of its append: then it is seen together with them.
    package let merges: Bool
    /// The other names that streams of the type may get, in words.
    let rekeys: [String]
    let root: PathSegment
    /// The only image's end, where it is the stored bytes.
    let unchanged: PathEnd?
    /// The same as one program, where a viewer runs it.
    let fused: FusedProgram?

    init(
        type: String, born: SchemaVersion, target: SchemaVersion, root: PathSegment, merges: Bool = false, rekeys: [String] = [],
        fused: FusedProgram? = nil
    ) {
        (self.type, self.born, self.target, self.root, self.merges, self.fused) = (type, born, target, root, merges, fused)
        self.rekeys = rekeys
        readsStream = root.readsStream
        if root.ops.isEmpty, case .end(let end) = root.next { unchanged = end } else { unchanged = nil }
    }

    /// The path for events of the shape that they were born with, fused where that can be done.
    func fused(for shape: EventShape, reading: ((String) -> [JSONPointer]?)? = nil) -> Path {
        if isUntouched { return self }
        return Path(
            type: type, born: born, target: target, root: root, merges: merges, rekeys: rekeys,
            fused: FusedCompiler.compile(root, of: shape.shape, reading: reading) ?? fused)
    }

    /// Whether images are the stored bytes as they are, at their own version or at one whose steps leave the type alone.
    package var isUntouched: Bool {
        unchanged.map { !$0.isUnproved } ?? false
    }

    /// The types that images can have, in order; empty where every event is hidden, dropped or blocked.
    package var types: [String] { images.map(\.type) }

    /// The same with their indices in `history.types(at: target)`.
    package var images: [(index: Int, type: String)] {
        var found: [(index: Int, type: String)] = []
        root.visit { segment in
            if case .end(let end) = segment.next, !found.contains(where: { $0.index == end.typeIndex }) {
                found.append((end.typeIndex, end.type))
            }
        }
        return found
    }
}

/// A run of ops over one document, and what follows it.
final class PathSegment: Sendable {
    let ops: [PathOp]
    let next: PathNext
    /// Where what the change to whole events at its end does not give back is entered.
    let turn: LossDeclaration?

    init(ops: [PathOp], next: PathNext, turn: LossDeclaration? = nil) { (self.ops, self.next, self.turn) = (ops, next, turn) }

    func visit(_ body: (PathSegment) -> Void) {
        body(self)
        switch next {
        case .dispatch(let dispatch): for branch in dispatch.branches { branch.segment.visit(body) }
        case .fan(let fan): for part in fan.parts { part.segment.visit(body) }
        case .adoption(let adoption): for branch in adoption.branches { branch.segment.visit(body) }
        case .junction(let junction, _):
            junction.joined.visit(body)
            for arm in junction.arms { arm.lone.visit(body) }
        case .end, .hidden, .dropped, .blocked: break
        }
    }

    var readsStream: Bool {
        var found = false
        visit { segment in found = found || segment.ops.contains(where: \.op.readsStream) }
        return found
    }
}

/// An op in one direction.
struct PathOp: Sendable {
    let op: any BoundOp
    let direction: Direction
    let step: SchemaVersion
    let label: String
    let summary: OpSummary?
    let mark: Mark?
    let blocks: Bool
    let loss: LossDeclaration
    /// For an op that reads the name of the event's stream, where that is another one at the op's version than at the event's.
    var streams: StreamRenaming?

    /// What a stream is called at the op's version.
    func stream(_ name: String?) throws(OpStop) -> String? {
        guard let name, let streams else { return name }
        do { return try streams.name(of: StreamName(name)).text } catch {
            throw .failed(
                pointer: ImageFailure.streamName, expected: "a name that leads back from \(step)", found: quoted(name))
        }
    }

    /// The op for events of a version.
    func naming(_ history: History, from born: SchemaVersion) -> PathOp {
        guard op.readsStream else { return self }
        let streams = history.renaming(from: born, to: step)
        var named = self
        named.streams = streams.isEmpty ? nil : streams
        return named
    }
}

enum PathNext: Sendable {
    case end(PathEnd)
    case dispatch(PathDispatch)
    case fan(PathFan)
    case junction(PathJunction, arm: Int)
    case adoption(PathAdoption)
    case hidden(step: SchemaVersion, why: String)
    case dropped(step: SchemaVersion, because: String)
    case blocked(PathBlock)
}

/// The image's type and shape.
final class PathEnd: Sendable {
    let type: String
    let typeIndex: Int
    let shape: EventShape
    /// Whether a step on the way does not prove that the result fits.
    let isUnproved: Bool
    let step: SchemaVersion

    init(type: String, typeIndex: Int, shape: EventShape, isUnproved: Bool, step: SchemaVersion) {
        // A text of its own: threads have paths of their own, and count references to what they share slowly.
        self.type = String(decoding: Array(type.utf8), as: UTF8.self)
        (self.typeIndex, self.shape, self.isUnproved, self.step) = (typeIndex, shape, isUnproved, step)
    }
}

/// The type depends on a member's value.
final class PathDispatch: Sendable {
    struct Branch: Sendable {
        let value: [UInt8]
        let segment: PathSegment
    }

    let by: JSONPointer
    let branches: [Branch]
    let step: SchemaVersion
    let label: String

    init(by: JSONPointer, branches: [Branch], step: SchemaVersion, label: String) {
        (self.by, self.branches, self.step, self.label) = (by, branches, step, label)
    }
}

/// One event is several.
final class PathFan: Sendable {
    struct Part: Sendable {
        let rule: EventPart
        let segment: PathSegment
    }

    let parts: [Part]
    let losses: [PartLoss]
    let step: SchemaVersion

    init(parts: [Part], losses: [PartLoss], step: SchemaVersion) {
        (self.parts, self.losses, self.step) = (parts, losses, step)
    }

    func with(_ parts: [Part]) -> PathFan { PathFan(parts: parts, losses: losses, step: step) }

    /// Which parts there are, a bit for each; counts what none of them takes.
    func choose<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) -> UInt64 {
        var chosen: UInt64 = 0
        for (index, part) in parts.enumerated() where part.rule.test?.holds(&doc, at: object) ?? true { chosen |= 1 << UInt64(index) }
        for loss in losses where loss.takers & chosen == 0 {
            if let node = doc.find(loss.pointer, from: object) { doc.lose(node, unless: loss.restored(from: chosen)) }
        }
        return chosen
    }

    /// Whether a part is among those that were chosen. Those behind the 63rd have no guard: only events that older versions see may be so many.
    func makes(_ index: Int, of chosen: UInt64) -> Bool { index > 63 || chosen & 1 << UInt64(index) != 0 }
}

extension EventPart {
    /// A new object with what the part takes from the whole event, and the objects around it that the part always has.
    func take<D: Document & ~Copyable>(from whole: D.Node, of doc: inout D) -> D.Node {
        let object = doc.makeObject()
        for place in pick {
            let node = place.find(in: &doc, at: whole)
            if let node { doc.detach(node) }
            place.put(node, into: &doc, at: object)
        }
        return object
    }
}

/// There is no image.
final class PathBlock: Sendable {
    let step: SchemaVersion
    let label: String
    let why: String
    let mark: Mark?

    init(step: SchemaVersion, label: String, why: String, mark: Mark?) {
        (self.step, self.label, self.why, self.mark) = (step, label, why, mark)
    }
}
