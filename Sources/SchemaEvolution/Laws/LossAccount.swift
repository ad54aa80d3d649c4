internal import Bytes
package import EventModel
internal import JSONText

/// The ops at which events of a log lose something on their way to a version, and the number of events that each affects.
///
/// Losses are found by converting the events: an event loses something at a step if converting it back from behind the step gives a
/// different event than converting it back from before the step. It loses something at an op of that step if undoing the op does not
/// restore the state before it.
package struct LossAccount: Sendable {
    package struct Entry: Hashable, Sendable {
        package let loss: LossDeclaration
        package let direction: Direction
        /// Whether values differ only in the notation of a number or a moment.
        package let isOtherForm: Bool

        /// Whether the loss is only a change of notation, or the op gives a reason for it.
        var isDeclared: Bool { isOtherForm || !loss.because.isEmpty }

        /// Whether the loss should be declared and is not. Losses on the way down need no reason.
        package var isUndeclared: Bool { direction == .up && !isDeclared }
    }

    package struct Count: Hashable, Sendable {
        package var events: UInt64
        /// The positions of the first and last affected event.
        package var first, last: Position
    }

    package private(set) var counts: [Entry: Count] = [:]

    package init() {}

    /// An event counts once for each entry, even if it is seen at several versions.
    mutating func add(_ entries: Set<Entry>, at position: Position) {
        for entry in entries {
            var count = counts[entry] ?? Count(events: 0, first: position, last: position)
            guard count.events == 0 || count.last != position else { continue }
            count.events += 1
            count.last = position
            counts[entry] = count
        }
    }

    mutating func add(_ later: LossAccount) {
        counts.merge(later.counts) { Count(events: $0.events + $1.events, first: min($0.first, $1.first), last: max($0.last, $1.last)) }
    }
}

extension LawTrial {
    /// Parts of events at one version that have an image at the next version only together: a single part, or all parts that a step merges.
    private typealias Unit = [(event: Int, part: Int)]

    /// The losses of events that changed in a round trip, or that have no image by declaration. One-way steps require separate consent:
    /// neither they nor the steps behind them are searched.
    package func losses(of events: [LawEvent], at target: SchemaVersion) -> Set<LossAccount.Entry> {
        guard let born = events.first?.born, born.number > 0 else { return [] }
        let direction: Direction = born < target ? .up : .down
        var found: Set<LossAccount.Entry> = []
        var images = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        // Images are compared at the version to which all events can still be converted back: their birth version, or the version behind
        // the last step that stopped one.
        var (base, given) = (born, Self.sorted(images.flatMap(\.self)))
        var version = born
        while version != target {
            let next = direction == .up ? version.next : version.previous
            guard !history.opClass(from: version, to: next).contains(.oneWay) else { break }
            let after: [[GroupPart]]
            do { after = try see(events, at: next) } catch { break }
            let back = convertBack(after, events, from: next, to: base)
            if back != given {
                let losing = units(images, version, next).filter { unit in
                    // Events are converted back independently, so events without a part in the unit can be skipped.
                    let place = unit.count == 1 ? unit[0].event ..< unit[0].event + 1 : images.indices
                    let (own, whose) = (Array(images[place]), Array(events[place]))
                    let changed = led(unit.map { ($0.event - place.lowerBound, $0.part) }, of: own, whose, version, next)
                    return changed != own
                        && convertBack(changed, whose, from: version, to: base) != convertBack(own, whose, from: version, to: base)
                }
                // If no part loses anything by itself, all of them together do.
                for unit in losing.isEmpty ? units(images, version, next) : losing {
                    found.formUnion(
                        probe.losses(of: unit.map { (images[$0.event][$0.part], events[$0.event]) }, from: version, to: next, direction))
                }
            }
            // If nothing can be converted back to the base, later losses would be invisible there, so the base moves up to here.
            if let back, !back.isEmpty { given = back } else { (base, given) = (next, Self.sorted(after.flatMap(\.self))) }
            (images, version) = (after, next)
        }
        return found
    }

    private func units(_ images: [[GroupPart]], _ version: SchemaVersion, _ next: SchemaVersion) -> [Unit] {
        var (merged, alone): (Unit, [Unit]) = ([], [])
        for event in images.indices {
            for part in images[event].indices {
                if merges(images[event][part].type, version, next) { merged.append((event, part)) } else { alone.append([(event, part)]) }
            }
        }
        return merged.isEmpty ? alone : alone + [merged]
    }

    private func merges(_ type: String, _ version: SchemaVersion, _ next: SchemaVersion) -> Bool {
        do { return try viewer.path(type: type, born: version, to: next).merges } catch { return false }
    }

