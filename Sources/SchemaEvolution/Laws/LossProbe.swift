internal import Bytes
internal import EventModel

/// Finds the ops of a step at which an image loses something: runs the ops up to each one and undoes them. If the result differs from that
/// of the previous op, the op did not restore its input.
final class LossProbe {
    private struct Key: Hashable {
        let type: String
        let from, to: SchemaVersion
    }

    /// A sequence of ops on one branch of the step's path.
    private struct Run {
        struct Probe {
            let loss: LossDeclaration
            /// The path through the op and back.
            let back: Path
        }

        /// The path to the first op and back.
        var start: Path
        var probes: [Probe] = []
        /// The change to the whole event at the end of the run, if any; it affects every event that arrives there.
        var end: (loss: LossDeclaration, there: Path, kind: End)?

        enum End { case gone, fan(Path) }
    }

    private let history: History
    private var workspace = PathInterpreter()
    private var known: [Key: (runs: [Run], turn: LossDeclaration?)] = [:]

    init(_ history: History) { self.history = history }

    /// The losses of images that have a common fate at a step; at least one of the images loses something there.
    func losses(
        of images: [(part: GroupPart, event: LawEvent)], from: SchemaVersion, to: SchemaVersion, _ direction: Direction
    ) -> Set<LossAccount.Entry> {
        var found: Set<LossAccount.Entry> = []
        func enter(_ loss: LossDeclaration, isOtherForm: Bool = false) {
            found.insert(LossAccount.Entry(loss: loss, direction: direction, isOtherForm: isOtherForm))
        }
        for (part, event) in images {
            for run in compiled(part.type, from, to).runs {
                var given = see(part, of: event, run.start)?.images
                for probe in run.probes {
                    let back = see(part, of: event, probe.back)?.images
                    if back != given {
                        let isOtherForm = if let back, let given { ValueForm.isSame(back, given) } else { false }
                        enter(probe.loss, isOtherForm: isOtherForm)
                    }
                    given = back
                }
                guard let end = run.end, let arriving = see(part, of: event, end.there), !arriving.images.isEmpty else { continue }
                switch end.kind {
                case .gone: enter(end.loss)
                case .fan(let fan):
                    if let parted = see(part, of: event, fan), parted.cost.lost > arriving.cost.lost { enter(end.loss) }
                }
            }
        }
        if found.isEmpty {
            for (part, _) in images {
                enter(
                    compiled(part.type, from, to).turn
                        ?? LossDeclaration(version: max(from, to), type: part.type, op: "step", because: ""))
            }
        }
        return found
    }

    /// Empty if the type has no path: its events are then refused and lose nothing.
    private func compiled(_ type: String, _ from: SchemaVersion, _ to: SchemaVersion) -> (runs: [Run], turn: LossDeclaration?) {
        do { return try compile(Key(type: type, from: from, to: to)) } catch { return ([], nil) }
    }

    private func see(_ image: GroupPart, of event: LawEvent, _ path: Path) -> (images: [GroupPart], cost: PathCounts)? {
        var images: [GroupPart] = []
        let before = workspace.counts
        do {
            let source = SourceEvent(payload: image.payload.lent, time: event.time, metadata: event.metadata.lent)
            try PathRunner.run(path, source, stream: event.stream(at: path.born, history), in: &workspace) {
                images.append(GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)))
            }
        } catch { return nil }
        return (LawTrial.sorted(images), workspace.counts - before)
    }

    private func compile(_ key: Key) throws(EvstoreError) -> (runs: [Run], turn: LossDeclaration?) {
        if let made = known[key] { return made }
        let path = try history.path(type: key.type, born: key.from, to: key.to)
        let shape = try history.requireShape(of: key.type, at: key.from)
        let end = PathNext.end(PathEnd(type: key.type, typeIndex: 0, shape: shape, isUnproved: false, step: max(key.from, key.to)))
        var runs: [Run] = []
        var turn: LossDeclaration?

        func whole(_ root: PathSegment) -> Path { Path(type: key.type, born: key.from, target: key.to, root: root) }
        let nowhere = PathSegment(ops: [], next: .dropped(step: key.to, because: ""))

        /// - Parameters:
        ///   - ran: the ops before the segment that can be undone.
        ///   - lead: prepends everything that comes before a segment.
        func walk(_ segment: PathSegment, after ran: [PathOp], _ lead: (PathSegment) -> PathSegment) {
            func path(_ ops: [PathOp], _ next: PathNext) -> Path { whole(lead(PathSegment(ops: ops, next: next))) }
            func undo(_ ops: [PathOp]) -> [PathOp] { (ran + ops).reversed().map(\.undone) }
            var run = Run(start: path(undo([]), end))
            let parts = segment.ops.flatMap(\.parts)
            for (index, op) in parts.enumerated() {
                let ops = Array(parts[...index])
                run.probes.append(Run.Probe(loss: op.loss, back: path(ops + undo(ops), end)))
            }
            turn = turn ?? segment.turn
            let loss = segment.turn
            switch segment.next {
            case .hidden, .dropped: run.end = loss.map { ($0, path(segment.ops, end), .gone) }
            case .fan(let fan):
                let unfollowed = fan.parts.map { PathFan.Part(rule: $0.rule, segment: nowhere) }
                run.end = loss.map {
                    ($0, path(segment.ops, end), .fan(path(segment.ops, .fan(fan.with(unfollowed)))))
                }
                for index in fan.parts.indices {
                    walk(fan.parts[index].segment, after: []) { inner in
                        var parts = unfollowed
                        parts[index] = PathFan.Part(rule: parts[index].rule, segment: inner)
                        return lead(PathSegment(ops: segment.ops, next: .fan(fan.with(parts))))
                    }
                }
            case .dispatch(let dispatch):
                for index in dispatch.branches.indices {
                    walk(dispatch.branches[index].segment, after: ran + segment.ops) { inner in
                        let branches = dispatch.branches.enumerated().map {
                            PathDispatch.Branch(value: $1.value, segment: $0 == index ? inner : nowhere)
                        }
                        let one = PathDispatch(by: dispatch.by, branches: branches, step: dispatch.step, label: dispatch.label)
                        return lead(PathSegment(ops: segment.ops, next: .dispatch(one)))
                    }
                }
            case .end, .junction, .adoption, .blocked: break
            }
            runs.append(run)
        }
        walk(path.root, after: []) { $0 }
        known[key] = (runs, turn)
        return (runs, turn)
    }
}

extension PathOp {
    /// The sequence of ops that this op consists of; the op itself unless it contains others.
    fileprivate var parts: [PathOp] {
        let parts = op.parts(losing: OpLoss(op: loss.op, because: loss.because))
        return (direction == .up ? parts : parts.reversed()).map { part in
            PathOp(
                op: part.op, direction: direction, step: step, label: label, summary: summary, mark: mark,
                blocks: blocks, loss: LossDeclaration(version: loss.version, type: loss.type, part.loss), streams: streams)
        }
    }

    /// The op in the opposite direction.
    fileprivate var undone: PathOp {
        PathOp(
            op: op, direction: direction == .up ? .down : .up, step: step, label: label, summary: summary, mark: mark,
            blocks: blocks, loss: loss, streams: streams)
    }
}
