internal import Bytes
internal import EventModel
package import JSONText

/// `allow {path, down}`: version n allows more at a place than the ops make there; `down` is what the older version sees of it.
package struct Allow: Op {
    static let name = "allow"

    package let path: JSONPointer
    package let down: AllowedDown

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("allow", allowing: ["path", "down", "because"])
        path = try arguments.required("path", of: "allow").pointer("path")
        down = try AllowedDown(
            try arguments.required(
                "down", of: "allow", choices: "absent, {value: x}, {table: {new: old}}, {absent-as: x}, block or {hide: why}",
                guess: .string("absent")))
    }

    var writes: [JSONPointer] { [path] }

    var loss: String? {
        if case .hide(let why)? = down.misfit { why } else { nil }
    }

    var blocks: Bool {
        if case .block? = down.misfit { true } else { false }
    }

    var summary: OpSummary { OpSummary(verb: "allow", object: path.description) }

    var statement: OpStatement { .allow(self) }

    func bind(_ site: inout OpSite) -> (any BoundOp)? {
        guard let declared = site.declared(at: path) else {
            site.note(
                Rule.noMember, "the version does not declare \(path): there is nothing to allow", fix: "take the allow out",
                mend: site.mark.mend(.remove))
            return nil
        }
        site.opClass.insert(.widen)
        guard let old = site.shape.shape(at: path) else { return bindNew(declared, &site) }
        let wasRequired = site.shape.isRequired(at: path)
        let isRequired = path.isRoot || (site.declaredRequires(path) ?? true)
        let differences = ShapeDifference.compare(old, declared)
        let becameOptional = wasRequired && !isRequired
        guard becameOptional || differences.contains(where: \.kind.isWider) else {
            site.note(
                Rule.idle, "\(path) is not wider than what the ops make: there is nothing to allow", fix: "take the allow out",
                mend: site.mark.mend(.remove))
            return nil
        }
        for difference in differences {
            switch difference.kind {
            case .wider: break
            case .narrower:
                site.isUnproved = true
                site.opClass.insert(.partial)
            case .missing, .extra, .type, .format, .stream:
                let place = JSONPointer(tokens: path.tokens + difference.pointer.tokens)
                site.note(Rule.unexplained, "\(place): \(difference.words)", fix: "say so for \(place) itself")
            }
        }
        if becameOptional, down.absent == nil, !down.stops {
            site.note(
                Rule.downNotTotal, "\(path) may be absent now, and the version before requires it",
                fix: "allow: {path: \(path), down: {absent-as: …}}",
                mend: down.table.isEmpty
                    ? site.mark.mend("*", "down", to: .object([.init(name: "absent-as", value: old.sample)]))
                    : site.mark.mend("*", "down", "absent-as", to: old.sample))
        }
        if wasRequired, case .absent? = down.misfit {
            site.note(
                Rule.downNotTotal, "down: absent, and the version before requires \(path)", fix: "give a value: down: {value: …}",
                mend: site.mark.mend("*", "down", to: .object([.init(name: "value", value: old.sample)])))
        }
        for value in down.values {
            if let why = old.rejection(of: value) {
                site.note(
                    Rule.downNotTotal, "\(value.text) does not fit the older shape: it \(why.reason)",
                    mend: site.mark.mend(.swap(value.word, old.nearestValue(to: value.word).text), at: "*", "down"))
            }
        }
        let before = site.shape
        _ = site.shape.replace(at: path, with: declared, required: wasRequired ? isRequired : false)
        return BoundAllow(
            path: path, place: Place(path, here: before, there: site.shape), old: EventShape(shape: old), wasRequired: wasRequired,
            down: down)
    }

    /// A member that the version before does not have at all.
    private func bindNew(_ declared: Shape, _ site: inout OpSite) -> (any BoundOp)? {
        if site.declaredRequires(path) == true {
            site.note(
                Rule.upNotTotal, "\(path) is new and required: events of the version before have none",
                fix: "give it a value: add: {path: \(path), value: …}",
                mend: site.mark.mend(to: .op("add", [("path", .string(path.description)), ("value", declared.sample)])))
        }
        if down.absent != nil || !down.table.isEmpty || down.misfit.map(\.isValue) == true {
            site.note(
                Rule.opArgument, "the version before has no \(path), so it can't see a value there",
                fix: "allow: {path: \(path), down: absent}", mend: site.mark.mend("*", "down", to: .string("absent")))
        }
        guard let parent = path.parent, site.shape.shape(at: parent) != nil, let name = path.last else {
            site.note(
                Rule.noMember, "there is no object that holds \(path)", fix: path.parent.map { "allow: {path: \($0), down: …}" })
            return nil
        }
        guard site.shape.insert(declared, at: path, required: false) else {
            site.note(Rule.wrongKind, "\(parent) is no object that can have a member \(name)")
            return nil
        }
        return BoundNewMember(path: path, down: down)
    }
}

