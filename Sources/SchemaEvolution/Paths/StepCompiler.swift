internal import EventModel
internal import JSONText

/// Applies a step's list to the shapes of version n-1 and compares the result with version n.
struct StepCompiler {
    private let file: VersionFile
    private let step: Step
    private let swiftSteps: SwiftSteps
    private var types: [Name: StepContext.TypeState]
    private var result: CompiledStep
    /// The types of version n (or, by `isBroken`, all types) whose differences would only repeat the error of an op.
    private var broken: Set<Name> = []
    private var isBroken = false
    /// Whether all findings are reported individually, without suppressing or merging any.
    private var isWhole = false
    private var opCounts: [Name: Int] = [:]

    static func compile(_ file: VersionFile, after before: VersionFile, _ swiftSteps: SwiftSteps, isWhole: Bool = false) -> CompiledStep {
        var compiler = StepCompiler(file, before, swiftSteps)
        compiler.isWhole = isWhole
        for (index, item) in compiler.step.items.enumerated() {
            switch item.action {
            case .payload(let selection, let entries): compiler.payload(selection, entries, item, index)
            case .event(let entry): compiler.event(entry, item, index)
            case .reserve(let names): compiler.result.retiredTypes += names
            }
        }
        compiler.result.compare(
            compiler.types, with: file, before: before, reporting: isWhole || !compiler.isBroken, except: isWhole ? [] : compiler.broken)
        return compiler.result
    }

    private init(_ file: VersionFile, _ before: VersionFile, _ swiftSteps: SwiftSteps) {
        (self.file, step, self.swiftSteps) = (file, Step(file), swiftSteps)
        types = before.events.mapValues { StepContext.TypeState(shape: $0.shape, stream: $0.stream) }
        result = CompiledStep(version: file.number, step: step)
        result.findings = step.findings
        isBroken = !step.findings.isEmpty
        result.unread = step.findings.filter { $0.severity == .error }.map(\.message)
    }

    private mutating func event(_ entry: EventOpEntry, _ item: StepItem, _ index: Int) {
        let (file, step, op) = (file, step, entry.op)
        var site = StepContext(
            types: types,
            shapeTargets: { type in
                step.fates(of: type, after: index + 1).compactMap { fate in
                    file.events[fate.type].map { ShapeTarget(declared: $0.shape, ops: fate.ops) }
                }
            },
            declared: { type in step.fates(of: type, after: index + 1).lazy.compactMap { file.events[$0.type] }.first },
            names: file.types, mark: item.mark, label: entry.label, mayChange: file.released == nil)
        let bound = op.bind(&site)
        types = site.types
        result.findings += site.findings
        result.opClass.formUnion(site.opClass)
        result.retiredTypes += op.retired
        if let loss = op.loss {
            result.losses.append(
                LossDeclaration(version: step.version, type: loss.type, op: entry.name, because: loss.why))
        }
        isBroken = isBroken || bound == nil
        if var bound {
            for case .parts(let parts, _) in bound.up.values {
                for part in parts where part.isUnproved {
                    result.unproved.formUnion(step.fates(of: part.type, after: index + 1).map(\.type))
                }
            }
            (bound.name, bound.loss) = (entry.name, op.loss)
            result.stages.append(.event(bound, label: entry.label, mark: item.mark))
        }
    }

    private mutating func payload(_ selection: StepItem.Selection, _ entries: [OpEntry], _ item: StepItem, _ index: Int) {
        let names: [String]
        switch selection {
        case .all: names = types.sortedNames
        case .types(let given):
            names = given.filter { types[$0] != nil }
            for name in given where types[name] == nil { noteMissing(name, item) }
            for (place, name) in given.enumerated() where given.place(of: name) != place {
                // A released version applies its ops twice and must stay as it is.
                result.findings.append(
                    Finding(
                        Rule.opArgument, file.released == nil ? .error : .warning, at: item.node.member("on")?.mark ?? item.mark,
                        "\(name) is named twice: its ops would be done twice", fix: "name each type once"))
            }
        }
        // Consecutive items form one stage, since a path looks up its type in each stage that it crosses.
        var stage: [Name: [PathOp]] = [:]
        if case .payload(let before)? = result.stages.last {
            result.stages.removeLast()
            stage = before
        }
        let said = result.findings.count
        for name in names { stage[name, default: []] += bind(entries, to: name, index) }
        let new = Array(result.findings[said...])
        result.findings.removeSubrange(said...)
        result.findings += isWhole ? new : new.merged()
        result.stages.append(.payload(stage))
    }

    private mutating func noteMissing(_ name: String, _ item: StepItem) {
        isBroken = true
        let mark = item.node.member("on")?.mark ?? item.mark
        let meant = nearest(to: name, among: types.sortedNames + ["all"])
        result.findings.append(
            Finding(
                Rule.noType, at: mark, "there is no type \(name) at this point of the list",
                fix: meant.map { "did you mean \($0)?" } ?? "there are: \(types.sortedNames.joined(separator: ", "))",
                repairs: meant.map { [mark.repair(.swap(name, JSONValue.string($0).text))] } ?? []))
    }

