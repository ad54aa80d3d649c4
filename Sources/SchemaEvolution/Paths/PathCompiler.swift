internal import EventModel
internal import JSONText

/// Fuses the steps between two versions, as far as they touch one type, into a path.
struct PathCompiler {
    private struct Crossing {
        let stage: CompiledStep.Stage
        let step: CompiledStep
        /// Whether a version ends here.
        let isLast: Bool
    }

    private let target: VersionFile
    private let direction: Direction
    private let crossings: [Crossing]

    static func compile(_ history: History, type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        _ = try history.requireShape(of: type, at: born)
        guard let file = history[target] else { throw history.unknown(target.description) }
        let numbers =
            born < target ? Array(born.number + 1 ..< target.number + 1) : Array((target.number + 1 ..< born.number + 1).reversed())
        var steps: [CompiledStep] = []
        for number in numbers {
            guard let step = history.chain.step(to: SchemaVersion(number)) else { continue }
            if let unknown = step.unknownOps.first { throw .schemaNewer(version: step.version, reason: unknown) }
            steps.append(step)
        }
        let compiler = PathCompiler(file, steps, direction: born < target ? .up : .down)
        let root = compiler.segment(of: type, from: 0, ops: [], isUnproved: false)
        return Path(type: type, born: born, target: target, root: root)
    }

    private init(_ target: VersionFile, _ steps: [CompiledStep], direction: Direction) {
        (self.target, self.direction) = (target, direction)
        crossings = steps.flatMap { step in
            // A step with an empty list still ends a version, where narrowed types are checked.
            let stages = step.stages.isEmpty ? [.payload([:])] : step.stages
            let ordered = direction == .up ? stages : stages.reversed()
            return ordered.indices.map { Crossing(stage: ordered[$0], step: step, isLast: $0 == ordered.count - 1) }
        }
    }

    /// The segment for a type that stands before the crossing at `index`, after the ops so far.
    private func segment(of type: String, from index: Int, ops: [PathOp], isUnproved: Bool) -> PathSegment {
        var (type, ops, isUnproved) = (type, ops, isUnproved)
        for index in index ..< crossings.count {
            let crossing = crossings[index]
            if direction == .down, isFirst(index), crossing.step.narrowed.contains(type), hasErrors(crossing.step) { isUnproved = true }
            switch crossing.stage {
            case .payload(let entries):
                let bound = entries[type] ?? []
                for entry in direction == .up ? bound : bound.reversed() {
                    ops.append(PathOp(entry, direction))
                    isUnproved = isUnproved || entry.isUnproved
                }
            case .event(let event, let label, let mark):
                switch (direction == .up ? event.up : event.down)[type] {
                case nil: break
                case .becomes(let next, let change)?:
                    type = next
                    if let change { ops.append(PathOp(change, direction, crossing.step.version, label, mark)) }
                case .dispatch(let by, let cases)?:
                    return dispatch(by, cases, crossing, index, label, mark, ops, isUnproved)
                case .parts(let parts)?: return fan(parts, crossing, index, label, mark, ops, isUnproved)
                case .hidden(let why)?: return PathSegment(ops: ops, next: .hidden(step: crossing.step.version, why: why))
                case .dropped(let because)?: return PathSegment(ops: ops, next: .dropped(step: crossing.step.version, because: because))
                case .blocked(let why)?:
                    let block = PathBlock(step: crossing.step.version, label: label, why: why, mark: mark)
                    return PathSegment(ops: ops, next: .blocked(block))
                }
            }
            if direction == .up, crossing.isLast, crossing.step.narrowed.contains(type) { isUnproved = true }
        }
        return PathSegment(ops: ops, next: end(type, isUnproved))
    }

    private func end(_ type: String, _ isUnproved: Bool) -> PathNext {
        let step = crossings.last?.step.version ?? target.number
        guard let shape = target.events[type], let index = target.types.firstIndex(of: type) else {
            return .blocked(PathBlock(step: step, label: "upcast", why: "no item says what becomes of \(type)", mark: nil))
        }
        return .end(PathEnd(type: type, typeIndex: index, shape: shape, isUnproved: isUnproved, step: step))
    }

    private func dispatch(
        _ by: JSONPointer, _ cases: [DispatchCase], _ crossing: Crossing, _ index: Int, _ label: String, _ mark: Mark, _ ops: [PathOp],
        _ isUnproved: Bool
    ) -> PathSegment {
        let branches = cases.map { one in
            let change = PathOp(one.change, direction, crossing.step.version, label, mark)
            let unproved = isUnproved || crossing.isLast && crossing.step.narrowed.contains(one.type)
            return PathDispatch.Branch(
                value: one.value, segment: segment(of: one.type, from: index + 1, ops: [change], isUnproved: unproved))
        }
        return PathSegment(
            ops: ops, next: .dispatch(PathDispatch(by: by, branches: branches, step: crossing.step.version, label: label)))
    }

    private func fan(
        _ parts: [EventPart], _ crossing: Crossing, _ index: Int, _ label: String, _ mark: Mark, _ ops: [PathOp], _ isUnproved: Bool
    ) -> PathSegment {
        let made = parts.map { part in
            let moves = part.moves.map { PathOp($0, .up, crossing.step.version, label, mark) }
            return PathFan.Part(
                pick: part.pick, segment: segment(of: part.type, from: index + 1, ops: moves, isUnproved: isUnproved || part.isUnproved))
        }
        return PathSegment(ops: ops, next: .fan(PathFan(parts: made)))
    }

    private func isFirst(_ index: Int) -> Bool { index == 0 || crossings[index - 1].isLast }

    private func hasErrors(_ step: CompiledStep) -> Bool { step.findings.contains { $0.severity == .error } }
}

extension PathOp {
    init(_ entry: BoundEntry, _ direction: Direction) {
        self.init(
            op: entry.op, direction: direction, step: entry.step, label: entry.label, summary: entry.summary, mark: entry.mark,
            readsStream: entry.readsStream, blocks: entry.blocks)
    }

    init(_ change: any BoundOp, _ direction: Direction, _ step: SchemaVersion, _ label: String, _ mark: Mark) {
        self.init(
            op: change, direction: direction, step: step, label: label, summary: nil, mark: mark, readsStream: false, blocks: false)
    }
}