    /// The images after only one unit was converted over a step and back; without the unit if one of the two conversions fails.
    private func led(
        _ unit: Unit, of images: [[GroupPart]], _ events: [LawEvent], _ version: SchemaVersion, _ next: SchemaVersion
    ) -> [[GroupPart]] {
        var (rest, own) = (images, images.map { _ in [GroupPart]() })
        for (event, part) in unit.reversed() { own[event].insert(rest[event].remove(at: part), at: 0) }
        do {
            let there =
                unit.count == 1
                ? try zip(own, events).map { own, event in try own.isEmpty ? [] : see(own, of: event, from: version, to: next) }
                : try see(appended: own, of: events, from: version, to: next)
            let back = try zip(there, events).map { there, event in
                try there.isEmpty ? [] : see(there, of: event, from: next, to: version)
            }
            // On the way down, the order of an event's parts identifies them.
            for event in rest.indices {
                rest[event].insert(contentsOf: back[event], at: min(unit.first { $0.event == event }?.part ?? .max, rest[event].count))
            }
        } catch { return rest }
        return rest
    }

    private func see(_ events: [LawEvent], at version: SchemaVersion) throws(EvstoreError) -> [[GroupPart]] {
        let start = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        if events.count == 1, !isMerged(events[0], version) {
            return [try see(start[0], of: events[0], from: events[0].born, to: version)]
        }
        return try see(appended: start, of: events, from: events[0].born, to: version)
    }

    /// The images converted back to an older version; nil if one of them can't be.
    private func convertBack(
        _ images: [[GroupPart]], _ events: [LawEvent], from version: SchemaVersion, to base: SchemaVersion
    ) -> [GroupPart]? {
        var back: [GroupPart] = []
        for (image, event) in zip(images, events) {
            do { back += try see(image, of: event, from: version, to: base) } catch { return nil }
        }
        return Self.sorted(back)
    }
}

/// Finds the ops of a step at which an image loses something: runs the ops up to each one and undoes them. If the result differs from that
/// of the previous op, the op did not restore its input.
final class LossProbe {
    /// A sequence of ops on one branch of the step's path.
    private struct Run {
        /// The path to the first op and back.
        var start: Path
        /// What each op may lose, and the path through it and back.
        var probes: [(loss: LossDeclaration, back: Path)] = []
        /// The change to the whole event at the end of the run, if any; it affects every event that arrives there.
        var end: (loss: LossDeclaration, there: Path, kind: End)?

        enum End { case gone, fan(Path) }
    }

    /// The branches of a step for a type, the change to the whole event that comes first, if any, and the path over the step.
    private typealias Way = (runs: [Run], turn: LossDeclaration?, path: Path?)

