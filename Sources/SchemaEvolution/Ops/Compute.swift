internal import Bytes
internal import EventModel
internal import JSONText

/// `compute {path, template}`: a text composed of other members; absent if one of them is absent.
struct Compute: MemberOp {
    static let name = "compute"

    let path: JSONPointer
    let template: Template<JSONPointer>

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("compute", allowing: ["path", "template"])
        path = try arguments.required("path", of: "compute").pointer("path")
        let node = try arguments.required("template", of: "compute")
        let text = try node.text("template")
        do { template = try Template(text, member: JSONPointer.init(inBraces:)) } catch {
            throw node.problem("\(quoted(text)) is not a template: \(error.reason)", rule: Rule.opArgument, fix: error.fix)
        }
        guard !template.members.isEmpty else {
            throw node.problem("the template names no member", rule: Rule.opArgument, fix: "for a constant, write add: {path: …, value: …}")
        }
    }

    var reads: [JSONPointer] { template.members }

    var isTotal: Bool { true }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was computed")] }
        let text = template.parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let pointer): "{\(pointer.below(holder))}"
            }
        }
        return [OpEffect(.appears(path), "is computed: \(quoted(text.joined())); absent where one of these is absent or null")]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        var always = true
        for member in template.members {
            guard let shape = site.require(member) else { return nil }
            guard shape.isScalar else {
                return site.refuse(Rule.wrongKind, "\(member) is \(shape.noun), and a template is made of scalars")
            }
            always = always && !shape.isNullable && site.shape.isAlwaysPresent(at: member)
        }
        var made = Shape(.string)
        if let declared = site.declared(at: path), declared.kind == .string {
            made = declared
            if declared.hasBounds || declared.format != nil { site.mayFail() }
        }
        site.opClass.insert(.widen)
        guard site.put(made, at: path, .derived(always: always)), let place = MemberLocation(path, here: site.shape, there: before) else {
            return nil
        }
        return BoundCompute(place: place, template: template)
    }
}

private final class BoundCompute: StagedOp {
    let place: MemberLocation
    let template: Template<JSONPointer>

    init(place: MemberLocation, template: Template<JSONPointer>) { (self.place, self.template) = (place, template) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        switch direction {
        case .up:
            let made = template.write(&doc, at: object)
            guard let holder = place.holder(in: &doc, at: object, forValue: made != nil), let made else { return }
            doc.set(place.name, of: holder, toValueOf: made)
        case .down:
            if let node = place.find(in: &doc, at: object) {
                let isSame = template.write(&doc, at: object).map { doc.hasContent(node, of: $0) } ?? false
                if !isSame { doc.lose(1) }
            }
            place.remove(from: &doc, at: object)
        }
    }
}

extension Template where Member == JSONPointer {
    /// The text that the template produces; nil if a member is absent, null or not a scalar.
    fileprivate func write<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) -> D.Node? {
        var pieces: [TextPiece<D.Node>] = []
        for part in parts {
            switch part {
            case .literal(let text): pieces.append(.literal(Array(text.utf8)))
            case .member(let pointer):
                guard let node = doc.value(at: pointer, from: object) else { return nil }
                switch doc.kind(node) {
                case .string, .number, .true, .false: pieces.append(.text(node))
                case .object, .array, .null: return nil
                }
            }
        }
        return doc.concatenate(pieces)
    }
}
