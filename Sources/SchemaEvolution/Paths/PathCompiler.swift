internal import EventModel
internal import JSONText

/// Compiles the steps between two versions, as far as they affect one type, to a path.
struct PathCompiler {
    /// The event op that ends a segment, for one type.
    private struct Terminator {
        let index: Int
        let crossing: Crossing
        let label: String
        let mark: FileLocation
        /// The declaration of what the op may lose of the type.
        let loss: LossDeclaration

        /// A change of the payload that is part of the op.
        func op(_ change: any BoundOp, _ direction: Direction) -> PathOp {
            PathOp(op: change, direction: direction, step: loss.version, label: label, mark: mark, loss: loss)
        }
    }

    private let history: History
    private let born: SchemaVersion
    private let target: VersionFile
    private let direction: Direction
    private let crossings: ArraySlice<Crossing>
    /// Whether the event is converted together with other parts of one event.
    private var isGroup = false
    private let found = Found()

    /// Results that are shared by all branches of the compilation.
    private final class Found {
        /// By the index of their crossing and the type of the whole event.
        var junctions: [Int: [String: PathJunction]] = [:]
        /// Whether an event may be merged with others of its append.
        var merges = false
        var rekeys: [String] = []
    }

    static func compile(_ history: History, type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        let compiler = try PathCompiler(history, type: type, born: born, to: target)
        if born.number == 0 {
            if let wrong = Adoption(history.versions.first)?.findings.first(where: { $0.severity == .error }) {
                throw .schemaNewer(version: SchemaVersion(1), reason: wrong.message)
            }
            let root = compiler.adoption(of: history)
            return Path(type: type, born: born, target: target, root: root, merges: compiler.found.merges, rekeys: compiler.found.rekeys)
        }
        let root = compiler.segment(of: type, from: compiler.crossings.startIndex, ops: [], isUnproved: false)
        return Path(type: type, born: born, target: target, root: root, merges: compiler.found.merges, rekeys: compiler.found.rekeys)
    }

    /// Compiles the paths for parts of one event, which are joined where they were split.
    static func compile(
        _ history: History, group types: [String], born: SchemaVersion, to target: SchemaVersion
    ) throws(EvstoreError) -> PathGroup {
        let first = types.first ?? ""
        var compiler = try PathCompiler(history, type: first, born: born, to: target)
        for type in types.dropFirst() where born.number > 0 { _ = try history.requireShape(of: type, at: born) }
        compiler.isGroup = types.count > 1
        var known: [Name: PathSegment] = [:]
        let roots = types.map { type in
            if let root = known[type] { return root }
            let root =
                born.number == 0
                ? compiler.adoption(of: history)
                : compiler.segment(of: type, from: compiler.crossings.startIndex, ops: [], isUnproved: false)
            known[type] = root
            return root
        }
        return PathGroup(path: Path(type: first, born: born, target: target, root: roots[0]), roots: roots)
    }

    private init(_ history: History, type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) {
        if born.number > 0 { _ = try history.requireShape(of: type, at: born) }
        if target.number == 0 {
            throw .noImage(
                ImageFailure(
                    type: type, born: born, target: target, step: SchemaVersion(1), op: "adopt", pointer: "",
                    expected: "born at \(target), to which no step leads down", found: "one born at \(born)"))
        }
        guard let file = history[target] else { throw history.unknown(target.description) }
        crossings = history.chain.crossings(from: born, to: target)
        if let step = crossings.first(where: { !$0.step.unread.isEmpty })?.step, let reason = step.unread.first {
            throw .schemaNewer(version: step.version, reason: reason)
        }
        (self.history, self.born, self.target) = (history, born, file)
        direction = born < target ? .up : .down
    }

    /// The segment for a type that has reached the crossing at `index` with the ops so far.
    private func segment(of type: String, from index: Int, ops: [PathOp], isUnproved: Bool) -> PathSegment {
        var (type, ops, isUnproved) = (type, ops, isUnproved)
        for index in index ..< crossings.endIndex {
            let crossing = crossings[index]
            if direction == .down, isFirst(index), crossing.step.narrowed.contains(type), crossing.step.findings.hasErrors {
                isUnproved = true
            }
            switch crossing.stage {
            case .payload(let entries):
                let bound = entries[type] ?? []
                for entry in direction == .up ? bound : bound.reversed() {
                    ops.append(entry.going(direction).naming(history, from: born))
                    isUnproved = isUnproved || entry.isUnproved
                }
            case .event(let event, let label, let mark):
                if let rekey = event.rekey { note(rekey, of: type, crossing.step.version) }
                let why = event.loss.map { $0.type.isSame(as: type) ? $0.why : "" } ?? ""
                let loss = LossDeclaration(version: crossing.step.version, type: type, op: event.name, because: why)
                let terminator = Terminator(index: index, crossing: crossing, label: label, mark: mark, loss: loss)
                switch (direction == .up ? event.up : event.down)[type] {
                case nil: break
                case .becomes(let next, let change)?:
                    type = next
                    if let change { ops.append(terminator.op(change, direction)) }
                case .dispatch(let by, let cases)?: return dispatch(by, cases, terminator, ops, isUnproved)
                case .parts(let parts, let losses)?: return fan(parts, losses, terminator, ops, isUnproved)
                case .rejoin(let split, let arm)?:
                    if direction == .up { found.merges = true }
                    let undone = split.arms[arm].ops.reversed().map { terminator.op($0, .down).naming(history, from: born) }
                    let junction = junction(split, terminator)
                    if isGroup { return PathSegment(ops: ops + undone, next: .junction(junction, arm: arm), turn: loss) }
                    let lone = junction.arms[arm].lone
                    return PathSegment(ops: ops + undone + lone.ops, next: lone.next, turn: lone.turn ?? loss)
                case .hidden(let why)?: return PathSegment(ops: ops, next: .hidden(why: why), turn: loss.because(why))
                case .dropped(let because)?: return PathSegment(ops: ops, next: .dropped(because: because), turn: loss.because(because))
                case .blocked(let why)?:
                    let block = PathBlock(step: crossing.step.version, label: label, why: why, mark: mark)
                    return PathSegment(ops: ops, next: .blocked(block))
                }
            }
            if direction == .up, crossing.isLast, crossing.step.narrowed.contains(type) { isUnproved = true }
        }
        return PathSegment(ops: ops, next: end(type, isUnproved))
    }

