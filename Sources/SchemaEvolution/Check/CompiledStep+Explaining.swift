internal import EventModel
internal import JSONText

/// Whether the ops explain the difference between two versions, and which op is missing where they do not.
extension CompiledStep {
    mutating func compare(_ made: [String: StepSite.TypeState], with file: VersionFile, before: VersionFile) {
        for type in made.keys.sorted() where file.events[type] == nil { vanished(type, made, file) }
        for type in file.types {
            guard let declared = file.events[type] else { continue }
            guard let state = made[type] else {
                unexplained(type, declared, before)
                continue
            }
            let differences = ShapeDifference.compare(EventShape(shape: state.shape, stream: state.stream), declared)
            let extras = differences.filter { $0.kind == .extra }
            for difference in differences { explain(difference, type, state, declared, extras) }
        }
        if step.items.isEmpty, step.findings.isEmpty, file.events.mapValues(\.content) == before.events.mapValues(\.content) {
            note(file.mark, Rule.changesNothing, .error, "the version changes nothing", fix: "leave it out, or change something")
        }
    }

    private mutating func note(_ mark: Mark, _ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil) {
        findings.append(
            Finding(id: rule, severity: severity, file: mark.file, line: mark.line, column: mark.column, message: message, fix: fix))
    }

    private mutating func vanished(_ type: String, _ made: [String: StepSite.TypeState], _ file: VersionFile) {
        let twin = file.types.first { made[$0] == nil && file.events[$0]?.shape == made[type]?.shape }
        note(
            file.upcast?.mark ?? file.mark, Rule.unexplained, .error,
            "\(type) is not declared any more and no item says what becomes of it",
            fix: twin.map { "did you mean rename-event: {from: \(type), to: \($0)}?" } ?? "drop-event: {type: \(type), because: \"…\"}")
    }

    private mutating func unexplained(_ type: String, _ declared: EventShape, _ before: VersionFile) {
        narrowed.insert(type)
        let isAdded = step.items.contains { item in
            if case .event(let op as AddEvent, _) = item.action { op.type == type } else { false }
        }
        if isAdded { return }
        note(
            declared.mark, Rule.unexplained, .error, "\(type) is new and no item says so",
            fix: "add-event: {type: \(type), down: {hide: \"\(version.previous) has no \(type)\"}}")
    }

    private mutating func explain(
        _ difference: ShapeDifference, _ type: String, _ state: StepSite.TypeState, _ declared: EventShape, _ extras: [ShapeDifference]
    ) {
        let place = difference.pointer
        var (rule, severity, fix) = (Rule.unexplained, Finding.Severity.error, String?.none)
        switch difference.kind {
        case .missing(let isRequired):
            if let member = declared.shape.shape(at: place),
                let twin = extras.first(where: { state.shape.shape(at: $0.pointer)?.kind == member.kind })
            {
                fix = "did you mean move: {from: \(twin.pointer), path: \(place)}?"
            } else {
                rule = isRequired ? Rule.upNotTotal : Rule.unexplained
                fix = inside(place) { isRequired ? "add: {path: \($0), value: …}" : "allow: {path: \($0), down: absent}" }
            }
        case .extra:
            if state.mayNarrow, !state.shape.isRequired(at: place) {
                (rule, severity) = (Rule.tightened, .note)
            } else {
                fix = inside(place) {
                    "remove: {path: \($0), restore: \(state.shape.isRequired(at: place) ? "…" : "absent"), because: \"…\"}"
                }
            }
        case .type: (rule, fix) = (Rule.upNotTotal, conversion(place, state, declared))
        case .format: (rule, fix) = (Rule.upNotTotal, inside(place) { "convert: {path: \($0), to: string, using: …}" })
        case .stream: fix = "declare the template that the ops make of the older one"
        case .wider(.required): fix = inside(place) { "allow: {path: \($0), down: {absent-as: …}}" }
        case .wider(.enumeration): fix = inside(place) { "allow: {path: \($0), down: {table: {new: old}}}" }
        case .wider: fix = inside(place) { "allow: {path: \($0), down: {value: …}}" }
        case .narrower: (rule, severity) = (Rule.tightened, .note)
        }
        // What is not proved is checked on every event that passes here.
        narrowed.insert(type)
        if severity == .note { opClass.insert(.partial) }
        let what = place.isRoot ? type : "\(type) \(place)"
        note(
            declared.mark, rule, severity, "\(what): \(difference.words)",
            fix: severity == .note ? "nothing to do: plan and replay prove it on the data" : fix)
    }

    /// An op's text for a place, within `each` where the place lies in a list or a map.
    private func inside(_ place: JSONPointer, _ op: (JSONPointer) -> String) -> String {
        guard let star = place.tokens.firstIndex(where: { $0.text == "*" }) else { return op(place) }
        let holder = JSONPointer(tokens: Array(place.tokens[..<star]))
        let rest = JSONPointer(tokens: Array(place.tokens[(star + 1)...]))
        return "each: {path: \(holder), do: [{\(inside(rest, op))}]}"
    }

    private func conversion(_ place: JSONPointer, _ state: StepSite.TypeState, _ declared: EventShape) -> String {
        guard let old = state.shape.shape(at: place), let new = declared.shape.shape(at: place) else {
            return inside(place) { "convert: {path: \($0), to: …, using: …}" }
        }
        if new.kind == .array, new.items?.kind == old.kind { return inside(place) { "wrap: {path: \($0)}" } }
        if old.kind == .array, old.items?.kind == new.kind { return inside(place) { "head: {path: \($0)}" } }
        let codec =
            switch (old.kind, new.kind) {
            case (.string, .integer), (.integer, .string): new.format == .dateTime ? "epoch-seconds" : "integer-text"
            case (.string, .number), (.number, .string): new.format == .dateTime ? "epoch-seconds" : "number-text"
            case (.string, .boolean), (.boolean, .string): "boolean-text"
            default: "…"
            }
        return inside(place) { "convert: {path: \($0), to: \(new.kind.rawValue), using: \(codec)}" }
    }
}
