internal import Bytes
internal import EventModel
package import JSONText

/// `compute {path, template}`: a text made of other members; absent where one of them is.
package struct Compute: Op {
    static let name = "compute"

    package let path: JSONPointer
    package let template: Template<JSONPointer>

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("compute", allowing: ["path", "template"])
        path = try arguments.required("path", of: "compute").pointer("path")
        let node = try arguments.required("template", of: "compute")
        let text = try node.text("template")
        do { template = try Template(text, member: JSONPointer.init(inBraces:)) } catch {
            throw node.problem("\(quoted(text)) is no template: \(error.reason)", rule: Rule.opArgument, fix: error.fix)
        }
        guard !template.members.isEmpty else {
            throw node.problem("the template names no member", rule: Rule.opArgument, fix: "a constant is added: add: {path: …, value: …}")
        }
    }

    var writes: [JSONPointer] { [path] }

    var summary: OpSummary { OpSummary(verb: "compute", object: path.description) }

    var statement: OpStatement { .compute(self) }

    func bind(_ site: inout OpSite) -> (any BoundOp)? {
        let before = site.shape
        var always = true
        for member in template.members {
            guard let shape = site.require(member) else { return nil }
            guard shape.isScalar else {
                site.note(Rule.wrongKind, "\(member) is \(shape.noun), and a template is made of scalars")
                return nil
            }
            always = always && !shape.isNullable && site.shape.isAlwaysPresent(at: member)
        }
        var made = Shape(.string)
        if let declared = site.declared(at: path), declared.kind == .string {
            made = declared
            if declared.hasBounds || declared.format != nil {
                site.opClass.insert(.partial)
                site.isUnproved = true
            }
        }
        site.opClass.insert(.widen)
        guard site.put(made, at: path, .derived(always: always)), let place = Place(path, here: site.shape, there: before) else {
            return nil
        }
        return BoundCompute(place: place, template: template)
    }
}

private final class BoundCompute: BoundOp {
    let place: Place
    let template: Template<JSONPointer>

    init(place: Place, template: Template<JSONPointer>) { (self.place, self.template) = (place, template) }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {
        run.content.removeAll()
        let isThere = template.write(&doc, at: object, into: &run.content)
        guard let holder = place.holder(in: &doc, at: object, forValue: isThere), isThere else { return }
        doc.setString(place.name, of: holder, to: run.content.bytes)
    }

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {
        if let node = place.find(in: &doc, at: object) {
            run.content.removeAll()
            run.output.removeAll()
            let isThere = template.write(&doc, at: object, into: &run.content)
            doc.content(of: node, into: &run.output)
            if !isThere || !run.output.bytes.equals(run.content.bytes) { run.counts.lost += 1 }
        }
        _ = place.take(from: &doc, at: object)
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        switch direction {
        case .up:
            let made = template.write(&draft)
            guard let holder = place.holder(in: &draft, at: draft.root, forValue: made != nil), let made else { return }
            draft.set(place.name, of: holder, toValueOf: made)
        case .down:
            if let node = place.find(in: &draft, at: draft.root) {
                let isSame = template.write(&draft).map { draft.hasContent(node, of: $0) } ?? false
                if !isSame { draft.lose() }
            }
            _ = draft.take(place)
        }
    }
}

extension Template where Member == JSONPointer {
    /// Appends the text; false where a member is absent, null or no scalar.
    fileprivate func write(_ doc: inout Splice, at object: Splice.Node, into output: inout ByteBuffer) -> Bool {
        for part in parts {
            switch part {
            case .literal(let text): output.append(text)
            case .member(let pointer):
                guard let node = doc.find(pointer, from: object) else { return false }
                switch doc.kind(node) {
                case .string: doc.decode(node, into: &output)
                case .number: appendCanonical(number: doc.text(of: node), into: &output)
                case .true, .false: doc.write(node, into: &output)
                case .object, .array, .null: return false
                }
            }
        }
        return true
    }

    /// The draft's value that the template makes; nil where a member is absent, null or no scalar.
    fileprivate func write(_ draft: inout FusedDraft) -> Int? {
        var made: [FusedDraft.Part] = []
        for part in parts {
            switch part {
            case .literal(let text): made.append(.literal(Array(text.utf8)))
            case .member(let pointer):
                guard let node = draft.value(at: pointer, from: draft.root) else { return nil }
                switch draft.kind(node) {
                case .string, .number, .true, .false: made.append(.text(node))
                case .object, .array, .null: return nil
                }
            }
        }
        return draft.concatenate(made)
    }
}
