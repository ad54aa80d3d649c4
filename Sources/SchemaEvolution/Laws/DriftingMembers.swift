internal import EventModel
internal import JSONText

/// The members of an image that may have another value after each way to a version and back, by declaration: those whose values a codec
/// rounds or merges, and those that other ops make of them.
///
/// Members are told apart by their pointers, whatever the type of the event. `*` stands for each element of a list and each value of a map.
struct DriftingMembers {
    private var pointers: Set<JSONPointer> = []

    /// Whether a codec's result decides what becomes of the event: then any of its members may have another value.
    var areAll: Bool { pointers.contains(JSONPointer()) }

    /// - Parameter direction: that in which the steps lead to the image.
    init(_ steps: ArraySlice<CompiledStep>, _ direction: Direction) {
        guard steps.contains(where: \.step.drifts) else { return }
        for way in direction == .up ? [Direction.down, .up] : [.up, .down] {
            for step in way.ordered(steps) { for item in way.ordered(step.step.items) { pass(item.action, way) } }
        }
    }

    func removed(from value: JSONValue) -> JSONValue { value.without(pointers.map { $0.tokens[...] }) }

    private mutating func pass(_ action: StepItem.Action, _ way: Direction) {
        switch action {
        case .payload(_, let entries): for entry in way.ordered(entries) { pass(entry.op, way, in: JSONPointer()) }
        case .event(let entry):
            let op = entry.op
            if op.reads.contains(where: { mayDiffer($0) }) { pointers.insert(JSONPointer()) }
            if let add = op as? AddEvent, case .parts(let parts) = add.down {
                for (newer, older) in parts.flatMap(\.moves) { move(older, newer, way, in: JSONPointer()) }
            }
            for entry in way.ordered(op.inner) { pass(entry.op, way, in: JSONPointer()) }
        case .reserve: break
        }
    }

    private mutating func pass(_ op: any Op, _ way: Direction, in holder: JSONPointer) {
        if let op = op as? Move { return move(op.from, op.path, way, in: holder) }
        let drifts = (op as? Convert)?.codec.drifts ?? false
        // An op that contains others changes what these change, and they are passed below.
        let causes = op.inner.isEmpty ? op.reads + op.writes : op.reads
        if drifts || causes.contains(where: { mayDiffer($0.below(holder)) }) { pointers.formUnion(op.writes.map { $0.below(holder) }) }
        let inner = (op as? Each).map { $0.path.below(holder).appending(JSONPointer.element) } ?? holder
        for entry in way.ordered(op.inner) { pass(entry.op, way, in: inner) }
    }

    /// Adds the places to which members are moved. Those of other types stay where they are.
    private mutating func move(_ older: JSONPointer, _ newer: JSONPointer, _ way: Direction, in holder: JSONPointer) {
        let (from, path) = way == .up ? (older, newer) : (newer, older)
        let move = Move(from: from.below(holder), path: path.below(holder))
        pointers.formUnion(pointers.map { move.from.hasPrefix($0) ? move.path : move.destination(of: $0) })
    }

    /// Whether a member, or one within it or around it, may have another value.
    private func mayDiffer(_ pointer: JSONPointer) -> Bool {
        pointers.contains { other in
            zip(other.tokens, pointer.tokens).allSatisfy { $0 == $1 || [$0, $1].contains(JSONPointer.element) }
        }
    }
}

extension Direction {
    /// Steps, items or ops as they are passed: downwards, the last comes first.
    fileprivate func ordered<Items: BidirectionalCollection>(_ items: Items) -> [Items.Element] {
        self == .up ? Array(items) : items.reversed()
    }
}

extension JSONPointer {
    /// Stands for each element of a list and each value of a map.
    static let element = MemberName("*")
}

extension JSONValue {
    /// The value without the members at these pointers; elements are null instead.
    fileprivate func without(_ pointers: [ArraySlice<MemberName>]) -> JSONValue {
        if pointers.isEmpty { return self }
        if pointers.contains(where: \.isEmpty) { return .null }
        switch self {
        case .object(let members):
            return .object(
                members.compactMap { member -> JSONValue.Member? in
                    let named = pointers.filter { $0.first.map { member.name.isSame(as: $0.text) } ?? false }
                    if named.contains(where: { $0.count == 1 }) { return nil }
                    let inner = (named + pointers.filter { $0.first == JSONPointer.element }).map { $0.dropFirst() }
                    return .init(name: member.name, value: member.value.without(inner))
                })
        case .array(let values):
            let inner = pointers.filter { $0.first == JSONPointer.element }.map { $0.dropFirst() }
            return .array(values.map { $0.without(inner) })
        case .null, .bool, .number, .string: return self
        }
    }
}
