internal import EventModel
internal import JSONText

/// Compares the shapes that the ops produce with the declared ones, and proposes missing ops.
extension CompiledStep {
    /// - Parameters:
    ///   - isReporting: whether findings are added. The class and the types that need checks at run time are determined in any case.
    ///   - silent: types for which no findings are added.
    mutating func compare(
        _ made: [Name: StepContext.TypeState], with file: VersionFile, before: VersionFile, reporting isReporting: Bool,
        except silent: Set<Name>
    ) {
        let earlier = findings
        defer { if !isReporting { findings = earlier } }
        var notes: [Finding] = []
        let added = Set(
            of: step.items.compactMap { item in if case .event(let entry) = item.action { (entry.op as? AddEvent)?.type } else { nil } })
        noteRemoved(made, file, free: file.types.filter { made[$0] == nil && !added.contains($0) })
        for type in file.types {
            guard let declared = file.events[type] else { continue }
            guard let state = made[type] else {
                narrowed.insert(type)
                if !added.contains(type) { noteNew(type, declared, file) }
                continue
            }
            let differences = ShapeDifference.compare(EventShape(shape: state.shape, stream: state.stream), declared)
            guard isReporting, !silent.contains(type) else {
                // The version already has an error, and matching members is expensive.
                if !differences.isEmpty { narrowed.insert(type) }
                continue
            }
            if differences.isEmpty { continue }
            let matching = MemberMatching(differences, made: state.shape, declared: declared.shape)
            for difference in differences {
                let proposal = StepProposal(difference, state, declared, matching, in: version)
                if let finding = note(difference, proposal, of: type, state.stream, file) { notes.append(finding) }
            }
        }
        findings += notes.merged(ignoringPlaces: true)
        if step.items.isEmpty, step.findings.isEmpty, file.events.mapValues(\.stream) == before.events.mapValues(\.stream),
            file.events.mapValues(\.tags) == before.events.mapValues(\.tags),
            file.events.mapValues({ $0.shape.ordered() }) == before.events.mapValues({ $0.shape.ordered() })
        {
            note(file.mark, Rule.changesNothing, .error, "the version changes nothing", fix: "leave it out, or change something")
        }
    }

    private mutating func note(
        _ mark: FileLocation, _ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil, repair: [Repair] = []
    ) {
        findings.append(Finding(rule, severity, at: mark, message, fix: fix, repairs: repair))
    }

    /// - Parameter free: the types of the version that no item makes.
    private mutating func noteRemoved(_ made: [Name: StepContext.TypeState], _ file: VersionFile, free: [String]) {
        let removed = made.sortedNames.filter { file.events[$0] == nil }
        if removed.isEmpty { return }
        let near = NearNames(free)
        let twins = Dictionary(
            free.compactMap { type in file.events[type].map { ($0.shape, type) } }, uniquingKeysWith: { first, _ in first })
        for type in removed {
            let twin = made[type].flatMap { twins[$0.shape] } ?? near.nearest(to: type)
            let item =
                twin.map { JSONValue.op(RenameEvent.name, [("from", .string(type)), ("to", .string($0))]) }
                ?? JSONValue.op(DropEvent.name, [("type", .string(type)), ("because", .string(unexplainedReason))])
            note(
                file.upcast?.mark ?? file.mark, Rule.unexplained, .error,
                "\(type) is not declared any more and no item says what becomes of it",
                fix: twin == nil ? item.words : "did you mean \(item.words)?", repair: [missing(item, file)])
        }
    }

    private mutating func noteNew(_ type: String, _ declared: EventShape, _ file: VersionFile) {
        let why = JSONValue.string("\(version.previous) has no \(type)")
        let item = JSONValue.op(
            AddEvent.name, [("type", .string(type)), ("down", .object([.init(name: "hide", value: why)]))])
        note(declared.mark, Rule.unexplained, .error, "\(type) is new and no item says so", fix: item.words, repair: [missing(item, file)])
    }

    /// Adds a finding about a difference; returns one that is merged with those of other types.
    private mutating func note(
        _ difference: ShapeDifference, _ proposal: StepProposal, of type: String, _ stream: StreamTemplate?, _ file: VersionFile
    ) -> Finding? {
        let mark = file.events[type]?.mark ?? file.mark
        // The shapes don't prove that the events fit, so every event is checked at run time.
        narrowed.insert(type)
        if proposal.isNote { opClass.insert(.partial) }
        let place = difference.pointer
        let what = place.isRoot ? type : "\(type) \(place)"
        let repair: [Repair] =
            if difference.kind == .stream {
                stream.map { [Repair(file: file.file, path: ["events", type, "stream"], .set(JSONValue.string("\($0)").text))] } ?? []
            } else if !proposal.ops.isEmpty {
                missing(proposal.ops, on: type, file)
            } else {
                []
            }
        if proposal.isNote {
            return Finding(
                proposal.rule, .note, at: mark, "\(what): \(difference.words)",
                fix: "nothing to do: plan and replay prove it on the data", subject: type)
        }
        note(mark, proposal.rule, .error, "\(what): \(difference.words)", fix: proposal.fix, repair: repair)
        return nil
    }

    // MARK: Where a missing op goes

    /// Appends an item to the list of steps. At that point, types have the names that the version declares.
    private func missing(_ item: JSONValue, _ file: VersionFile) -> Repair {
        if file.upcast != nil { return Repair(file: file.file, path: ["upcast"], .append(item.text)) }
        return Repair(file: file.file, path: ["upcast"], .set(JSONValue.array([item]).text, before: "events"))
    }

    private func missing(_ ops: [JSONValue], on type: String, _ file: VersionFile) -> [Repair] {
        if let last = step.items.last, case .payload(.types([type]), _) = last.action {
            return ops.map { last.node.mark.repair(.append($0.text), at: "do") }
        }
        return [missing(.object([.init(name: "on", value: .string(type)), .init(name: "do", value: .array(ops))]), file)]
    }
}
