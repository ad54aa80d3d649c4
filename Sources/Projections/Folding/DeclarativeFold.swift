internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A definition of a projection file, compiled for the shapes of one version.
final class DeclarativeFold: Fold {
    /// The folds of one event type.
    final class Rule: Sendable {
        /// Its index among the rules of the fold.
        let number: Int
        let key: ValuePlan
        /// The inputs that operations of this type carry, in order.
        let inputs: [ValuePlan]
        /// For each input, a bit mask of the folds that read it; inputs of folds that can't run are not evaluated.
        let readers: UniqueArray<UInt64>
        let folds: FixedArray<CompiledFold>
        /// The index of the pick that is the list of `each`.
        let each: Int?
        let payload, item, metadata: PointerPicker
        /// The pointers of the payload's picks; nil if the whole payload is read too.
        let reads: [JSONPointer]?
        /// For each input, the index of the payload pick that it is; -1 if it is something else.
        let picks: UniqueArray<Int>
        /// The index of the payload pick that is the key; -1 if the key is something else.
        let keyPick: Int
        /// Whether an event yields one operation that consists only of payload picks.
        let isDirect: Bool

        init(
            number: Int, key: ValuePlan, inputs: [ValuePlan], readers: [UInt64], folds: [CompiledFold], each: Int?, payload: PointerPicker,
            reads: [JSONPointer]?, item: PointerPicker, metadata: PointerPicker
        ) {
            (self.number, self.reads) = (number, reads)
            (self.key, self.inputs, self.each) = (key, inputs, each)
            self.readers = UniqueArray(readers)
            self.folds = FixedArray(folds)
            picks = UniqueArray(inputs.map(\.payloadPick))
            keyPick = key.payloadPick
            isDirect =
                each == nil && metadata.count == 0 && keyPick >= 0 && inputs.allSatisfy { $0.payloadPick >= 0 }
                && folds.first.map { $0.eventGuard == nil && $0.rowGuard == nil } == true
            (self.payload, self.item, self.metadata) = (payload, item, metadata)
        }
    }

    final class CompiledFold: Sendable {
        /// Evaluated on the event alone, before the row is read.
        let eventGuard: CompiledGuard<ValuePlan>?
        let rowGuard: CompiledGuard<RowPlace>?
        let edits: [CompiledEdit]
        let deletes: Bool
        let onlyExisting: Bool
        /// The new value of each slot, in order, if all edits are plain; otherwise empty.
        let sources: UniqueArray<SlotSource>

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

    /// A change of one target. A class, since a fold iterates over all of its edits for each event.
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

    /// A location in the row: a slot, a value inside a slot, or an object that contains slots.
    enum RowPlace: Sendable {
        case slot(Int)
        case within(Int, PointerPicker)
        case object(Range<Int>, depth: Int)
    }

    private let numbers: [Name: Int]
    let rules: FixedArray<Rule>
    let layout: RowLayout
    /// The state of a new row.
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
            rules.append(compiler.rule(number: rules.count, key: projection.key(of: type).source, folds))
            readsStream = readsStream || compiler.readsStream
        }
        (self.numbers, self.readsStream) = (numbers, readsStream)
        self.rules = FixedArray(rules)
    }

    func rule(of type: String) -> Int? { numbers[type] }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) {
        layout.open(json, into: &state, &workspace.rowPicks)
    }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { layout.render(state, into: &json) }
}
