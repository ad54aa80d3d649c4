internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Compiles the folds of one type and assigns an index to each value that they read from the event.
struct FoldCompiler {
    let layout: RowLayout
    let shape: Shape
    private var payloadPointers: [JSONPointer] = []
    private var itemPointers: [JSONPointer] = []
    private var metadataPointers: [JSONPointer] = []
    private var inputs: [Source] = []
    private var readers: [UInt64] = []
    private var fold = 0
    private var item: Shape = .any
    private(set) var readsStream = false
    private var readsPayload = false

    init(layout: RowLayout, shape: Shape) { (self.layout, self.shape) = (layout, shape) }

    mutating func rule(number: Int, key: Source, _ folds: [FoldRule]) -> DeclarativeFold.Rule {
        var list: Int?
        if let each = folds.first?.each {
            list = Self.number(of: each, in: &payloadPointers)
            item = shape.at(each)?.items ?? .any
        }
        let keyPlan = plan(key)
        var compiled: [DeclarativeFold.CompiledFold] = []
        for (index, rule) in folds.enumerated() {
            fold = index
            compiled.append(compile(rule))
        }
        let inputPlans = inputs.map { plan($0) }
        return DeclarativeFold.Rule(
            number: number, key: keyPlan, inputs: inputPlans, readers: readers, folds: compiled, each: list,
            payload: PointerPicker(payloadPointers), reads: readsPayload ? nil : payloadPointers, item: PointerPicker(itemPointers),
            metadata: PointerPicker(metadataPointers))
    }

    private mutating func compile(_ fold: FoldRule) -> DeclarativeFold.CompiledFold {
        var (eventGuard, rowGuard): (DeclarativeFold.CompiledGuard<ValuePlan>?, DeclarativeFold.CompiledGuard<DeclarativeFold.RowPlace>?)
        if let given = fold.guardTest {
            if case .row(let pointer) = given.source {
                rowGuard = .init(place: place(pointer), test: given.test)
            } else {
                eventGuard = .init(place: plan(given.source), test: given.test)
            }
        }
        return DeclarativeFold.CompiledFold(
            slots: layout.slots.count, eventGuard: eventGuard, rowGuard: rowGuard, edits: fold.edits.compactMap { compile($0) },
            deletes: fold.deletes,
            onlyExisting: fold.onlyExisting || fold.deletes)
    }

    private mutating func compile(_ edit: Edit) -> DeclarativeFold.CompiledEdit? {
        guard let (slot, within) = layout.slot(of: edit.target.fixed) else { return nil }
        var tokens = within.map { DeclarativeFold.CompiledEdit.Token.name($0) }
        for token in edit.target.tokens.dropFirst(edit.target.fixed.count) {
            switch token {
            case .name(let name): tokens.append(.name(MemberName(name.text)))
            case .template(let template): tokens.append(.input(input(.template(template))))
            }
        }
        let value: DeclarativeFold.Operand =
            switch edit.source {
            case .constant(let constant): .constant(constant.canonical())
            case .row(let pointer): .row(place(pointer))
            case let source: edit.kind == .unset ? .constant([]) : .input(input(source))
            }
        return .init(
            kind: edit.kind, slot: slot, within: tokens, value: value,
            order: edit.source.isInstant(in: shape, item: item) ? .instants : .values, keep: edit.keep, pointer: edit.target.text)
    }

    private mutating func input(_ source: Source) -> Int {
        let index = inputs.firstIndex(of: source) ?? inputs.count
        if index == inputs.count {
            inputs.append(source)
            readers.append(0)
        }
        readers[index] |= 1 << UInt64(fold)
        return index
    }

    private mutating func plan(_ source: Source) -> ValuePlan {
        switch source {
        case .pointer(let pointer): return .payloadPick(Self.number(of: pointer, in: &payloadPointers))
        case .item(let pointer): return .itemPick(Self.number(of: pointer, in: &itemPointers))
        case .metadata(let pointer): return .metadataPick(Self.number(of: pointer, in: &metadataPointers))
        case .constant(let value): return .constant(value.canonical())
        case .row: return .constant([])
        case .payload:
            readsPayload = true
            return .payload
        case .stream:
            readsStream = true
            return .stream
        case .type: return .type
        case .time: return .time
        case .position: return .position
        case .day(let source): return .prefix(plan(source), 10)
        case .month(let source): return .prefix(plan(source), 7)
        case .template(let template):
            var compiled: [ValuePlan.Piece] = []
            for part in template.parts {
                switch part {
                case .literal(let text): compiled.append(.literal(Array(text.utf8)))
                case .member(let source): compiled.append(.value(plan(source)))
                }
            }
            return .template(compiled)
        }
    }

    private static func number(of pointer: JSONPointer, in pointers: inout [JSONPointer]) -> Int {
        if let index = pointers.firstIndex(of: pointer) { return index }
        pointers.append(pointer)
        return pointers.count - 1
    }

    private func place(_ pointer: JSONPointer) -> DeclarativeFold.RowPlace {
        if let (slot, within) = layout.slot(of: pointer.tokens.map { Name($0.text) }) {
            return within.isEmpty ? .slot(slot) : .within(slot, PointerPicker([JSONPointer(tokens: within)]))
        }
        return .object(layout.slots(within: pointer), depth: pointer.tokens.count)
    }
}