    private let history: History
    private var workspace = PathInterpreter()
    private var known: [PathKey: Way] = [:]

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
            for (part, event) in images {
                let way = compiled(part.type, from, to)
                let turn = way.turn ?? LossDeclaration(version: max(from, to), type: part.type, op: "step", because: "")
                let hidden = direction == .up && turn.because.isEmpty ? hides(part, of: event, along: way, from, to) : []
                for loss in hidden.isEmpty ? [turn] : hidden { enter(loss) }
            }
        }
        return found
    }

    /// The declarations by which the way back hides the one event that an image becomes at a step: nothing tells it from an event that was
    /// born there.
    private func hides(
        _ part: GroupPart, of event: LawEvent, along way: Way, _ from: SchemaVersion, _ to: SchemaVersion
    ) -> [LossDeclaration] {
        guard let path = way.path, let there = see(part, of: event, path)?.images, there.count == 1 else { return [] }
        return compiled(there[0].type, to, from).runs.compactMap { run in
            guard let end = run.end, case .gone = end.kind, see(there[0], of: event, end.there)?.images.isEmpty == false else { return nil }
            return end.loss
        }
    }

    /// Empty if the type has no path: its events are then refused and lose nothing.
    private func compiled(_ type: String, _ from: SchemaVersion, _ to: SchemaVersion) -> Way {
        do { return try compile(PathKey(type: Name(type), born: from, target: to)) } catch { return ([], nil, nil) }
    }

    private func see(_ image: GroupPart, of event: LawEvent, _ path: Path) -> (images: [GroupPart], cost: PathCounts)? {
        var images: [GroupPart] = []
        let before = workspace.counts
        do {
            let source = SourceEvent(payload: image.payload.lent, time: event.time, metadata: event.metadata.lent)
            try workspace.run(path, source, stream: event.stream(at: path.born, history)) {
                images.append(GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)))
            }
        } catch { return nil }
        return (LawTrial.sorted(images), workspace.counts - before)
    }

    private func compile(_ key: PathKey) throws(EvstoreError) -> Way {
        if let made = known[key] { return made }
        let type = key.type.text
        let path = try history.path(type: type, born: key.born, to: key.target)
        let shape = try history.requireShape(of: type, at: key.born)
        let end = PathNext.end(PathEnd(type: type, typeIndex: 0, shape: shape, isUnproved: false, step: max(key.born, key.target)))
        var runs: [Run] = []
        var turn: LossDeclaration?

        func whole(_ root: PathSegment) -> Path { Path(type: type, born: key.born, target: key.target, root: root) }
        let nowhere = PathSegment(ops: [], next: .dropped(because: ""))

        /// - Parameters:
        ///   - ran: the ops before the segment that can be undone.
        ///   - lead: prepends everything that comes before a segment.
        func walk(_ segment: PathSegment, after ran: [PathOp], _ lead: (PathSegment) -> PathSegment) {
            func path(_ ops: [PathOp], _ next: PathNext) -> Path { whole(lead(PathSegment(ops: ops, next: next))) }
            func undo(_ ops: [PathOp]) -> [PathOp] { (ran + ops).reversed().map { $0.going($0.direction == .up ? .down : .up) } }
            var run = Run(start: path(undo([]), end))
            let parts = segment.ops.flatMap(\.parts)
            for (index, op) in parts.enumerated() {
                let ops = Array(parts[...index])
                run.probes.append((op.loss, path(ops + undo(ops), end)))
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
        known[key] = (runs, turn, path)
        return (runs, turn, path)
    }
}

extension PathOp {
    /// The sequence of ops that this op consists of; the op itself unless it contains others.
    fileprivate var parts: [PathOp] {
        let parts = op.parts(losing: OpLoss(op: loss.op, because: loss.because))
        return (direction == .up ? parts : parts.reversed()).map { part in
            var inner = self
            (inner.op, inner.loss) = (part.op, LossDeclaration(version: loss.version, type: loss.type, part.loss))
            return inner
        }
    }
}

/// Compares numbers and moments regardless of notation: `007` and `7`, `12.5` and `12.50`, `+02:00` and `Z`.
enum ValueForm {
    /// Whether two lists of events differ only in the notation of numbers and moments.
    static func isSame(_ a: [GroupPart], _ b: [GroupPart]) -> Bool {
        a.count == b.count
            && zip(a, b).allSatisfy { a, b in
                do {
                    return try a.type.isSame(as: b.type) && isSame(JSONValue(parsing: a.payload.lent), JSONValue(parsing: b.payload.lent))
                } catch { return false }
            }
    }

    private static func isSame(_ a: JSONValue, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.object(let a), .object(let b)):
            return a.count == b.count
                && a.allSatisfy { member in b.first { $0.name.isSame(as: member.name) }.map { isSame(member.value, $0.value) } ?? false }
        case (.array(let a), .array(let b)): return a.count == b.count && zip(a, b).allSatisfy { isSame($0, $1) }
        case (.string(let a), .string(let b)), (.number(let a), .number(let b)): return plain(a).isSame(as: plain(b))
        default: return a == b
        }
    }

    /// A text that all notations of a number or moment share; other texts unchanged.
    private static func plain(_ text: String) -> String {
        let bytes = Array(text.utf8)
        if let number = DecimalNumber(json: bytes.lent) {
            var plain = ByteBuffer(capacity: 32)
            number.append(to: &plain)
            return "number " + (String(utf8: plain.bytes) ?? text)
        }
        if let number = WrittenNumber(bytes.lent) {
            let whole = bytes[number.whole].drop { $0 == UInt8(ascii: "0") }
            let fraction = bytes[number.fraction].reversed().drop { $0 == UInt8(ascii: "0") }.reversed()
            var plain = number.isNegative && !number.isZero(in: bytes.lent) ? "-" : ""
            plain += whole.isEmpty ? "0" : String(decoding: whole, as: UTF8.self)
            if !fraction.isEmpty { plain += "." + String(decoding: Array(fraction), as: UTF8.self) }
            return "number " + plain
        }
        if let time = DateTime(bytes.lent) {
            let fraction = time.fraction.reversed().drop { $0 == UInt8(ascii: "0") }.reversed()
            let seconds = time.civil.secondsSince1970 - Int64(time.offsetMinutes) * 60
            return "moment \(seconds).\(String(decoding: Array(fraction), as: UTF8.self))"
        }
        let local = CivilTime(bytes.lent, separator: UInt8(ascii: " ")) ?? CivilTime(bytes.lent, separator: UInt8(ascii: "T"))
        return local.map { "local \($0)" } ?? text
    }
}