    private func note(_ rekey: BoundRekey, of type: String, _ version: SchemaVersion) {
        let (here, there) = direction == .up ? (rekey.from, rekey.to) : (rekey.to, rekey.from)
        let words = "streams \(here) renamed to \(there)"
        // The type has its name on one side of the step, or one that exists only within the step.
        let templates = [version.previous, version].compactMap { history[$0]?.events[type]?.stream }
        if templates.isEmpty || templates.contains(where: { here.mayMatch($0) }), !found.rekeys.contains(words) {
            found.rekeys.append(words)
        }
    }

    private func end(_ type: String, _ isUnproved: Bool) -> PathNext {
        let step = crossings.last?.step.version ?? target.number
        guard let shape = target.events[type], let index = target.types.place(of: type) else {
            return .blocked(PathBlock(step: step, label: "upcast", why: "no item says what becomes of \(type)", mark: nil))
        }
        return .end(PathEnd(type: type, typeIndex: index, shape: shape, isUnproved: isUnproved, step: step))
    }

    private func dispatch(
        _ by: JSONPointer, _ cases: [DispatchCase], _ terminator: Terminator, _ ops: [PathOp], _ isUnproved: Bool
    ) -> PathSegment {
        let crossing = terminator.crossing
        let branches = cases.map { one in
            let change = terminator.op(one.change, direction)
            let unproved = isUnproved || crossing.isLast && crossing.step.narrowed.contains(one.type)
            return PathDispatch.Branch(
                value: one.value, segment: segment(of: one.type, from: terminator.index + 1, ops: [change], isUnproved: unproved))
        }
        let dispatch = PathDispatch(by: by, branches: branches, step: crossing.step.version, label: terminator.label)
        return PathSegment(ops: ops, next: .dispatch(dispatch), turn: terminator.loss)
    }

    private func fan(
        _ parts: [EventPart], _ losses: [PartLoss], _ terminator: Terminator, _ ops: [PathOp], _ isUnproved: Bool
    ) -> PathSegment {
        var group = self
        group.isGroup = parts.count > 1 || isGroup
        let made = parts.map { part in
            let moves = part.moves.map { terminator.op($0, .up).naming(history, from: born) }
            return PathFan.Part(
                rule: part,
                segment: group.segment(
                    of: part.type, from: terminator.index + 1, ops: moves, isUnproved: isUnproved || part.isUnproved))
        }
        let fan = PathFan(parts: made, losses: losses, step: terminator.crossing.step.version)
        return PathSegment(ops: ops, next: .fan(fan), turn: terminator.loss)
    }

    /// Selects the first case whose guard holds; the steps from version 1 on follow.
    private func adoption(of history: History) -> PathSegment {
        let first = SchemaVersion(1)
        let branches = (Adoption(history.versions.first)?.cases ?? []).map { one in
            let loss = LossDeclaration(version: first, type: one.type, op: one.label, because: "")
            let ops = one.ops.map { PathOp(op: $0, direction: .up, step: first, label: one.label, mark: one.mark, loss: loss) }
            return AdoptionBranch(
                test: one.test, stream: one.stream, segment: segment(of: one.type, from: crossings.startIndex, ops: ops, isUnproved: true))
        }
        return PathSegment(ops: [], next: .adoption(branches))
    }

    /// The junction where the parts of a split are joined again.
    private func junction(_ split: MultipartEvent, _ terminator: Terminator) -> PathJunction {
        let (index, loss) = (terminator.index, terminator.loss)
        if let made = found.junctions[index]?[split.type] { return made }
        let version = terminator.crossing.step.version
        func whole(_ ops: [PathOp]) -> PathSegment { segment(of: split.type, from: index + 1, ops: ops, isUnproved: true) }
        let arms = split.arms.map { arm in
            var fill: BoundFill?
            let lone: PathSegment
            switch arm.lone {
            case .alone(let own):
                fill = own
                lone = whole(own.map { [terminator.op($0, .down)] } ?? [])
            case .hidden(let why): lone = PathSegment(ops: [], next: .hidden(why: why), turn: loss.because(why))
            case .blocked(let why):
                let block = PathBlock(step: version, label: terminator.label, why: why, mark: terminator.mark)
                lone = PathSegment(ops: [], next: .blocked(block))
            }
            return PathJunction.Arm(pick: arm.pick, fill: fill, lone: lone)
        }
        let junction = PathJunction(
            order: index, step: version, arms: arms, on: split.on, joined: whole([]))
        found.junctions[index, default: [:]][split.type] = junction
        return junction
    }

    private func isFirst(_ index: Int) -> Bool { index == crossings.startIndex || crossings[index - 1].isLast }
}