    private mutating func bind(_ entries: [OpEntry], to type: String, _ index: Int) -> [PathOp] {
        guard var state = types[type] else { return [] }
        guard mayHave(entries, type) else { return [] }
        var bound: [PathOp] = []
        var removed: [(path: JSONPointer, kind: Shape.Kind, isRequired: Bool, mark: FileLocation)] = []
        let fates = step.fates(of: type, after: index + 1, ops: entries.map(\.op))
        let ways = fates.compactMap { fate in file.events[fate.type].map { (declared: $0.shape, ops: MovingOps(fate.ops)) } }
        for (number, entry) in entries.enumerated() {
            let shapeTargets = ways.map { ShapeTarget(declared: $0.declared, ops: $0.ops, from: number + 1) }
            var site = BindingContext(
                shape: state.shape, stream: state.stream, shapeTargets: shapeTargets, type: type, mark: entry.mark, label: entry.label)
            site.isRekeyed = step.rekeysStreams
            (site.mayChange, site.isLeaving) = (file.released == nil, ways.isEmpty)
            (site.version, site.swiftSteps) = (step.version, swiftSteps)
            let op = entry.op.bind(&site)
            guessMove(entry.op, state.shape, &site, &removed)
            let failure = site.findings.first { $0.severity == .error }
            if op == nil, failure != nil {
                broken.formUnion(fates.map(\.type))
            }
            if let op = op ?? failure.map({ UnboundOp(why: $0.message) }) {
                bound.append(
                    PathOp(
                        op: op, direction: .up, step: step.version, label: entry.label, summary: entry.op.summary, mark: entry.mark,
                        isUnproved: site.isUnproved, blocks: entry.op.blocks,
                        lacking: site.lacking, loss: LossDeclaration(version: step.version, type: type, entry.op.ownLoss)))
            }
            if site.isUnproved { result.unproved.formUnion(fates.map(\.type)) }
            (state.shape, state.stream) = (site.shape, site.stream)
            result.findings += site.findings
            result.opClass.formUnion(site.opClass)
            remember(entry, type, fates.map(\.type))
        }
        types[type] = state
        return bound
    }

    /// Whether a type stays below the limit on ops for one type in a step; otherwise adds a finding, once.
    private mutating func mayHave(_ entries: [OpEntry], _ type: String) -> Bool {
        let before = opCounts[type, default: 0]
        opCounts[type] = before + entries.count
        guard before + entries.count > OpRegistry.opsMax else { return true }
        isBroken = true
        guard before <= OpRegistry.opsMax, let mark = entries.first?.mark else { return false }
        let message = "\(type) has more than \(OpRegistry.opsMax) ops in this step"
        result.unread.append(message)
        result.findings.append(
            Finding(
                Rule.opArgument, at: mark, message,
                fix: "put some of them into a version of their own, or write the change as a Swift step"))
        return false
    }

    /// Records losses, and names that are permanently removed.
    private mutating func remember(_ entry: OpEntry, _ type: String, _ fates: [String]) {
        for loss in entry.op.losses where !loss.because.isEmpty {
            result.losses.append(LossDeclaration(version: step.version, type: type, loss))
        }
        let gone: [JSONPointer] =
            switch entry.op {
            case let remove as Remove: [remove.path]
            case let reserve as Reserve: reserve.members
            default: []
            }
        for fate in fates where !gone.isEmpty { result.reserved[fate, default: []] += gone }
    }

    /// Warns that a `remove` and an `add` of equal type may have been meant as a `move`.
    private func guessMove(
        _ op: any Op, _ before: Shape, _ site: inout BindingContext,
        _ removed: inout [(path: JSONPointer, kind: Shape.Kind, isRequired: Bool, mark: FileLocation)]
    ) {
        if let remove = op as? Remove, let shape = before.shape(at: remove.path) {
            removed.append((remove.path, shape.kind, before.isRequired(at: remove.path), site.mark))
        }
        guard let add = op as? Add, let kind = site.shape.shape(at: add.path)?.kind else { return }
        // A member that may be absent can't have moved to a location that is always present.
        let isRequired = site.shape.isRequired(at: add.path)
        if let gone = removed.first(where: { $0.kind == kind && ($0.isRequired || !isRequired) }) {
            let move = JSONValue.op("move", [("from", .string(gone.path.description)), ("path", .string(add.path.description))])
            site.note(
                Rule.didYouMeanMove, .warning, "\(gone.path) is removed and \(add.path), of the same type, is added",
                fix: "did you mean move: {from: \(gone.path), path: \(add.path)}?",
                repair: [gone.mark.repair(.remove), site.mark.repair(to: move)])
        }
    }
}
