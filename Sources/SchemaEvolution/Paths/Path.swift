package import EventModel
internal import JSONText

/// The compiled conversion of events of one type and birth version to one version: a run of ops, followed by an end or by branches.
package final class Path: Sendable {
    package let type: String
    package let born, target: SchemaVersion
    /// Whether an op reads `$stream`, so that the caller must look up the stream's name.
    package let readsStream: Bool
    /// Whether a step merges the event with others of its append, with which it is then viewed.
    package let merges: Bool
    /// Descriptions of the possible renamings of the type's streams.
    let rekeys: [String]
    let root: PathSegment
    /// The end of the only image, if the image is the stored bytes.
    let unchanged: PathEnd?
    /// The path as one fused program, if it has been compiled.
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

    /// The path for events of the shape at their birth version, fused if possible.
    func fused(for shape: EventShape, reading: ((String) -> [JSONPointer]?)? = nil) -> Path {
        if isUntouched { return self }
        return Path(
            type: type, born: born, target: target, root: root, merges: merges, rekeys: rekeys,
            fused: FusedCompiler.compile(root, of: shape.shape, reading: reading) ?? fused)
    }

    /// Whether images are the stored bytes: at the birth version itself, or at a version whose steps do not affect the type.
    package var isUntouched: Bool {
        unchanged.map { !$0.isUnproved } ?? false
    }

    /// The types that images can have, in order; empty if every event is hidden, dropped or blocked.
    package var types: [String] { images.map(\.type) }

    /// The types that images can have, with their indices in `history.types(at: target)`.
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
    /// The declaration under which losses of the change to whole events at its end are counted.
    let turn: LossDeclaration?

    init(ops: [PathOp], next: PathNext, turn: LossDeclaration? = nil) { (self.ops, self.next, self.turn) = (ops, next, turn) }

    func visit(_ body: (PathSegment) -> Void) {
        body(self)
        switch next {
        case .dispatch(let dispatch): for branch in dispatch.branches { branch.segment.visit(body) }
        case .fan(let fan): for part in fan.parts { part.segment.visit(body) }
        case .adoption(let branches): for branch in branches { branch.segment.visit(body) }
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

/// An op that is bound for one type, in one direction.
struct PathOp: Sendable {
    var op: any BoundOp
    var direction: Direction
    let step: SchemaVersion
    let label: String
    var summary: OpSummary?
    let mark: FileLocation?
    /// Whether the shapes do not prove that its result fits.
    var isUnproved = false
    var blocks = false
    /// What the result may lack below: `/o without /o/a`.
    var lacking: String?
    /// The declaration under which its losses are counted.
    var loss: LossDeclaration
    /// Set if the op reads the name of the event's stream and that name differs between the op's version and the event's.
    var streams: StreamRenaming?

    /// The name of a stream at the op's version.
    func stream(_ name: String?) throws(OpStop) -> String? {
        guard let name, let streams else { return name }
        do { return try streams.name(of: StreamName(name)).text } catch {
            throw .failed(
                pointer: ImageFailure.streamName, expected: "a name that leads back from \(step)", found: quoted(name))
        }
    }

    func going(_ direction: Direction) -> PathOp {
        var op = self
        op.direction = direction
        return op
    }

    /// The op for events that are born at a version.
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
    case adoption([AdoptionBranch])
    case hidden(why: String)
    case dropped(because: String)
    case blocked(PathBlock)
}

/// The end of a path: the image's type and shape.
final class PathEnd: Sendable {
    let type: String
    let typeIndex: Int
    let shape: EventShape
    /// Whether some step does not prove that the result fits.
    let isUnproved: Bool
    let step: SchemaVersion

    init(type: String, typeIndex: Int, shape: EventShape, isUnproved: Bool, step: SchemaVersion) {
        // A copy of the text: each thread has its own paths, since reference counting of shared objects is slow.
        self.type = String(decoding: Array(type.utf8), as: UTF8.self)
        (self.typeIndex, self.shape, self.isUnproved, self.step) = (typeIndex, shape, isUnproved, step)
    }
}

/// Selects the type by a member's value.
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

/// Splits one event into several.
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

    /// The parts that the event has, as a bit mask. Counts members that none of them takes as lost.
    func choose<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) -> UInt64 {
        var chosen: UInt64 = 0
        for (index, part) in parts.enumerated() where part.rule.test?.holds(&doc, at: object) ?? true { chosen |= 1 << UInt64(index) }
        for loss in losses where loss.takers & chosen == 0 {
            if let node = doc.find(loss.pointer, from: object) { doc.lose(node, unless: loss.restored(from: chosen)) }
        }
        return chosen
    }

    /// Whether a part is among the chosen ones. Parts after the 63rd have no guard: only events for older versions may have so many parts.
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

/// There is no image; an event that arrives here is refused.
final class PathBlock: Sendable {
    let step: SchemaVersion
    let label: String
    let why: String
    let mark: FileLocation?

    init(step: SchemaVersion, label: String, why: String, mark: FileLocation?) {
        (self.step, self.label, self.why, self.mark) = (step, label, why, mark)
    }
}

extension Path {
    /// A short description of what the path does: `move x2, split /customer`, `renamed to X`, `unchanged`.
    package var description: String {
        let words = (merges ? ["merged with others of its append"] : []) + root.words(startingAs: type) + rekeys
        return words.isEmpty ? "unchanged" : words.joined(separator: ", ")
    }

    /// Why events may have no image below; empty if every event has one or is hidden by declaration. An event can be hidden instead where
    /// that is declared.
    package var blocks: [(mark: FileLocation?, why: String, isDeclared: Bool)] {
        var found: [(mark: FileLocation?, why: String, isDeclared: Bool)] = []
        root.visit { segment in
            for op in segment.ops where op.direction == .down {
                if op.blocks { found.append((op.mark, "\(op.label) blocks some of them", true)) }
                if let lacking = op.lacking { found.append((op.mark, "\(op.label) gives \(lacking) to some of them", false)) }
            }
            if case .blocked(let block) = segment.next { found.append((block.mark, block.why, true)) }
        }
        return found
    }
}

extension PathSegment {
    fileprivate func words(startingAs type: String) -> [String] {
        var verbs: [(words: String, count: Int)] = []
        for summary in ops.compactMap(\.summary) where summary.verb != Allow.name {
            if let index = verbs.firstIndex(where: { $0.words == summary.words }) {
                verbs[index].count += 1
            } else {
                verbs.append((summary.words, 1))
            }
        }
        let done = verbs.map { $0.count > 1 ? "\($0.words) x\($0.count)" : $0.words }
        switch next {
        case .end(let end): return end.type.isSame(as: type) ? done : ["renamed to \(end.type)"] + done
        case .dispatch(let dispatch):
            let types = dispatch.branches.flatMap { $0.segment.ends }
            return done + ["by \(dispatch.by) into \(types.joined(separator: " + "))"]
        case .fan(let fan): return done + ["split into \(fan.parts.flatMap { $0.segment.ends }.joined(separator: " + "))"]
        case .adoption(let branches): return done + ["adopted as \(branches.flatMap { $0.segment.ends }.joined(separator: " or "))"]
        case .junction(let junction, _): return junction.joined.words(startingAs: type) + done + ["joined with the other parts"]
        case .hidden(let why): return done + ["hidden (\(why))"]
        case .dropped(let because): return done + ["dropped (\(because))"]
        case .blocked(let block): return done + ["blocked (\(block.why))"]
        }
    }

    private var ends: [String] {
        var found: [String] = []
        visit { segment in
            if case .end(let end) = segment.next, !found.contains(end.type) { found.append(end.type) }
        }
        return found
    }
}

/// A path, and which of its images are validated against their shapes.
struct CheckedPath {
    let path: Path
    /// Whether all images are validated; otherwise only those that the steps do not prove to fit.
    let checksAll: Bool

    @inline(__always)
    func check(_ end: PathEnd, _ payload: RawSpan) throws(EvstoreError) {
        if checksAll || end.isUnproved { try path.check(end, payload) }
    }
}

extension Path {
    func failure(step: SchemaVersion, op: String, pointer: String, expected: String, found: String) -> EvstoreError {
        .noImage(
            ImageFailure(
                type: type, born: born, target: target, step: step, op: op, pointer: pointer, expected: expected, found: found))
    }

    func failure(_ block: PathBlock) -> EvstoreError {
        var failure = ImageFailure(
            type: type, born: born, target: target, step: block.step, op: block.label, pointer: "",
            expected: "an event of a type that \(target) knows", found: block.why)
        // Blocks that no item declares have no place in a file.
        failure.isDeclared = block.mark != nil
        return .noImage(failure)
    }

    /// The error for stored bytes that are not JSON, which no append accepts.
    func malformed(_ error: JSONError) -> EvstoreError {
        failure(step: born, op: "load", pointer: "", expected: "JSON text", found: "\(error.reason) at byte \(error.offset)")
    }

    func check(_ end: PathEnd, _ payload: RawSpan) throws(EvstoreError) {
        do { try end.shape.validate(payload) } catch {
            throw failure(step: end.step, op: "shape", pointer: error.pointer, expected: error.expected, found: error.found)
        }
    }
}