/// For a member that the version before has, with fewer values, or as a required one.
private final class BoundAllow: BoundOp {
    let path: JSONPointer
    let place: Place?
    let old: EventShape
    let wasRequired: Bool
    let down: AllowedDown

    init(path: JSONPointer, place: Place?, old: EventShape, wasRequired: Bool, down: AllowedDown) {
        (self.path, self.place, self.old, self.wasRequired, self.down) = (path, place, old, wasRequired, down)
    }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {}

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        guard let node = doc.find(path, from: object) else {
            guard wasRequired, let place, let holder = place.holder(in: &doc, at: object, forValue: false) else { return }
            if let absent = down.absent {
                doc.set(place.name, of: holder, to: absent)
            } else {
                try stop("there", "nothing", &run)
            }
            return
        }
        run.output.removeAll()
        doc.write(node, into: &run.output)
        do { try old.validate(run.output.bytes) } catch {
            for row in down.table where doc.equals(node, row.new) {
                run.counts.lost += 1
                doc.replace(node, with: row.old)
                return
            }
            switch down.misfit {
            case .absent?:
                run.counts.lost += 1
                doc.detach(node)
            case .value(let value)?:
                run.counts.lost += 1
                doc.replace(node, with: value)
            case .block?, .hide?, nil: try stop(error.expected, doc.words(node), &run)
            }
        }
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        guard direction == .down else { return }
        guard !path.isRoot else { return draft.giveUp() }
        // The draft branches on whether the member is present only where that makes a difference.
        let mustBe = wasRequired && place != nil
        guard let node = mustBe ? draft.value(at: path, from: draft.root) : draft.find(path) else {
            guard wasRequired, let place, let holder = place.holder(in: &draft, at: draft.root, forValue: false) else { return }
            guard let absent = down.absent else { return down.stop(&draft) }
            return draft.set(place.name, of: holder, to: absent)
        }
        if draft.fits(node, old) { return }
        draft.settle(node)
        for row in down.table where draft.equals(node, row.new) {
            draft.lose()
            return draft.replace(node, with: row.old)
        }
        switch down.misfit {
        case .absent?:
            draft.lose()
            draft.detach(node)
        case .value(let value)?:
            draft.lose()
            draft.replace(node, with: value)
        case .block?, .hide?, nil: down.stop(&draft)
        }
    }

    private func stop(_ expected: String, _ found: String, _ run: inout OpRun) throws(OpStop) {
        if case .hide? = down.misfit {
            run.counts.hidden += 1
            throw .hidden
        }
        throw .failed(pointer: path.description, expected: expected, found: found)
    }
}

/// For a member that the version before does not have.
private final class BoundNewMember: BoundOp {
    let path: JSONPointer
    let down: AllowedDown

    init(path: JSONPointer, down: AllowedDown) { (self.path, self.down) = (path, down) }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {}

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        guard let node = doc.find(path, from: object) else { return }
        switch down.misfit {
        case .hide?:
            run.counts.hidden += 1
            throw .hidden
        case .block?: throw .failed(pointer: path.description, expected: "absent", found: doc.words(node))
        case .absent?, .value?, nil:
            run.counts.lost += 1
            doc.detach(node)
        }
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        guard direction == .down, let node = draft.value(at: path, from: draft.root) else { return }
        switch down.misfit {
        case .hide?, .block?: down.stop(&draft)
        case .absent?, .value?, nil:
            draft.lose()
            draft.detach(node)
        }
    }
}

extension AllowedDown {
    /// Hides the event, or gives the draft up, so that the op refuses the event.
    fileprivate func stop(_ draft: inout FusedDraft) {
        if case .hide? = misfit { draft.leaveOut(.hide) } else { draft.giveUp() }
    }
}
