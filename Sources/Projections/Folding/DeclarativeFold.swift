internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A definition of a projection file, compiled for the shapes of one version.
final class DeclarativeFold: Fold {
    /// What is done on one event type.
    final class Rule: Sendable {
        let key: ValuePlan
        /// What the operations of this type carry, in order.
        let inputs: [ValuePlan]
        let folds: [CompiledFold]
        /// Which pick is the list of `each`.
        let each: Int?
        let payload, item, metadata: Picker
        /// What the payload's picks stand at; nil where the whole payload is looked at too.
        let reads: [JSONPointer]?
        /// For each input the number of the pick of the payload that it is; -1 where it is something else.
        let picks: [Int]

        init(
            key: ValuePlan, inputs: [ValuePlan], folds: [CompiledFold], each: Int?, payload: Picker, reads: [JSONPointer]?, item: Picker,
            metadata: Picker
        ) {
            self.reads = reads
            (self.key, self.inputs, self.folds, self.each) = (key, inputs, folds, each)
            picks = inputs.map { if case .payloadPick(let pick) = $0 { pick } else { -1 } }
            (self.payload, self.item, self.metadata) = (payload, item, metadata)
        }
    }

    final class CompiledFold: Sendable {
        /// Decided from the event alone, before the row is looked at.
        let eventGuard: CompiledGuard<ValuePlan>?
        let rowGuard: CompiledGuard<RowPlace>?
        let edits: [CompiledEdit]
        let deletes: Bool
        let onlyExisting: Bool

        init(
            eventGuard: CompiledGuard<ValuePlan>?, rowGuard: CompiledGuard<RowPlace>?, edits: [CompiledEdit], deletes: Bool,
            onlyExisting: Bool
        ) {
            (self.eventGuard, self.rowGuard, self.edits) = (eventGuard, rowGuard, edits)
            (self.deletes, self.onlyExisting) = (deletes, onlyExisting)
        }
    }

    struct CompiledGuard<Place: Sendable>: Sendable {
        var place: Place
        var test: GuardTest
    }

    /// What becomes of a target. A class, since a fold passes through all of its edits for each event.
    final class CompiledEdit: Sendable {
        let kind: Edit.Kind
        let slot: Int
        let within: [Token]
        let value: Operand
        let order: ValueOrder
        let keep: Int?
        let pointer: String
        let plain: Plain

        init(kind: Edit.Kind, slot: Int, within: [Token], value: Operand, order: ValueOrder, keep: Int?, pointer: String) {
            (self.kind, self.slot, self.within, self.value) = (kind, slot, within, value)
            (self.order, self.keep, self.pointer) = (order, keep, pointer)
            plain =
                switch (kind, value) {
                case _ where !within.isEmpty: .general
                case (.set, .input(let input)): .set(slot: slot, input: input)
                case (.add, .constant(let text)): Int(smallInteger: text.lent).map { .add(slot: slot, $0) } ?? .general
                default: .general
                }
        }

        enum Token: Sendable {
            case name(MemberName)
            /// An input that holds a JSON string.
            case input(Int)
        }

        /// The edits of a whole slot that need no more than this.
        enum Plain: BitwiseCopyable {
            case general
            case set(slot: Int, input: Int)
            case add(slot: Int, Int)
        }
    }

    enum Operand: Sendable {
        case input(Int)
        case constant([UInt8])
        case row(RowPlace)
    }

    /// A place in the row: in a slot, or an object that holds slots.
    enum RowPlace: Sendable {
        case slot(Int)
        case within(Int, Picker)
        case object(Range<Int>, depth: Int)
    }

    private let numbers: [String: Int]
    let rules: [Rule]
    let layout: RowLayout
    /// The state of a row that was just made.
    let initial: [UInt8]
    let readsStream: Bool
    func reads(_ rule: Int) -> [JSONPointer]? { rules[rule].reads }
    var readsID: Bool { false }

    init(_ projection: DeclaredProjection, at version: SchemaVersion, _ history: History) {
        var targets = projection.initial.map(\.target.fixed)
        for rules in projection.on.values { for rule in rules { targets += rule.edits.map(\.target.fixed) } }
        layout = RowLayout(targets: targets)
        var (numbers, rules, readsStream): ([String: Int], [Rule], Bool) = ([:], [], false)
        for (type, folds) in projection.on.sorted(by: { $0.key < $1.key }) {
            var compiler = FoldCompiler(layout: layout, shape: history.shape(of: type, at: version)?.shape ?? .any)
            numbers[type] = rules.count
            rules.append(compiler.rule(key: projection.key, folds))
            readsStream = readsStream || compiler.readsStream
        }
        (self.numbers, self.rules, self.readsStream) = (numbers, rules, readsStream)
        initial = Self.state(layout, projection.initial)
    }

    func rule(of type: String) -> Int? { numbers[type] }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) {
        layout.open(json, into: &state, &workspace.rowPicks)
    }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { layout.render(state, layout.slots.indices, into: &json) }

    private static func state(_ layout: RowLayout, _ initial: [(target: Target, value: JSONValue)]) -> [UInt8] {
        var row = JSONValue.object([])
        for (target, value) in initial.sorted(by: { $0.target.fixed.count < $1.target.fixed.count }) {
            row = row.setting(target.fixed[...], to: value)
        }
        var state = ByteBuffer()
        let text = Array(row.text.utf8)
        var picks = Slots<Slice>()
        layout.open(text.lent, into: &state, &picks)
        return state.array()
    }
}

extension JSONValue {
    fileprivate func setting(_ names: ArraySlice<String>, to value: JSONValue) -> JSONValue {
        guard let name = names.first else { return value }
        var members: [Member] = []
        if case .object(let existing) = self { members = existing }
        let inner = member(name) ?? .object([])
        let new = Member(name: name, value: inner.setting(names.dropFirst(), to: value))
        if let index = members.firstIndex(where: { $0.name == name }) { members[index] = new } else { members.append(new) }
        return .object(members)
    }
}
