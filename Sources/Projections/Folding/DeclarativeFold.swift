internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A definition of a projection file, compiled for the shapes of one version.
final class DeclarativeFold: Fold {
    /// What is done on one event type.
    final class Rule: Sendable {
        /// Its place among the rules of the fold.
        let number: Int
        let key: ValuePlan
        /// What the operations of this type carry, in order.
        let inputs: [ValuePlan]
        /// For each input a bit for each fold that reads it: what no fold reads that may run is not looked at.
        let readers: Slots<UInt64>
        let folds: Row<CompiledFold>
        /// Which pick is the list of `each`.
        let each: Int?
        let payload, item, metadata: Picker
        /// What the payload's picks stand at; nil where the whole payload is looked at too.
        let reads: [JSONPointer]?
        /// For each input the number of the pick of the payload that it is; -1 where it is something else.
        let picks: Slots<Int>
        /// Which pick of the payload the key is; -1 where it is something else.
        let keyPick: Int
        /// Whether an event is one operation, made of nothing but picks of the payload.
        let isDirect: Bool

        init(
            number: Int, key: ValuePlan, inputs: [ValuePlan], readers: [UInt64], folds: [CompiledFold], each: Int?, payload: Picker,
            reads: [JSONPointer]?, item: Picker, metadata: Picker
        ) {
            (self.number, self.reads) = (number, reads)
            (self.key, self.inputs, self.each) = (key, inputs, each)
            self.readers = Slots(readers)
            self.folds = Row(folds)
            picks = Slots(inputs.map(\.payloadPick))
            keyPick = key.payloadPick
            isDirect =
                each == nil && metadata.count == 0 && keyPick >= 0 && inputs.allSatisfy { $0.payloadPick >= 0 }
                && folds.first.map { $0.eventGuard == nil && $0.rowGuard == nil } == true
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
        /// What each slot of the row becomes, in order, where every edit is as plain as that; else empty.
        let sources: Slots<SlotSource>

        init(
            slots: Int, eventGuard: CompiledGuard<ValuePlan>?, rowGuard: CompiledGuard<RowPlace>?, edits: [CompiledEdit], deletes: Bool,
            onlyExisting: Bool
        ) {
            (self.eventGuard, self.rowGuard, self.edits) = (eventGuard, rowGuard, edits)
            (self.deletes, self.onlyExisting) = (deletes, onlyExisting)
            sources = SlotSource.sources(of: edits, slots: slots)
        }
    }

    struct CompiledGuard<Place: Sendable>: Sendable {
        var place: Place
        var test: Guard.Test
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

        init(kind: Edit.Kind, slot: Int, within: [Token], value: Operand, order: ValueOrder, keep: Int?, pointer: String) {
            (self.kind, self.slot, self.within, self.value) = (kind, slot, within, value)
            (self.order, self.keep, self.pointer) = (order, keep, pointer)
        }

        enum Token: Sendable {
            case name(MemberName)
            /// An input that holds a JSON string.
            case input(Int)
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

    private let numbers: [Name: Int]
    let rules: Row<Rule>
    let layout: RowLayout
    /// The state of a row that was just made.
    let initial: [UInt8]
    let readsStream: Bool
    func reads(_ rule: Int) -> [JSONPointer]? { rules[rule].reads }
    var readsID: Bool { false }

    init(_ projection: DeclaredProjection, at version: SchemaVersion, _ history: History) {
        let slots = RowSlots(projection)
        (layout, initial) = (slots.layout, slots.start)
        var (numbers, rules, readsStream): ([Name: Int], [Rule], Bool) = ([:], [], false)
        for (type, folds) in projection.on.sorted(by: { $0.key < $1.key }) {
            var compiler = FoldCompiler(layout: layout, shape: history.shape(of: type.text, at: version)?.shape ?? .any)
            numbers[type] = rules.count
            rules.append(compiler.rule(number: rules.count, key: projection.key, folds))
            readsStream = readsStream || compiler.readsStream
        }
        (self.numbers, self.readsStream) = (numbers, readsStream)
        self.rules = Row(rules)
    }

    func rule(of type: String) -> Int? { numbers[type] }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) {
        layout.open(json, into: &state, &workspace.rowPicks)
    }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { layout.render(state, into: &json) }
}
